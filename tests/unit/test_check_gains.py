"""Wrong answers to the exercises on gains are seen."""

from __future__ import annotations

import numpy as np
import pytest

from pidlib import check
from pidlib.theory.gains import alphas, attenuation


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [
        (check.gain_step, lambda lam, q, c: (c / (c + q), c * q / (c + q))),  # greedy
        (check.gain_step, lambda lam, q, c: c / (c + q + lam)),
        (check.cost_for_share, lambda share: share / (1 - share)),  # one layer
        (check.share_left, lambda T, c: (c / (c + 1)) ** T),
        (check.share_left, lambda T, c: alphas(T, c)[0] ** T),
        (check.memory_layers, lambda c, within: round(c**0.5)),
        (check.pair_left, lambda phi, T, c: attenuation(T, c, [np.sin(phi), np.cos(phi)])[-1]),
        (check.mean_gain_excess, lambda q, T, c: 0.0),
    ],
)
def test_wrong_answers_fail_with_a_hint(capsys, exercise, wrong):
    exercise(wrong)
    said = capsys.readouterr().out
    assert said.startswith("not yet: ") and "\nhint: " in said
    assert "nothing is returned" not in said
