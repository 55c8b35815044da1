"""Exercises on the Riccati recursion that check themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from pidlib.check.judge import judge
from pidlib.theory.riccati import cost, riccati, rollout


def _problems(seed: int, count: int = 5) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Small random problems: any layers, positive semi-definite weights, a cost."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        root = random.standard_normal((3, 3, 2))
        thetas = random.standard_normal((3, 3, 3))
        yield thetas, root @ root.swapaxes(1, 2), float(np.exp(random.uniform(-1, 1)))


def halving_cost(answer: float | None) -> None:
    """Check the cost c at which a deep network keeps half of an error per layer.

    Parameters
    ----------
    answer : float
        The cost c, for weight q = 1 and infinite depth.

    Examples
    --------
    >>> halving_cost(None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours, chapter on the Riccati recursion.
    """
    hint = "put alpha = 1/2 into alpha = 1 / (2 + 1/c - alpha)"
    judge(
        answer,
        iter([((), 2.0)]),
        hint,
        "alpha* = 1/2 asks for c = 2, dearer than one layer's c = 1",
    )


def feedback_cost(answer: Callable) -> None:
    """Check a function (thetas, Q_state, c, K, x0) -> cost of the feedback u = -K x.

    Parameters
    ----------
    answer : function
        Of arrays (T, d, d), (T, d, d), a number, (T, d, d) and (d,); returns a number.

    Examples
    --------
    >>> feedback_cost(lambda *arguments: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Appendix A, the relaxed running loss.
    """

    def cases() -> Iterator:
        for k, (thetas, Q, c) in enumerate(_problems(1)):
            random = np.random.default_rng(k)
            K, x0 = random.standard_normal((3, 3, 3)) / 2, random.standard_normal(3)
            wanted = cost(thetas, Q, c, x0, rollout(thetas, K, x0).controls)
            yield (thetas, Q, c, K, x0), wanted

    hint = "at each layer: u = -K x, v = x + u, add v.Q.v/2 + c u.u/2, then x = theta v"
    judge(answer, cases(), hint, "this is the cost of any feedback, good or bad")


def bellman_step(answer: Callable) -> None:
    """Check a function (S_next, theta, Q, c) -> (S, K), one step of the recursion.

    Parameters
    ----------
    answer : function
        Of three (d, d) arrays and a number; returns two (d, d) arrays.

    Examples
    --------
    >>> bellman_step(lambda *arguments: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Proposition 1.
    """

    def cases() -> Iterator:
        for thetas, Q, c in _problems(2):
            solution = riccati(thetas, Q, c)
            for t in (2, 1, 0):
                yield (solution.S[t + 1], thetas[t], Q[t], c), (solution.S[t], solution.K[t])

    hint = "M = Q + theta' S_next theta, K = (M + c I)^-1 M, S = c K"
    judge(answer, cases(), hint, "one step for every layer, from the last back to the first")


def two_projections(answer: Callable) -> None:
    """Check a function phi -> (low, high), the eigenvalues of (Q_1 + Q_2) / 2.

    Parameters
    ----------
    answer : function
        Of the angle in radians between two lines in the plane; returns two numbers.

    Examples
    --------
    >>> two_projections(lambda phi: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours, chapter on the Riccati recursion.
    """

    def cases() -> Iterator:
        for phi in (0.0, 0.3, math.pi / 3, math.pi / 2):
            V, W = np.array([1.0, 0.0]), np.array([math.cos(phi), math.sin(phi)])
            low, high = np.linalg.eigvalsh(np.eye(2) - (np.outer(V, V) + np.outer(W, W)) / 2)
            yield (phi,), (low, high)

    hint = "the trace is 1 and the determinant is sin(phi)^2 / 4"
    judge(answer, cases(), hint, "the mean of two projections is a projection only at phi = 0")
