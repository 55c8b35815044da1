"""Exercises on answers that should not depend on a group of persons."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise


@exercise("half the sum of the absolute differences, row by row")
def answer_change(answer: Answer) -> Cases:
    """Check a function (chances before, after), both (N, 3) -> change of each row (N,)."""
    random = np.random.default_rng(0)
    for n in (1, 5):
        p, q = random.dirichlet(np.ones(3), size=(2, n))
        yield np.abs(p - q).sum(1) / 2, answer(p, q)
    yield np.ones(1), answer(np.array([[1.0, 0, 0]]), np.array([[0.0, 0, 1]]))
    return "0 where nothing moves, 1 where all does"


@exercise("take the mean over the marked rows alone, and subtract it from these rows alone")
def without_shared(answer: Answer) -> Cases:
    """Check a function (c, marked), (n, r) and (n,) bool -> c without what marked rows share."""
    random = np.random.default_rng(1)
    for n, r in ((4, 2), (7, 3)):
        c = random.normal(size=(n, r))
        marked = np.arange(n) % 2 == 0
        yield c - marked[:, None] * c[marked].mean(0), answer(c.copy(), marked)
    c = random.normal(size=(3, 2))
    yield c, answer(c.copy(), np.zeros(3, bool))
    return "where no word is marked, nothing moves"


@exercise("the shared part is (a + b) / 2; word by word shrinks both, the other law it alone")
def gap_left(answer: Answer) -> Cases:
    """Check a function (a, b, gain) -> difference a - b left by each law, word by word and shared."""
    for a, b, gain in ((1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, -1.0, 0.5), (0.3, -0.7, 0.25)):
        yield ((1 - gain) * (a - b), a - b), answer(a, b, gain)
    return "what two words share goes, what sets them apart stays"
