"""Exercises on controlled models that check themselves."""

from __future__ import annotations

from itertools import product

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise


@exercise(
    "split z into V V^T z and the rest; only the rest is scaled by a; a square is never negative"
)
def share_allowed(answer: Answer) -> Cases:
    """Check a function (z, V, error) -> share at which Theorem 1 predicts this error."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        V = np.linalg.qr(random.standard_normal((6, 2)))[0]
        z = random.standard_normal(6)
        on = np.sum((V.T @ z) ** 2)
        off = z @ z - on
        for share in (0.5, 0.9):
            yield share, answer(z, V, np.sqrt(on + share**2 * off))
        yield 0.0, answer(z, V, 0.9 * np.sqrt(on))
    return "no control takes away what lies inside"


@exercise("one state adds 2 d^2 / (24 d^2 + 4 l d) / T; count how many fit, at most T")
def states_within(answer: Answer) -> Cases:
    """Check a function (share, T, d, tokens) -> states that a share of extra time allows."""
    yield 7, answer(0.05, 12, 768, 32)
    yield 5, answer(0.02, 24, 2048, 32)
    yield 6, answer(0.5, 6, 768, 32)
    yield 0, answer(0.001, 6, 768, 32)
    yield 4, answer(0.03, 6, 768, 4096)
    return "long texts make each state cheaper, in proportion"


@exercise("q times the gain under attack equals 1 - q times the cost on clean text; solve for q")
def break_even(answer: Answer) -> Cases:
    """Check a function (clean, its controlled, attacked, its controlled) -> share that pays."""
    from pidbook.evaluation.paper import paper_table

    value = {(r["dataset"], r["attack"], r["method"]): r["accuracy"] for r in paper_table("opt")}
    attacks = ("A2T", "PSO", "TextBugger", "TextFooler")
    for data, attack in product(("SNLI", "MNLI"), attacks):
        four = [value[data, a, m] for a in ("None", attack) for m in ("base", "controlled")]
        cost, gain = four[0] - four[1], four[3] - four[2]
        yield cost / (cost + gain), answer(*four)
    return "on the paper's Table 1 less than a fifth of the texts, if the attacks are transferred"
