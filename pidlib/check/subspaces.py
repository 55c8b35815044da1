"""Exercises on subspaces of clean states that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pidlib.check.judge import judge
from pidlib.theory.manifolds import bent_curve


def distance_to_span(answer: Callable) -> None:
    """Check a function (x, W) -> distance of x from the span of the columns of W.

    Parameters
    ----------
    answer : function
        Of arrays (d,) and (d, r); the columns are independent, not orthonormal. Returns
        a number.

    Examples
    --------
    >>> distance_to_span(lambda x, W: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: section 2.1 of the paper; equation subspaces-distance.
    """

    def cases() -> Iterator:
        random = np.random.default_rng(0)
        for d, r in ((3, 1), (3, 2), (6, 4)):
            x, W = random.standard_normal(d), random.standard_normal((d, r))
            near = W @ np.linalg.lstsq(W, x, rcond=None)[0]
            yield (x, W), float(np.linalg.norm(x - near))

    hint = "np.linalg.qr(W)[0] is an orthonormal basis V; then take the length of x - V V'x"
    judge(answer, cases(), hint, "I - V V' measures a distance once V is orthonormal")


def curve_rank(answer: Callable) -> None:
    """Check a function (bend, share) -> directions that a bent curve needs.

    Parameters
    ----------
    answer : function
        Of two numbers strictly between 0 and 1; returns a whole number.

    Examples
    --------
    >>> curve_rank(lambda bend, share: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation subspaces-geometric.
    """

    def cases() -> Iterator:
        places = np.arange(4096) * 2 * np.pi / 4096
        for bend, share in ((0.3, 0.5), (0.6, 0.9), (0.6, 0.99), (0.85, 0.95), (0.9, 0.99)):
            energy = (bent_curve(places, bend, dims=800) ** 2).sum(axis=0)
            held = np.cumsum(energy) / energy.sum()
            yield (bend, share), int(np.argmax(held >= share)) + 1

    hint = "after 2m directions bend^(2m) is lost; at an odd rank half of one pair is there"
    judge(answer, cases(), hint, "one dimension of curve, and as many directions as it has bends")


def mode_product(answer: Callable) -> None:
    """Check a function (X, A, mode) -> the mode product of a tensor and a matrix.

    Parameters
    ----------
    answer : function
        Of an array with axes n_0, n_1, ..., a (J, n_mode) array and a mode counted from
        0; returns an array with J in place of n_mode.

    Examples
    --------
    >>> mode_product(lambda X, U, mode: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: section 2.4 of the paper; equation subspaces-mode-product.
    """

    def cases() -> Iterator:
        random = np.random.default_rng(1)
        for shape in ((3, 4), (2, 3, 4), (2, 3, 2, 4)):
            X = random.standard_normal(shape)
            for mode, size in enumerate(shape):
                U, letters = random.standard_normal((5, size)), "abcd"[: len(shape)]
                out = letters.replace(letters[mode], "z")
                yield (X, U, mode), np.einsum(f"{letters},z{letters[mode]}->{out}", X, U)

    hint = "np.moveaxis the mode to the end, multiply by A.T, and move it back"
    judge(answer, cases(), hint, "a matrix times every column that runs along the mode")


def embedding_projection(answer: Callable) -> None:
    """Check a function (X, r) -> projection onto the embedding mode's first r directions.

    Parameters
    ----------
    answer : function
        Of an array (N, l, d) and a rank; returns a (d, d) array.

    Examples
    --------
    >>> embedding_projection(lambda X, r: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Algorithm 1 of the paper; equations subspaces-svd, subspaces-moment.
    """

    def cases() -> Iterator:
        random = np.random.default_rng(2)
        for N, length, d, r in ((5, 4, 3, 1), (4, 3, 6, 2), (2, 2, 7, 3)):
            X = random.standard_normal((N, length, d)) * 0.5 ** np.arange(d)
            tokens = X.reshape(-1, d)
            V = np.linalg.eigh(tokens.T @ tokens)[1][:, ::-1][:, :r]
            yield (X, r), V @ V.T

    hint = "put tokens into the columns of a (d, N l) matrix; then U of its SVD has d rows"
    judge(answer, cases(), hint, "the basis has d rows: U of the unfolding, V of its transpose")


def merged_covariance(answer: Callable) -> None:
    """Check a function that merges two counts, means and covariances into one covariance.

    Parameters
    ----------
    answer : function
        (n1, m1, C1, n2, m2, C2) -> C, with C = sum (x - m)(x - m)' / n, (d, d), about
        each set's own mean; returns the covariance of both sets together.

    Examples
    --------
    >>> merged_covariance(lambda *arguments: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation subspaces-centred.
    """

    def cases() -> Iterator:
        random = np.random.default_rng(3)
        for n1, n2, d in ((5, 5, 2), (3, 9, 3), (1, 20, 4)):
            first, second = random.standard_normal((n1, d)), random.standard_normal((n2, d))
            second = second + 3 * random.standard_normal(d)
            each = [
                (len(X), X.mean(axis=0), np.cov(X.T, ddof=0) if len(X) > 1 else np.zeros((d, d)))
                for X in (first, second)
            ]
            yield (*each[0], *each[1]), np.cov(np.concatenate([first, second]).T, ddof=0)

    hint = "go back to sums of x x' by adding m m', add those, and take off the new mean"
    judge(answer, cases(), hint, "sums of x x' simply add; covariances need their means as well")
