"""Exercises on controlled models that check themselves."""

from __future__ import annotations

from itertools import product

import numpy as np

from pidlib.check.judge import Answer, Cases, exercise


@exercise("split z into V V^T z and the rest; only the rest fades, with a")
def predicted_norm(answer: Answer) -> Cases:
    """Check a function (z, V, a) -> errors that Theorem 1 predicts for one token."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        V = np.linalg.qr(random.standard_normal((6, 2)))[0]
        z, a = random.standard_normal(6), 0.5 ** np.arange(4)
        on = np.sum((V.T @ z) ** 2)
        yield np.sqrt(on + a**2 * (z @ z - on)), answer(z, V, a)
    return "add squares, then take the root"


@exercise("np.linalg.svd gives singular values; square them; std over mean")
def singular_spread(answer: Answer) -> Cases:
    """Check a function (J) -> coefficient of variation of the squared singular values."""
    for seed in range(4):
        J = np.random.default_rng(seed).standard_normal((5, 5))
        J = 2 * np.linalg.qr(J)[0] if seed == 0 else J
        squares = np.linalg.svd(J, compute_uv=False) ** 2
        yield squares.std() / squares.mean(), answer(J)
    return "use the squares of the singular values"


@exercise("v enters its own loss, u = v - x, and next_u = next_v - F(v)")
def state_gradient(answer: Answer) -> Cases:
    """Check a function (v, u, next_u, W, A, c) -> derivative of the cost in v."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        v, u, after = random.standard_normal((3, 4))
        root, J = random.standard_normal((2, 4, 4))
        W, c = root @ root.T, 0.1 + seed
        yield W @ v + c * u - c * J.T @ after, answer(v, u, after, W, J, c)
    return "where this is zero, c u is the costate"


@exercise("2 d^2 for each control, 24 d^2 + 4 l d for each block; k of T")
def least_ratio(answer: Answer) -> Cases:
    """Check a function (k, T, d, tokens) -> least ratio of times with and without control."""
    for k, T, d, tokens in ((5, 6, 768, 32), (7, 24, 2048, 32), (1, 1, 16, 400), (3, 12, 768, 1)):
        yield 1 + k / T * 2 * d**2 / (24 * d**2 + 4 * tokens * d), answer(k, T, d, tokens)
    return "long texts make the control cheaper, in proportion"


@exercise("compare d d with 2 d m; m is r_P + r_D, or 2 d - r_P - r_D")
def cheapest(answer: Answer) -> Cases:
    """Check a function (r_P, r_D, d) -> least multiplications a token of P-D control."""
    for p, q, d in ((10, 20, 100), (16, 48, 100), (95, 90, 100), (20, 30, 100), (60, 70, 100)):
        yield min(d * d, 2 * d * min(p + q, 2 * d - p - q)), answer(p, q, d)
    return "thin only where the ranks sum to under d / 2, or over 3 d / 2"


@exercise("the first 1 from the right: turn each row round")
def last_token(answer: Answer) -> Cases:
    """Check a function (mask) -> place of the last real token of each row."""
    left = np.array([[0, 0, 1, 1], [1, 1, 1, 1]])
    right = np.array([[1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]])
    yield [3, 3], answer(left)
    yield [2, 0, 4], answer(right)
    return "one line for either side"


@exercise(
    "cached: each token once, the last one written never; else call k reads p + k, k = 0 .. n - 1"
)
def controlled_states(answer: Answer) -> Cases:
    """Check a function (p, n, T) -> states controlled with and without a cache."""
    for p, n, T in ((5, 1, 6), (10, 20, 6), (1, 3, 24), (100, 50, 7)):
        yield (T * (p + n - 1), T * (n * p + n * (n - 1) // 2)), answer(p, n, T)
    return "the cache saves the same share of the control as of the model"


@exercise("what the control adds, over what the attack took")
def won_back(answer: Answer) -> Cases:
    """Check a function (clean, attacked, controlled) -> share of the lost accuracy won back."""
    from pidlib.io.assets import paper_table

    value = {(r["dataset"], r["attack"], r["method"]): r["accuracy"] for r in paper_table("opt")}
    attacks = ("A2T", "PSO", "TextBugger", "TextFooler")
    for data, attack in product(("SNLI", "MNLI"), attacks):
        clean = value[data, "None", "base"]
        attacked, controlled = (value[data, attack, m] for m in ("base", "controlled"))
        share = (controlled - attacked) / (clean - attacked)
        yield share, answer(clean, attacked, controlled)
    return "on the paper's Table 1 it is between a quarter and a half"
