"""Exercises on the Riccati recursion that check themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise
from pidbook.theory.riccati import cost, riccati, rollout


def _problems(seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Small random problems: any layers, positive semi-definite weights, a cost."""
    random = np.random.default_rng(seed)
    for _ in range(5):
        root = random.standard_normal((3, 3, 2))
        thetas = random.standard_normal((3, 3, 3))
        yield thetas, root @ root.swapaxes(1, 2), float(np.exp(random.uniform(-1, 1)))


@exercise("half is left, so K = 1/2 and S = c K; far from the end S^2 + q S = c q")
def halving_cost(answer: Answer) -> Cases:
    """Check the cost c at which a deep network keeps half of an error per layer."""
    yield 2.0, answer()
    return "alpha* = 1/2 asks for c = 2, dearer than one layer's c = 1"


@exercise("at each layer: u = -K x, v = x + u, add v.Q.v/2 + c u.u/2, then x = theta v")
def feedback_cost(answer: Answer) -> Cases:
    """Check a function (thetas, Q_state, c, K, x0) -> cost of the feedback u = -K x."""
    for k, problem in enumerate(_problems(1)):
        random = np.random.default_rng(k)
        K, x0 = random.standard_normal((3, 3, 3)) / 2, random.standard_normal(3)
        controls = rollout(problem[0], K, x0).controls
        yield cost(*problem, x0, controls), answer(*problem, K, x0)
    return "this is the cost of any feedback, good or bad"


@exercise("minimise c/2 |u|^2 + 1/2 (theta x + u)' S_next (theta x + u) in u; then add 1/2 x' Q x")
def bellman_step(answer: Answer) -> Cases:
    """Check a function (S_next, theta, Q, c) -> (S, K), one step if the control comes last."""
    random = np.random.default_rng(3)
    for thetas, Q, c in _problems(2):
        root = random.standard_normal((3, 2))
        for S, theta, q in ((root @ root.T, thetas[0], Q[0]), (Q[2], thetas[1], Q[1])):
            # the control comes before a layer of identity, whose weight is S
            solved = riccati(np.eye(3)[None], S[None], c)
            wanted = q + theta.T @ solved.S[0] @ theta, solved.K[0] @ theta
            yield wanted, answer(S, theta, q, c)
    return "the control of textbooks comes after the layer: K has a theta, and S is not c K"


@exercise("the trace is 1 and the determinant is sin(phi)^2 / 4")
def two_projections(answer: Answer) -> Cases:
    """Check a function phi -> (low, high), the eigenvalues of (Q_1 + Q_2) / 2."""
    for phi in (0.0, 0.3, math.pi / 3, math.pi / 2):
        V, W = np.array([1.0, 0.0]), np.array([math.cos(phi), math.sin(phi)])
        mean = np.eye(2) - (np.outer(V, V) + np.outer(W, W)) / 2
        yield tuple(np.linalg.eigvalsh(mean)), answer(phi)
    return "the mean of two projections is a projection only at phi = 0"
