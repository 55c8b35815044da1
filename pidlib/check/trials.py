"""Exercises on robustness tables, schemes and fair trials that check themselves."""

from __future__ import annotations

import numpy as np

from pidlib.check.judge import Answer, Cases, exercise
from pidlib.theory.gains import attenuation
from pidlib.theory.systems import orthogonal_system


@exercise("scale each row of the random vectors to the norm of that row of u")
def same_size(answer: Answer) -> Cases:
    """Check a function (u, directions) -> placebo of the norm of u, token by token."""
    for seed in range(4):
        u, v = np.random.default_rng(seed).standard_normal((2, 5, 8))
        u[seed] = 0.0
        size = np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
        yield v * size[:, None], answer(u, v)
    return "padding has a control of 0, so its placebo is 0 too"


@exercise("100 times: mean of the control less mean over rows and placebos")
def beyond_placebo(answer: Answer) -> Cases:
    """Check a function (control, placebos) -> gain of a control over its placebos, in points."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        control, placebos = random.random(30) < 0.6, random.random((3, 30)) < 0.4
        yield 100 * (control.mean() - placebos.mean()), answer(control, placebos)
    return "resample the rows of both together for its interval"


@exercise("won - lost = n gain and won + lost = n flips; solve for n")
def rows_needed(answer: Answer) -> Cases:
    """Check a function (gain, flips) -> fewest rows that show a gain at 95 %."""
    for gain, flips in ((0.02, 0.2), (0.05, 0.3), (0.1, 0.3), (0.01, 0.1)):
        yield np.ceil(round(3.84 * flips / gain**2, 9)), answer(gain, flips)
    return "half the gain needs four times the rows"


@exercise("add up gain times projection, then apply to x, then -(1 - alpha)")
def scheme_control(answer: Answer) -> Cases:
    """Check a function (x, projections, gains, alpha) -> u of a scheme."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        bases = [np.linalg.qr(random.standard_normal((6, 3)))[0] for _ in range(1 + seed % 3)]
        projections = [np.eye(6) - V @ V.T for V in bases]
        gains, x = random.random(len(bases)), random.standard_normal(6)
        total = sum(gain * Q for gain, Q in zip(gains, projections, strict=True))
        yield -0.8 * total @ x, answer(x, projections, list(gains), 0.2)
    return "with gains that sum to 1 no direction is overshot"


@exercise("count the terms; half a point each, or one in all")
def total_gain(answer: Answer) -> Cases:
    """Check a function (scheme, rule) -> sum of the gains."""
    for scheme in ("P", "P-I", "P-D", "P-I-D"):
        yield 0.5 * len(scheme.split("-")), answer(scheme, "paper")
        yield 1.0, answer(scheme, "normalised")
    return "so P against P-D also compares 0.5 against 1"


@exercise("count each label; the most frequent one, over all rows")
def constant_accuracy(answer: Answer) -> Cases:
    """Check a function labels -> accuracy of the best answer that never changes."""
    for seed in range(4):
        labels = np.random.default_rng(seed).choice(3, size=50, p=[0.5, 0.3, 0.2])
        yield np.bincount(labels).max() / 50, answer(labels.tolist())
    return "what a model has to beat before its changes mean anything"


@exercise("add up all gains in rows, then divide by all rows")
def pooled_gain(answer: Answer) -> Cases:
    """Check a function counts -> gain in points over all sets together."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        counts = random.integers([20, 20, 90], [80, 80, 200], (3, 3))
        before, after, n = counts.sum(axis=0)
        yield 100 * (after - before) / n, answer([tuple(row) for row in counts.tolist()])
    return "a mean of means would let small sets count for more"


@exercise("a text counts when its whole column is right; then the mean over the texts")
def worst_case(answer: Answer) -> Cases:
    """Check a function right -> share of texts that withstand every attack."""
    for seed in range(4):
        right = np.random.default_rng(seed).random((3, 40)) < 0.7
        yield right.all(axis=0).mean(), answer(right)
    return "it is at most the smallest accuracy, and usually below it"


@exercise("each text by itself first: all of its runs must fail; then the mean")
def withstanding(answer: Answer) -> Cases:
    """Check a function (chances, runs) -> share of texts that an attack run `runs` times leaves."""
    for seed in range(4):
        chances = np.random.default_rng(seed).random(30)
        yield np.mean((1 - chances) ** (seed + 1)), answer(chances, seed + 1)
    return "texts differ, so more is left than the mean chance would say"


@exercise("the mean of x - V_P V_P' x and x - V_D V_D' x, times -(1 - alpha)")
def pd_control(answer: Answer) -> Cases:
    """Check a function (x, V_P, V_D, alpha) -> u, the averaged P-D control of one state."""
    for seed in range(4):
        V_P, V_D = (orthogonal_system(7, 3, 1, seed + k).bases[0] for k in (0, 50))
        random = np.random.default_rng(seed)
        x, alpha = random.standard_normal(7), random.random()
        Q = np.eye(7) - (V_P @ V_P.T + V_D @ V_D.T) / 2
        yield -(1 - alpha) * Q @ x, answer(x, V_P, V_D, alpha)
    return "two thin products per state, and no d x d matrix"


@exercise("start at lambda_6 = 0, go back to layer 0, multiply the six alphas")
def six_layers(answer: Answer) -> Cases:
    """Check the share of a norm off the subspace that six layers leave at c = 1."""
    yield attenuation(6, 1.0)[-1], answer()
    return "1/233, a Fibonacci number"


@exercise("won: first wrong and second right; lost: the other way round")
def paired_counts(answer: Answer) -> Cases:
    """Check a function (first, second) -> (won, lost, gain in points)."""
    for seed in range(4):
        first, second = np.random.default_rng(seed).random((2, 40)) < 0.6
        won, lost = (~first & second).sum(), (first & ~second).sum()
        yield (won, lost, 100 * (won - lost) / 40), answer(first, second)
    return "rows on which both agree say nothing about which is better"
