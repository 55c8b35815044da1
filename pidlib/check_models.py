"""Exercises on controlled models that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pidlib.verdicts import judge


def predicted_norm(answer: Callable) -> None:
    """Check a function (z, V, a) -> errors that Theorem 1 predicts for one token.

    Parameters
    ----------
    answer : function
        Of the perturbation (d,), an orthonormal basis (d, r) and the shares left (T + 1,);
        returns (T + 1,) norms.

    Examples
    --------
    >>> predicted_norm(lambda z, V, a: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Theorem 1.
    """

    def cases() -> Iterator:
        for seed in range(4):
            random = np.random.default_rng(seed)
            V = np.linalg.qr(random.standard_normal((6, 2)))[0]
            z, a = random.standard_normal(6), 0.5 ** np.arange(4)
            on = V.T @ z
            off = z @ z - on @ on
            yield (z, V, a), np.sqrt(on @ on + a**2 * off)

    hint = "split z into V V^T z and the rest; only the rest fades, with a"
    judge(answer, cases(), hint, "add squares, then take the root")


def singular_spread(answer: Callable) -> None:
    """Check a function (J) -> coefficient of variation of the squared singular values.

    Parameters
    ----------
    answer : function
        Of a (d, d) matrix; returns a number, 0 for a multiple of an orthogonal matrix.

    Examples
    --------
    >>> singular_spread(lambda J: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours.
    """

    def cases() -> Iterator:
        for seed in range(4):
            J = np.random.default_rng(seed).standard_normal((5, 5))
            J = 2 * np.linalg.qr(J)[0] if seed == 0 else J
            squares = np.linalg.svd(J, compute_uv=False) ** 2
            yield (J,), squares.std() / squares.mean()

    hint = "np.linalg.svd gives singular values; square them; std over mean"
    judge(answer, cases(), hint, "use the squares of the singular values")


def state_gradient(answer: Callable) -> None:
    """Check a function (v, u, next_u, W, A, c) -> derivative of the cost in v.

    Parameters
    ----------
    answer : function
        Of a controlled state (d,), its control, the next control, the weight (d, d), the
        derivative of the block (d, d) and c; returns (d,).

    Examples
    --------
    >>> state_gradient(lambda v, u, next_u, W, A, c: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation iterative-states.
    """

    def cases() -> Iterator:
        for seed in range(4):
            random = np.random.default_rng(seed)
            v, u, after = random.standard_normal((3, 4))
            W, J = random.standard_normal((2, 4, 4))
            W, c = W @ W.T, 0.1 + seed
            yield (v, u, after, W, J, c), W @ v + c * u - c * J.T @ after

    hint = "v enters its own loss, u = v - x, and next_u = next_v - F(v)"
    judge(answer, cases(), hint, "where this is zero, c u is the costate")
