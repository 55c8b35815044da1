"""Exercises on estimates of states that check themselves."""

from __future__ import annotations

import numpy as np

from pidlib.check.judge import Answer, Cases, exercise
from pidlib.theory.wiener import expected_error


@exercise("the error is -(I - A)(x - m) + A z, and E v'v = tr E v v'")
def bias_variance(answer: Answer) -> Cases:
    """Check a function (A, sigma_x, sigma_z) -> what an estimate takes, and what it leaves."""
    for seed in range(4):
        A, x, z = np.random.default_rng(seed).standard_normal((3, 4, 4))
        yield expected_error(A, x @ x.T, z @ z.T), answer(A, x @ x.T, z @ z.T)
    return "their sum is least for the Wiener rule"


@exercise("what the block should have made of the estimate, and a share of the surprise")
def next_estimate(answer: Answer) -> Cases:
    """Check a function (estimate, seen, theta, W, D) -> the estimate one block on."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        estimate, state = random.standard_normal((2, 3))
        theta, w, d = random.standard_normal((3, 3, 3))
        W, D = w @ w.T + np.eye(3), d @ d.T
        image = theta @ estimate
        wanted = image + W @ np.linalg.solve(W + D, state - image)
        yield wanted, answer(estimate, state, theta, W, D)
    return "without new disturbances, D = 0, it is what is seen"


@exercise("of the settings whose clean loss is small, the one with the most perturbed right")
def chosen_setting(answer: Answer) -> Cases:
    """Check a function (clean, perturbed, loss) -> place of the setting to take."""
    for clean, perturbed, loss, wanted in (
        ([0.8, 0.795, 0.7], [0.6, 0.65, 0.7], 0.01, 1),
        ([0.8, 0.785, 0.82], [0.6, 0.75, 0.7], 0.02, 1),
        ([0.8, 0.785, 0.82], [0.6, 0.75, 0.7], 0.01, 2),
        ([0.8, 0.795, 0.793], [0.6, 0.5, 0.55], 0.01, 2),
    ):
        yield wanted, answer(np.array(clean), np.array(perturbed), loss)
    return "the last case shows that what is chosen need not help"
