#!/usr/bin/env bash
# safetensors 0.8.0, numpy 2.4.6, scipy 1.17.1
#
# Behaviour: safetensors.numpy.save_file writes the memory of an array as it
# lies, and the shape beside it. An array in column order (what scipy.linalg
# returns for a QR factor, or any transpose) comes back with its entries in
# other places. A strided slice comes back with entries of its neighbours.
# There is no error and no warning. The shape and the type are right.
#
# Guess, before the run: stored right, or refused, as safetensors.torch
# refuses a tensor that is not contiguous.
#
# Outcome: a basis from scipy.linalg.qr comes back transposed, so it is still
# orthonormal, but its first columns span another space: of the first state
# they leave out 0.000 before and 0.594 after. numpy.ascontiguousarray before
# saving repairs it.
#
# Date: 2026-11-28
# Hurts: who stores bases, gains or slices of hidden states from NumPy or SciPy.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install safetensors==0.8.0 numpy==2.4.6 scipy==1.17.1
look <<'PY'
import numpy as np
import scipy.linalg
from safetensors.numpy import load_file, save_file

rng = np.random.default_rng(0)
states = rng.normal(size=(8, 8)) * 2.0 ** -np.arange(8)[:, None]
basis = scipy.linalg.qr(states.T)[0]  # column order
grid = np.arange(6.0).reshape(2, 3)
save_file({"basis": basis, "turned": grid.T, "slice": grid[:, ::2],
           "repaired": np.ascontiguousarray(basis)}, "stored.safetensors")
back = load_file("stored.safetensors")


def left_out(q, vector):
    thin = q[:, :3]
    return np.linalg.norm(vector - thin @ (thin.T @ vector)) / np.linalg.norm(vector)


print("grid.T      ", grid.T.tolist(), "->", back["turned"].tolist())
print("grid[:, ::2]", grid[:, ::2].tolist(), "->", back["slice"].tolist())
before, after = left_out(basis, states[0]), left_out(back["basis"], states[0])
print(f"part of the first state outside the first three directions: {before:.3f} -> {after:.3f}")
print("the loaded basis is the transpose:", np.array_equal(back["basis"], basis.T))
stated = (
    back["turned"].tolist() == [[0, 1], [2, 3], [4, 5]]
    and back["slice"].tolist() != grid[:, ::2].tolist()
    and np.array_equal(back["basis"], basis.T)
    and np.array_equal(back["repaired"], basis)
    and before < 1e-9
    and after > 0.1
)
raise SystemExit(not stated)
PY
