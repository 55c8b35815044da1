"""Exercises on the paper's assumptions, and on what replaces them, that check themselves."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise
from pidbook.theory.augmented import Complements
from pidbook.theory.law_comparison import residual_law
from pidlib.theory.gains import alphas


@exercise("a vector in one subspace is kept by that projection as 0, by the k - 1 others as 1")
def orthogonal_sum(answer: Answer) -> Cases:
    """Check a function (d, r, k) -> the d eigenvalues of a sum of k projections, rising."""
    for d, r, k in ((6, 2, 3), (10, 2, 2), (5, 1, 4), (7, 3, 1)):
        frame = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
        parts = [frame[:, r * j : r * (j + 1)] for j in range(k)]
        total = sum(np.eye(d) - V @ V.T for V in parts)
        yield np.linalg.eigvalsh(total).round(9), answer(d, r, k)
    return "0 and 1 come out only for k = 1"


@exercise("x is theta (x + u), s is rho s + x + u: two block rows; np.block puts them in")
def augmented_step(answer: Answer) -> Cases:
    """Check a function (theta, rho) -> (A, B), the step of the state (x, fading sum of v)."""
    for d, rho in ((1, 0.5), (2, 1.0), (3, 0.9), (2, 0.0)):
        theta = np.random.default_rng(d).standard_normal((d, d))
        eye, zero = np.eye(d), np.zeros((d, d))
        A = np.block([[theta, zero], [eye, rho * eye]])
        yield (A, np.vstack([theta, eye])), answer(theta, rho)
    return "with its past inside, the state is all that a controller needs"


@exercise("for rows Q w is w - (w V) V'; P acts on x, I on x + s, D on x - y; divide by sum(gains)")
def residual_control(answer: Answer) -> Cases:
    """Check a function (x, s, y, V, gains, alpha) -> u, the residual law for tokens in rows."""
    random = np.random.default_rng(0)
    for gains in ((1, 0, 0), (0.5, 0, 0.5), (1, 2, 3)):
        x, s, y = random.standard_normal((3, 5, 6))
        V = np.linalg.qr(random.standard_normal((3, 6, 2)))[0]
        Q = Complements(*(np.eye(6) - V @ V.mT)[:, None])
        wanted = residual_law(Q, gains, 1.0)(0, x, s, y)
        yield wanted, answer(x, s, y, tuple(V), gains, alphas(1, 1.0)[0])
    return "three thin products, and clean trajectories are left alone"
