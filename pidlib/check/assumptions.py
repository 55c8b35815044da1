"""Exercises on the paper's assumptions, and on what replaces them, that check themselves."""

from __future__ import annotations

import numpy as np

from pidlib.check.judge import Answer, Cases, exercise
from pidlib.theory.augmented import clean_complements
from pidlib.theory.gains import alphas
from pidlib.theory.law_comparison import residual_law
from pidlib.theory.systems import rotating_system


@exercise("a vector in one subspace is kept by that projection as 0, by the k - 1 others as 1")
def orthogonal_sum(answer: Answer) -> Cases:
    """Check a function (d, r, k) -> the d eigenvalues of a sum of k projections, rising."""
    for d, r, k in ((6, 2, 3), (10, 2, 2), (5, 1, 4), (7, 3, 1)):
        frame = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
        parts = [frame[:, r * j : r * (j + 1)] for j in range(k)]
        total = sum(np.eye(d) - V @ V.T for V in parts)
        yield np.linalg.eigvalsh(total).round(9), answer(d, r, k)
    return "0 and 1 come out only for k = 1"


@exercise("the complements have dimensions d - r and must fit side by side into d")
def room_for_projection(answer: Answer) -> Cases:
    """Check a function (d, ranks) -> whether the sum can be a projection at all."""
    for d, ranks in ((10, [5, 5]), (10, [4, 5]), (9, [6, 6, 6]), (9, [6, 6, 5]), (8, [8, 8, 1])):
        yield sum(d - r for r in ranks) <= d, answer(d, ranks)
    return "the subspaces must be large, the opposite of low-dimensional"


@exercise("layer s moves a clean state by at most (1 - alpha_s) sin(phi), and no layer enlarges it")
def tilt_damage(answer: Answer) -> Cases:
    """Check a function (T, c, phi) -> bound on the damage to a clean state of length 1."""
    for T, c, phi in ((1, 1.0, 0.1), (12, 1.0, 0.1), (6, 10.0, 0.5), (4, 1e-3, 0.02)):
        yield (1 - alphas(T, c)).sum() * np.sin(phi), answer(T, c, phi)
    return "a safe bound, and far from tight for small angles"


@exercise("three block rows: x is theta (x + u), s grows by x, y becomes x; np.block puts them in")
def augmented_step(answer: Answer) -> Cases:
    """Check a function theta -> (A, B), the step of the augmented state (x, s, y)."""
    for d in (1, 2, 3):
        theta = np.random.default_rng(d).standard_normal((d, d))
        eye, zero = np.eye(d), np.zeros((d, d))
        A = np.block([[theta, zero, zero], [eye, eye, zero], [eye, zero, zero]])
        yield (A, np.vstack([theta, zero, zero])), answer(theta)
    return "with its past inside, the state is all that a controller needs"


@exercise("Q^P acts on x, Q^I on x + s, Q^D on x - y; divide by the sum of the gains")
def residual_control(answer: Answer) -> Cases:
    """Check a function (x, s, y, Q, gains, alpha) -> u, the residual law of one layer."""
    Q, random = clean_complements(rotating_system(6, 2, 3, seed=0)), np.random.default_rng(0)
    for t, gains in enumerate(((1, 0, 0), (0.5, 0, 0.5), (1, 2, 3))):
        x, s, y = random.standard_normal((3, 6))
        wanted = residual_law(Q, gains, 1.0)(t, x, s, y)
        yield wanted, answer(x, s, y, (Q.P[t], Q.I[t], Q.D[t]), gains, alphas(3, 1.0)[t])
    return "three thin products, and clean trajectories are left alone"
