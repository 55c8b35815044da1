"""Exercises on estimates of states that check themselves."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise
from pidbook.theory.kalman import expected_error


@exercise("both kinds of words pay the bias; only the perturbed ones have a variance")
def bias_variance(answer: Answer) -> Cases:
    """Check a function (A, sigma_x, sigma_z, p) -> error of clean words, and mean over all."""
    for seed, p in enumerate((0.0, 0.2, 0.7, 1.0)):
        A, x, z = np.random.default_rng(seed).standard_normal((3, 4, 4))
        bias, variance = expected_error(A, x @ x.T, z @ z.T)
        yield (bias, bias + p * variance), answer(A, x @ x.T, z @ z.T, p)
    return "the second is least for the rule with p before sigma_z"


@exercise("the surprise is what is seen less the image of what was sent on, s + u")
def next_estimate(answer: Answer) -> Cases:
    """Check a function (estimate, sent, seen, theta, W, D) -> the estimate one block on."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        estimate, sent, seen = random.standard_normal((3, 3))
        theta, w, d = random.standard_normal((3, 3, 3))
        W, D = w @ w.T + np.eye(3), d @ d.T
        wanted = theta @ estimate + W @ np.linalg.solve(W + D, seen - theta @ sent)
        yield wanted, answer(estimate, sent, seen, theta, W, D)
    return "its error is the same, whatever was sent on: that is separation"
