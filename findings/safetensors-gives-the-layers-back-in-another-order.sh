#!/usr/bin/env bash
# safetensors 0.8.0, numpy 2.4.6
#
# Behaviour: load_file does not give the arrays back in the order in which they
# were saved. They are sorted by the width of their type, widest first, then by
# name as text: layer.10 comes before layer.2, and a half-precision layer last.
#
# Guess, before the run: the order of the dictionary that was saved.
#
# Outcome: twelve layers saved in order come back as 3 (double precision), then
# 0, 1, 10, 11, 2, 4, ... and last 5 (half precision). The keys are right.
#
# Date: 2026-11-28
# Hurts: who pairs list(load_file(...).values()) with the layers of a model: all
# shapes fit, and each layer gets the gain of another one.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install safetensors==0.8.0 numpy==2.4.6
look <<'PY'
import numpy as np
from safetensors.numpy import load_file, save_file

kinds = {3: np.float64, 5: np.float16}
gains = {f"layer.{k}": np.full(2, k, kinds.get(k, np.float32)) for k in range(12)}
save_file(gains, "gains.safetensors")
order = [int(value[0]) for value in load_file("gains.safetensors").values()]
print("saved ", list(range(12)))
print("loaded", order)
raise SystemExit(order != [3, 0, 1, 10, 11, 2, 4, 6, 7, 8, 9, 5])
PY
