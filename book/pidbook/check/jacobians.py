"""Exercises on gains from the model's own Jacobians that check themselves."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise
from pidlib.theory.riccati import riccati


@exercise("least squares: A = (sum of y v^T) (sum of v v^T)^-1, a row of V and Y for each product")
def signed_products(answer: Answer) -> Cases:
    """Check a function (V, Y) -> the matrix that takes each row of V to that of Y best."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        V = random.choice([-1.0, 1.0], (40, 3))
        Y = V @ random.standard_normal((3, 3)) + random.standard_normal((40, 3))
        yield np.linalg.lstsq(V, Y, rcond=None)[0].T, answer(V, Y)
    return "products alone, no derivative as a matrix, give the mean of the derivative"


@exercise("u = -K e, and e = x less its guess F x + b")
def separated_map(answer: Answer) -> Cases:
    """Check a function (K, F, b) -> (map, offset) of the state that the gain leaves of x."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        K, F, b = random.standard_normal((3, 3, 3))
        step = F - np.eye(3)
        yield (np.eye(3) + K @ step, K @ b[0]), answer(K, F, b[0])
    return "with K = I it is the estimate itself, with K = 0 nothing happens"


@exercise("from the last block back: M = A^T S A, K = (M + c I)^-1 M, S = c K; start at the end")
def first_gain(answer: Answer) -> Cases:
    """Check a function (layers, end, c) -> K_0 for a terminal cost alone."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        layers, root = random.standard_normal((4, 3, 3)), random.standard_normal((2, 3))
        c, end = float(np.exp(random.uniform(-1, 1))), root.T @ root
        yield riccati(layers, np.zeros_like(layers), c, end).K[0], answer(layers, end, c)
    return "a running cost would only add its weight to M"


@exercise(
    "G_t = C A_{T-1} ... A_t; the inverse is of c I + sum over t of G_t G_t^T, one row a logit"
)
def gain_by_logits(answer: Answer) -> Cases:
    """Check a function (layers, C, c) -> K_0 for the terminal cost |C x_T|^2 / 2, by a small inverse."""
    for seed in range(3):
        random = np.random.default_rng(10 + seed)
        layers, C = random.standard_normal((4, 5, 5)) / 2, random.standard_normal((2, 5))
        c = float(np.exp(random.uniform(-1, 1)))
        yield riccati(layers, np.zeros_like(layers), c, C.T @ C).K[0], answer(layers, C, c)
    return "as many rows as logits: all that a terminal cost can ask of a control"
