"""Wrong answers to the exercises on gains are seen."""

from __future__ import annotations

import numpy as np
import pytest

from pidlib import check
from pidlib.theory.gains import alphas, attenuation, steady
from pidlib.theory.projections import pair_weights


def nearest_in_absolute_terms(c, within):
    return next(T for T in range(1, 99) if alphas(T, c)[0] <= steady(c).alpha + within)


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [
        (check.gains_with_end, lambda T, c, end: alphas(T, c)),
        (check.gains_with_end, lambda T, c, end: [c / (c + 1 + end)] * T),
        (check.cost_for_share, lambda share: share / (1 - share)),  # one layer
        (check.half_life, lambda c: steady(c).memory),
        (check.half_life, lambda c: np.log(2) * c**0.5),
        (check.memory_layers, lambda c, within: round(c**0.5)),
        (check.memory_layers, nearest_in_absolute_terms),
        (check.planes_left, lambda phi, T, c: attenuation(T, c, [0, np.sin(phi), 1])[-1]),
        (check.planes_left, lambda phi, T, c: attenuation(T, c, pair_weights([phi])[0])[-1]),
        (check.mean_gain_excess, lambda q, T, c: 0.0),
    ],
)
def test_wrong_answers_fail_with_a_hint(capsys, exercise, wrong):
    exercise(wrong)
    said = capsys.readouterr().out
    assert said.startswith("not yet: ") and "\nhint: " in said
    assert "nothing is returned" not in said
