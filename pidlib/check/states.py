"""Exercises on hidden states that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pidlib.check.judge import judge


def _spectra(seed: int, count: int = 5) -> Iterator[np.ndarray]:
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield np.sort(random.exponential(size=9) ** 2)[::-1]


def smallest_rank(answer: Callable) -> None:
    """Check a function (eigenvalues, variance) -> rank.

    Parameters
    ----------
    answer : callable
        Gets falling eigenvalues (d,) and a share; returns the smallest number of leading
        eigenvalues whose sum reaches that share of all.

    Examples
    --------
    >>> smallest_rank(lambda values, variance: len(values))
    not yet: a test case comes out differently
    hint: np.cumsum(values) / values.sum() is the share of 1, 2, ... directions

    Source: section 3.1 of the paper.
    """
    cases: list[tuple[tuple, Any]] = []
    for values in _spectra(0):
        shares = np.cumsum(values) / values.sum()
        for variance in (0.5, 0.9, 0.99):
            cases.append(((values, variance), int(np.argmax(shares >= variance)) + 1))
    judge(
        answer,
        iter(cases),
        "np.cumsum(values) / values.sum() is the share of 1, 2, ... directions",
        "the rank is where the running share first reaches the threshold.",
    )


def clean_bias(answer: Callable) -> None:
    """Check a function (V, states) -> share of energy off a subspace.

    Parameters
    ----------
    answer : callable
        Gets an orthonormal basis (d, r) and states (n, d); returns
        sum ||Q x||^2 / sum ||x||^2 with Q = I - V V^T.

    Examples
    --------
    >>> clean_bias(lambda V, X: 1 - ((X @ V) ** 2).sum() / (X**2).sum())
    right: Pythagoras: what the projection V V^T keeps and what Q takes add up to all.

    Source: ours, chapter on states.
    """
    random, cases = np.random.default_rng(1), []
    for r in (1, 3, 5):
        basis = np.linalg.qr(random.standard_normal((6, r)))[0]
        states = random.standard_normal((20, 6))
        off = states - states @ basis @ basis.T
        cases.append(((basis, states), (off**2).sum() / (states**2).sum()))
    judge(
        answer,
        iter(cases),
        "x - V (V^T x) is off the subspace; states lie in rows, so V^T x is X @ V",
        "Pythagoras: what the projection V V^T keeps and what Q takes add up to all.",
    )


def shared_directions(answer: Callable) -> None:
    """Check a function (r, s, d) -> least dimension that two subspaces share.

    Parameters
    ----------
    answer : callable
        Gets two ranks and the width; returns the smallest possible dimension of the
        intersection.

    Examples
    --------
    >>> shared_directions(lambda r, s, d: max(0, r + s - d))
    right: two subspaces of more than d dimensions together must meet.

    Source: ours, chapter on states.
    """
    cases = [((r, s, d), max(0, r + s - d)) for r, s, d in ((3, 4, 5), (2, 2, 5), (5, 1, 5))]
    judge(
        answer,
        iter(cases),
        "in space (d = 3) two planes share a line; two lines need not meet",
        "two subspaces of more than d dimensions together must meet.",
    )
