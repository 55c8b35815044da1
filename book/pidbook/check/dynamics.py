"""Exercises on networks as dynamical systems that check themselves."""

from __future__ import annotations

from itertools import product

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise
from pidbook.theory.plants import Plant, steady_error


@exercise("the second part sees what the first has left: middle = x + h f(x), then one step of g")
def euler_step(answer: Answer) -> Cases:
    """Check a function (f, g, x, h) -> x after one step along f and then one along g."""
    starts = np.random.default_rng(0).standard_normal((3, 4))
    pairs = ((np.sin, lambda x: -x), (lambda x: x**2 - 1, np.cos), (lambda x: -x, np.sin))
    for (f, g), (x, h) in product(pairs, zip(starts, (1, 0.5, 0.01), strict=True)):
        middle = x + h * f(x)
        yield middle + h * g(middle), answer(f, g, x, h)
    return "two residual parts one after the other are two steps, not one step along f + g"


@exercise("at rest the sum stands still, 0 = e - leak * sum, so it holds e / leak: a second gain")
def offset(answer: Answer) -> Cases:
    """Check a function (k, K_p, K_i, leak, r, w) -> error at rest under P and a leaky I."""
    cases = ((1, 1, 1, 1, 1, 0), (1, 9, 0, 1, 1, 0), (2, 3, 0.5, 0.1, 0, 1), (0, 2, 1, 2, 1, 1))
    for k, K_p, K_i, leak, r, w in cases:
        plant = Plant(stiffness=k)
        yield steady_error(plant, K_p + K_i / leak, r, w), answer(k, K_p, K_i, leak, r, w)
    return "an integral that forgets is one more proportional gain; it must remember to remove"


@exercise(
    "the roots of z^2 - (1 - h a) z + h K have the product h K; a complex pair is |z|^2 = h K"
)
def largest_gain(answer: Answer) -> Cases:
    """Check a function (a, h) -> gain at which P control, one sample late, loses stability."""
    for a, h in ((0.0, 1.0), (1.0, 0.1), (3.0, 0.05), (10.0, 0.1)):
        yield 1 / h, answer(a, h)
    return "a delay of one sample: the plant's own damping a no longer counts"
