"""Exercises on estimates of states that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pidlib.check.judge import judge
from pidlib.theory.wiener import expected_error


def bias_variance(answer: Callable) -> None:
    """Check a function (A, sigma_x, sigma_z) -> what an estimate takes, and what it leaves.

    Parameters
    ----------
    answer : function
        Of three (d, d) arrays; returns the pair (bias, variance).

    Examples
    --------
    >>> bias_variance(lambda A, sigma_x, sigma_z: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation wiener-error.
    """

    def cases() -> Iterator:
        for seed in range(4):
            A, x, z = np.random.default_rng(seed).standard_normal((3, 4, 4))
            yield (A, x @ x.T, z @ z.T), expected_error(A, x @ x.T, z @ z.T)

    hint = "the error is -(I - A)(x - m) + A z, and E v'v = tr E v v'"
    judge(answer, cases(), hint, "their sum is least for the Wiener rule")


def next_estimate(answer: Callable) -> None:
    """Check a function (estimate, seen, theta, W, D) -> the estimate one block on.

    Parameters
    ----------
    answer : function
        Of the estimate (d,) that stands in the state's place, the next state as it is seen
        (d,), the block (d, d), and the covariances (d, d) of what it brings in and of what
        it disturbs; returns the next estimate (d,).

    Examples
    --------
    >>> next_estimate(lambda estimate, seen, theta, W, D: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation kalman-memory.
    """

    def cases() -> Iterator:
        for seed in range(4):
            random = np.random.default_rng(seed)
            old, seen = random.standard_normal((2, 3))
            theta, w, d = random.standard_normal((3, 3, 3))
            W, D = w @ w.T + np.eye(3), d @ d.T
            told = theta @ old
            yield (old, seen, theta, W, D), told + W @ np.linalg.solve(W + D, seen - told)

    hint = "what the block should have made of the estimate, and a share of the surprise"
    judge(answer, cases(), hint, "without new disturbances, D = 0, it is what is seen")


def chosen_setting(answer: Callable) -> None:
    """Check a function (clean, perturbed, loss) -> place of the setting to take.

    Parameters
    ----------
    answer : function
        Of two arrays (k,) of shares of right answers, the first entry of each without
        control, and the clean loss allowed; returns a whole number from 1 to k - 1. At least
        one setting is cheap enough.

    Examples
    --------
    >>> chosen_setting(lambda clean, perturbed, loss: 0)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; see `pidlib.estimation.selection.choose`.
    """

    def cases() -> Iterator:
        yield ([0.8, 0.795, 0.7], [0.6, 0.65, 0.7], 0.01), 1
        yield ([0.8, 0.785, 0.82], [0.6, 0.75, 0.7], 0.02), 1
        yield ([0.8, 0.785, 0.82], [0.6, 0.75, 0.7], 0.01), 2
        yield ([0.8, 0.795, 0.793], [0.6, 0.5, 0.55], 0.01), 2

    hint = "of the settings whose clean loss is small, the one with the most perturbed right"
    judge(
        lambda clean, perturbed, loss: answer(np.array(clean), np.array(perturbed), loss),
        cases(),
        hint,
        "the last case shows that what is chosen need not help",
    )
