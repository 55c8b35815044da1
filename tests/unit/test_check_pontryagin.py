"""Wrong answers to the exercises on Pontryagin's principle are seen."""

from __future__ import annotations

import numpy as np
import pytest

from pidlib import check
from pidlib.theory.pontryagin import basic_msa, basic_threshold, step_bound, sweep


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [
        (check.costate_step, lambda p, theta, Q, v: theta.T @ p - Q @ v),
        (check.costate_step, lambda p, theta, Q, v: theta.T @ ((1 - np.tanh(v) ** 2) * p) - Q @ v),
        (
            check.cost_gradient,
            lambda thetas, Q, W, c, x0, u: sweep(thetas, Q, c, x0, u).gradient,
        ),
        (check.cost_gradient, lambda thetas, Q, W, c, x0, u: c * u),
        (check.largest_step, lambda T, c, w: 2 / (c + w)),
        (check.largest_step, lambda T, c, w: step_bound(T, c, w)),
        (
            check.basic_sweep,
            lambda thetas, Q, c, x0, u: basic_msa(thetas, Q, c[0], x0, 1, start=u).controls,
        ),
        (check.converges, lambda T, c, damping: True),
        (check.converges, lambda T, c, damping: c > basic_threshold(T)),
        (check.converges, lambda T, c, damping: damping < 2),
        (check.history_costate, lambda theta, p, pull, after: theta.T @ p - pull),
        (check.history_costate, lambda theta, p, pull, after: theta.T @ p - pull - after),
    ],
)
def test_wrong_answers_fail_with_a_hint(capsys, exercise, wrong):
    exercise(wrong)
    said = capsys.readouterr().out
    assert said.startswith("not yet: ") and "\nhint: " in said
    assert "nothing is returned" not in said


def cost_gradient(thetas, Q, W, c, x0, controls):
    x, seen = x0, []
    for theta, u in zip(thetas, controls, strict=True):
        seen.append(x + u)
        x = theta @ seen[-1]
    p, gradient = -W @ x, np.zeros_like(controls)
    for t in reversed(range(len(thetas))):
        p = thetas[t].T @ p - Q[t] @ seen[t]
        gradient[t] = c * controls[t] - p
    return gradient


def basic_sweep(thetas, Q, c, x0, controls):
    now = sweep(thetas, Q, 1.0, x0, controls)
    return [
        np.linalg.solve(Q[t] + c[t] * np.eye(3), theta.T @ now.costates[t + 1] - Q[t] @ x)
        for t, (theta, x) in enumerate(zip(thetas, now.states, strict=False))
    ]


@pytest.mark.parametrize(
    ("exercise", "right"),
    [
        (
            check.costate_step,
            lambda p, theta, Q, v: (1 - np.tanh(v) ** 2) * (theta.T @ p) - Q @ v,
        ),
        (check.cost_gradient, cost_gradient),
        (check.largest_step, lambda T, c, w: 2 / (c + w * T)),
        (check.basic_sweep, basic_sweep),
        (
            check.converges,
            lambda T, c, damping: (
                damping * (c + 1 / (4 * np.sin(np.pi / (4 * T + 2)) ** 2)) < 2 * (1 + c)
            ),
        ),
        (check.history_costate, lambda theta, p, pull, after: theta.T @ p - pull + after),
    ],
)
def test_right_answers_pass(capsys, exercise, right):
    exercise(right)
    assert capsys.readouterr().out.startswith("right: ")
