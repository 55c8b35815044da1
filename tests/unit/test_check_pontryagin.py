"""Wrong answers to the exercises on Pontryagin's principle are seen."""

from __future__ import annotations

import numpy as np
import pytest

from pidlib import check
from pidlib.theory.pontryagin import sweep


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [
        (check.costate_step, lambda p, theta, Q, v: theta @ p - Q @ v),
        (check.costate_step, lambda p, theta, Q, v: theta.T @ p + Q @ v),
        (check.cost_gradient, lambda *one: sweep(*one).costates[:-1]),
        (check.cost_gradient, lambda *one: -sweep(*one).gradient),
        (check.largest_step, lambda T, c: 2 / c),
        (check.largest_step, lambda T, c: 2 / (c + T**2)),
        (
            check.basic_sweep,
            lambda thetas, Q, c, x0, u: sweep(thetas, Q, c, x0, u).costates[:-1] / c,
        ),
        (check.converges, lambda T, c: True),
        (check.converges, lambda T, c: c > 1),
        (check.history_costate, lambda theta, p, pull, later: theta.T @ p - pull),
    ],
)
def test_wrong_answers_fail_with_a_hint(capsys, exercise, wrong):
    exercise(wrong)
    said = capsys.readouterr().out
    assert said.startswith("not yet: ") and "\nhint: " in said
    assert "nothing is returned" not in said


def test_right_answer_passes(capsys):
    check.history_costate(
        lambda theta, p, pull, later: theta.T @ p - pull - sum(later, np.zeros_like(p))
    )
    assert capsys.readouterr().out.startswith("right: ")
