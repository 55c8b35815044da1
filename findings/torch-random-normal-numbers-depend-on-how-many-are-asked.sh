#!/usr/bin/env bash
# torch 2.13.0 (CPU), numpy 2.4.6
#
# Behaviour: on the CPU, torch.randn from one seed gives other numbers for 15
# and for 16 entries: from 16 entries on another routine fills the tensor.
# Above it a longer draw does not begin with the shorter one either, and five
# draws of four do not give the numbers of one draw of twenty.
#
# Guess, before the run: a stream, so the first 15 numbers of 17 are the 15
# numbers of 15, as with numpy.random. (The usual guess: the author remembered
# that something changes at 16.)
#
# Outcome: not one of the first 15 of randn(16) is in its place of randn(15).
#
# Date: 2026-11-28
# Hurts: who compares a control with noise of the same size by one seed, but in
# batches, sequences or numbers of layers of another length.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install torch==2.13.0 numpy==2.4.6
look <<'PY'
import numpy as np
import torch


def draw(count):
    return torch.randn(count, generator=torch.Generator().manual_seed(0))


def same(shorter, longer):
    return int((draw(longer)[:shorter] == draw(shorter)).sum())


for pair in ((14, 15), (15, 16), (16, 17), (32, 33)):
    print("of the first", pair[0], "of randn(%d)" % pair[1], same(*pair), "agree with randn(%d)" % pair[0])
generator = torch.Generator().manual_seed(0)
parts = torch.cat([torch.randn(4, generator=generator) for _ in range(5)])
print("five draws of 4 are one draw of 20:", torch.equal(parts, draw(20)))
numpy_stream = np.array_equal(np.random.default_rng(0).normal(size=17)[:15],
                              np.random.default_rng(0).normal(size=15))
print("numpy: the first 15 of 17 are the 15:", numpy_stream)
stated = same(14, 15) == 14 and same(15, 16) == 0 and not torch.equal(parts, draw(20)) and numpy_stream
raise SystemExit(not stated)
PY
