"""Exercises on estimates of states that check themselves."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise
from pidbook.theory.estimates import expected_error


@exercise("both kinds of words pay the bias; only the perturbed ones have a variance")
def bias_variance(answer: Answer) -> Cases:
    """Check a function (A, sigma_x, sigma_z, p) -> error of clean words, and mean over all."""
    for seed, p in enumerate((0.0, 0.2, 0.7, 1.0)):
        A, x, z = np.random.default_rng(seed).standard_normal((3, 4, 4))
        bias, variance = expected_error(A, x @ x.T, z @ z.T)
        yield (bias, bias + p * variance), answer(A, x @ x.T, z @ z.T, p)
    return "the second is least for the rule with p before sigma_z"
