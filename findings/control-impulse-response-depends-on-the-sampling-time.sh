#!/usr/bin/env bash
# control 0.10.2, numpy 2.4.6, scipy 1.17.1
#
# Behaviour: control.impulse_response of a discrete system feeds a pulse of
# height 1/dt, not of height 1. The same x[k+1] = x[k]/2 + u[k], y = x answers
# 0, 1, 1/2, 1/4 with dt=True and 0, 10, 5, 5/2 with dt=0.1. It is not the
# sequence C A^(k-1) B that forced_response gives for the input 1, 0, 0, 0.
#
# Guess, before the run: a unit pulse, so 1 at the first step for every dt.
#
# Outcome: ten times as much at dt=0.1. forced_response does not depend on dt.
#
# Date: 2026-11-28
# Hurts: who identifies gains or Markov parameters of a sampled loop from it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install control==0.10.2 numpy==2.4.6 scipy==1.17.1
look <<'PY'
import control
import numpy as np

steps = np.arange(4)
pulse = np.array([1.0, 0.0, 0.0, 0.0])
seen = {}
for dt in (True, 1.0, 0.1):
    system = control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], dt)
    impulse = np.ravel(control.impulse_response(system, T=steps * dt).outputs)
    forced = np.ravel(control.forced_response(system, T=steps * dt, U=pulse).outputs)
    seen[dt] = impulse
    print(f"dt={dt!s:5} impulse_response {impulse}  forced_response {forced}")
    assert np.allclose(forced, [0, 1, 0.5, 0.25])
stated = np.allclose(seen[True], [0, 1, 0.5, 0.25]) and np.allclose(seen[0.1], [0, 10, 5, 2.5])
raise SystemExit(not stated)
PY
