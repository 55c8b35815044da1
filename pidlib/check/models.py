"""Exercises on controlled models that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pidlib.check.judge import judge


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


def least_ratio(answer: Callable) -> None:
    """Check a function (k, T, d, tokens) -> least ratio of times with and without control.

    Parameters
    ----------
    answer : function
        Of four whole numbers; returns a number above 1.

    Examples
    --------
    >>> least_ratio(lambda k, T, d, tokens: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation cost-bound.
    """
    cases = [(5, 6, 768, 32), (7, 24, 2048, 32), (1, 1, 16, 400), (3, 12, 768, 1)]
    made = (
        (c, 1 + c[0] / c[1] * 2 * c[2] ** 2 / (24 * c[2] ** 2 + 4 * c[3] * c[2])) for c in cases
    )
    hint = "2 d^2 for each control, 24 d^2 + 4 l d for each block; k of T"
    judge(answer, made, hint, "long texts make the control cheaper, in proportion")


def cheapest(answer: Callable) -> None:
    """Check a function (r_P, r_D, d) -> least multiplications a token of P-D control.

    Parameters
    ----------
    answer : function
        Of two ranks and the width; returns a whole number.

    Examples
    --------
    >>> cheapest(lambda r_P, r_D, d: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; `pidlib.gain.Gain`.
    """
    cases = [(10, 20, 100), (16, 48, 100), (95, 90, 100), (20, 30, 100), (60, 70, 100)]
    made = (((p, q, d), min(d * d, 2 * d * min(p + q, 2 * d - p - q))) for p, q, d in cases)
    hint = "compare d d with 2 d m; m is r_P + r_D, or 2 d - r_P - r_D"
    judge(answer, made, hint, "thin only where the ranks sum to under d / 2, or over 3 d / 2")


def last_token(answer: Callable) -> None:
    """Check a function (mask) -> place of the last real token of each row.

    Parameters
    ----------
    answer : function
        Of a (B, l) array of zeros and ones, padded on the left or on the right.

    Examples
    --------
    >>> last_token(lambda mask: None)  # doctest: +ELLIPSIS
    not yet: ...
    """
    left = np.array([[0, 0, 1, 1], [1, 1, 1, 1]])
    right = np.array([[1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]])
    made = [((mask,), np.array(places)) for mask, places in ((left, [3, 3]), (right, [2, 0, 4]))]
    hint = "the first 1 from the right: turn each row round"
    judge(answer, iter(made), hint, "one line for either side")


def controlled_states(answer: Callable) -> None:
    """Check a function (p, n, T) -> states controlled with and without a cache.

    Parameters
    ----------
    answer : function
        Of the tokens of a prompt, those written, and the controlled states of a token;
        returns two whole numbers.

    Examples
    --------
    >>> controlled_states(lambda p, n, T: None)  # doctest: +ELLIPSIS
    not yet: ...
    """
    cases = [(5, 1, 6), (10, 20, 6), (1, 3, 24), (100, 50, 7)]
    made = (((p, n, T), (T * (p + n - 1), T * (n * p + n * (n - 1) // 2))) for p, n, T in cases)
    hint = "cached: each token once, the last one written never; else call k reads p + k, k = 0 .. n - 1"
    judge(answer, made, hint, "the cache saves the same share of the control as of the model")


def won_back(answer: Callable) -> None:
    """Check a function (clean, attacked, controlled) -> share of the lost accuracy won back.

    Parameters
    ----------
    answer : function
        Of three accuracies in one unit; returns a share.

    Examples
    --------
    >>> won_back(lambda clean, attacked, controlled: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Table 1.
    """
    from pidlib.evaluation.results import paper_table

    value = {(r["dataset"], r["attack"], r["method"]): r["accuracy"] for r in paper_table("opt")}

    def cases() -> Iterator:
        for data in ("SNLI", "MNLI"):
            clean = value[data, "None", "base"]
            for attack in ("A2T", "PSO", "TextBugger", "TextFooler"):
                hit, held = (value[data, attack, m] for m in ("base", "controlled"))
                yield (clean, hit, held), (held - hit) / (clean - hit)

    hint = "what the control adds, over what the attack took"
    judge(answer, cases(), hint, "on the paper's Table 1 it is between a quarter and a half")
