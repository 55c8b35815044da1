"""Exercises on gains from the model's own Jacobians that check themselves."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise
from pidbook.theory.riccati import riccati


@exercise("from the last block back: M = A^T S A, K = (M + c I)^-1 M, S = c K; start at the end")
def first_gain(answer: Answer) -> Cases:
    """Check a function (layers, end, c) -> K_0 for a terminal cost alone."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        layers, root = random.standard_normal((4, 3, 3)), random.standard_normal((2, 3))
        c, end = float(np.exp(random.uniform(-1, 1))), root.T @ root
        yield riccati(layers, np.zeros_like(layers), c, end).K[0], answer(layers, end, c)
    return "a running cost would only add its weight to M"
