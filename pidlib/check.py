"""Exercises that check themselves. Each function prints a verdict, and a hint when it is "not yet".

The functions are named by subject, not by chapter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pidlib.gains import attenuation, predicted_error, wiener_c
from pidlib.riccati import cost, riccati, rollout
from pidlib.systems import orthogonal_system


def _judge(answer: Any, cases: Iterator[tuple[tuple, Any]], hint: str, praise: str) -> None:
    """Print the verdict on a function, or on a number, over cases (arguments, wanted)."""
    for arguments, wanted in cases:
        try:
            got = answer(*arguments) if callable(answer) else answer
            if got is None or got is Ellipsis:
                print(f"not yet: nothing is returned\nhint: {hint}")
                return
            if isinstance(wanted, tuple):
                right = len(got) == len(wanted) and all(map(_close, got, wanted))
            else:
                right = _close(got, wanted)
        except Exception as error:  # noqa: BLE001 - a reader's function may raise anything
            print(f"not yet: {type(error).__name__}: {error}\nhint: {hint}")
            return
        if not right:
            print(f"not yet: a test case comes out differently\nhint: {hint}")
            return
    print(f"right: {praise}")


def _close(got: Any, wanted: Any) -> bool:
    value, goal = np.asarray(got, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    return value.shape == goal.shape and bool(np.allclose(value, goal, rtol=1e-6, atol=1e-9))


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
    _judge(
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
    _judge(answer, cases(), hint, "this is the cost of any feedback, good or bad")


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
    _judge(answer, cases(), hint, "one step for every layer, from the last back to the first")


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
    _judge(answer, cases(), hint, "the mean of two projections is a projection only at phi = 0")


def split(answer: Callable) -> None:
    """Check a function (z, V) -> (on, off), squared norms in and off a subspace.

    Parameters
    ----------
    answer : function
        Of a (d,) array and a (d, r) array of orthonormal columns; returns two numbers.

    Examples
    --------
    >>> split(lambda z, V: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: section 2.3, the two parts of a perturbation.
    """

    def cases() -> Iterator:
        for seed in range(5):
            V = orthogonal_system(6, 2, 1, seed).bases[0]
            z = np.random.default_rng(seed).standard_normal(6)
            on = float(np.sum((V.T @ z) ** 2))
            yield (z, V), (on, float(z @ z) - on)

    hint = "the part in the subspace is V (V' z); the rest is what is left of z"
    _judge(answer, cases(), hint, "on + off is the whole |z|^2, by Pythagoras")


def exit_error(answer: Callable) -> None:
    """Check a function (on, off, T, c) -> squared error after the last layer.

    Parameters
    ----------
    answer : function
        Of two squared norms, a whole number and a cost; returns a number.

    Examples
    --------
    >>> exit_error(lambda on, off, T, c: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Theorem 1.
    """
    random = np.random.default_rng(3)
    draws = [(*random.random(2), int(random.integers(1, 12)), random.random()) for _ in range(8)]
    cases = (((on, off, T, c), predicted_error(on, off, T, c)[-1]) for on, off, T, c in draws)
    hint = "go back from lambda_T = 0; multiply all alpha_t; square the product, not each norm"
    _judge(answer, cases, hint, "the error at the exit needs no network at all")


def layers_needed(answer: Callable) -> None:
    """Check a function (c, share) -> fewest layers that leave at most that share.

    Parameters
    ----------
    answer : function
        Of a cost and a share of the norm off the subspace, 0 to 1; returns a whole
        number T.

    Examples
    --------
    >>> layers_needed(lambda c, share: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Theorem 1.
    """

    def cases() -> Iterator:
        for c, share in ((1.0, 0.5), (1.0, 0.01), (10.0, 0.1), (100.0, 0.1), (1e-3, 0.01)):
            T = 1
            while attenuation(T, c)[-1] > share:
                T += 1
            yield (c, share), T

    hint = "the whole sequence of gains changes with T: try T = 1, 2, 3, ... afresh"
    _judge(answer, cases(), hint, "the depth grows like sqrt(c), not like c")


def best_cost(answer: Callable) -> None:
    """Check a function (X, Z, T) -> cost c of least mean squared error at the exit.

    Parameters
    ----------
    answer : function
        Of two energies off the subspace (clean X, perturbation Z) and the depth;
        returns a number. One part in a million is enough.

    Examples
    --------
    >>> best_cost(lambda X, Z, T: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours, chapter on the error theorem.
    """
    draws = ((1.0, 2.0, 1), (1.0, 1.0, 12), (0.1, 1.0, 6), (3.0, 0.5, 4))
    cases = (((X, Z, T), wiener_c(X, Z, T)) for X, Z, T in draws)
    hint = "first find the factor a that minimises a^2 Z + (1 - a)^2 X, then the c with a_T(c) = a"
    _judge(answer, cases, hint, "the better the subspace fits clean text, the cheaper the control")


def pd_control(answer: Callable) -> None:
    """Check a function (x, V_P, V_D, alpha) -> u, the averaged P-D control of one state.

    Parameters
    ----------
    answer : function
        Of a (d,) array, two (d, r) arrays of orthonormal columns and a number; returns a
        (d,) array.

    Examples
    --------
    >>> pd_control(lambda x, V_P, V_D, alpha: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Proposition 2 with gains 1/2 and 1/2.
    """

    def cases() -> Iterator:
        for seed in range(4):
            V_P, V_D = (orthogonal_system(7, 3, 1, seed + k).bases[0] for k in (0, 50))
            random = np.random.default_rng(seed)
            x, alpha = random.standard_normal(7), random.random()
            Q = np.eye(7) - (V_P @ V_P.T + V_D @ V_D.T) / 2
            yield (x, V_P, V_D, alpha), -(1 - alpha) * Q @ x

    hint = "the mean of x - V_P V_P' x and x - V_D V_D' x, times -(1 - alpha)"
    _judge(answer, cases(), hint, "two thin products per state, and no d x d matrix")


def six_layers(answer: float | None) -> None:
    """Check the share of a norm off the subspace that six layers leave at c = 1.

    Parameters
    ----------
    answer : float
        The product of alpha_0, ..., alpha_5.

    Examples
    --------
    >>> six_layers(None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Theorem 1.
    """
    wanted = attenuation(6, 1.0)[-1]
    hint = "start at lambda_6 = 0, go back to layer 0, multiply the six alphas"
    _judge(answer, iter([((), wanted)]), hint, "1/233, a Fibonacci number")


def paired_counts(answer: Callable) -> None:
    """Check a function (first, second) -> (won, lost, gain in points).

    Parameters
    ----------
    answer : function
        Of two (N,) Boolean arrays of right answers; returns two counts and a number.

    Examples
    --------
    >>> paired_counts(lambda first, second: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: McNemar's test.
    """

    def cases() -> Iterator:
        for seed in range(4):
            first, second = np.random.default_rng(seed).random((2, 40)) < 0.6
            won, lost = int((~first & second).sum()), int((first & ~second).sum())
            yield (first, second), (won, lost, 100 * (won - lost) / 40)

    hint = "won: first wrong and second right; lost: the other way round"
    _judge(answer, cases(), hint, "rows on which both agree say nothing about which is better")
