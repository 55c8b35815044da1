#!/usr/bin/env bash
# accelerate 1.15.0, torch 2.13.0 (CPU)
#
# Behaviour: a data loader that went through Accelerator.prepare asks for the
# next batch before it hands out this one, in one process and without workers
# too. Batch n+1 is made before step n of the optimizer, with the old weights.
# A plain DataLoader without workers makes each batch when it is asked for.
#
# Guess, before the run: no look-ahead in one process without workers.
#
# Outcome: a data set that notes the number of steps made so far notes
# 0, 1, 2, 3 with the plain loader, and 0, 0, 1, 2 with the prepared one.
#
# Date: 2026-11-28
# Hurts: who makes adversarial examples, or reads states, inside the data set
# from the model in training: all but the first are one step out of date.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install torch==2.13.0 accelerate==1.15.0 numpy==2.4.6
look <<'PY'
from accelerate import Accelerator
from torch.utils.data import DataLoader, IterableDataset

steps = 0


class MadeFromTheModel(IterableDataset):
    def __iter__(self):
        for _ in range(4):
            yield steps  # in real use: an example made with the weights of now


def noted(loader):
    global steps
    steps, seen = 0, []
    for batch in loader:
        seen.append(int(batch))
        steps += 1  # in real use: the step of the optimizer
    return seen


plain = DataLoader(MadeFromTheModel(), batch_size=1)
seen = noted(plain), noted(Accelerator(cpu=True).prepare(plain))
print("steps made when the example was made: plain", seen[0], "prepared", seen[1])
raise SystemExit(seen != ([0, 1, 2, 3], [0, 0, 1, 2]))
PY
