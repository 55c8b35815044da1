"""Exercises on robustness tables that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pidlib.check.judge import judge
from pidlib.theory.gains import attenuation
from pidlib.theory.systems import orthogonal_system


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
    judge(answer, cases(), hint, "two thin products per state, and no d x d matrix")


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
    judge(answer, iter([((), wanted)]), hint, "1/233, a Fibonacci number")


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
    judge(answer, cases(), hint, "rows on which both agree say nothing about which is better")
