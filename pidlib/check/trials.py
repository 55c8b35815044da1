"""Exercises on fair trials and schemes that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pidlib.check.judge import judge


def same_size(answer: Callable) -> None:
    """Check a function (u, directions) -> placebo of the norm of u, token by token.

    Parameters
    ----------
    answer : function
        Of two (l, d) arrays: the control and random vectors; returns an (l, d) array that
        points along the random vectors.

    Examples
    --------
    >>> same_size(lambda u, directions: None)  # doctest: +ELLIPSIS
    not yet: ...
    """

    def cases() -> Iterator:
        for seed in range(4):
            u, v = np.random.default_rng(seed).standard_normal((2, 5, 8))
            u[seed] = 0.0
            size = np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
            yield (u, v), v * size[:, None]

    hint = "scale each row of the random vectors to the norm of that row of u"
    judge(answer, cases(), hint, "padding has a control of 0, so its placebo is 0 too")


def beyond_placebo(answer: Callable) -> None:
    """Check a function (control, placebos) -> gain of a control over its placebos, in points.

    Parameters
    ----------
    answer : function
        Of an (N,) and a (k, N) Boolean array of right answers; returns a number.

    Examples
    --------
    >>> beyond_placebo(lambda control, placebos: None)  # doctest: +ELLIPSIS
    not yet: ...
    """

    def cases() -> Iterator:
        for seed in range(4):
            random = np.random.default_rng(seed)
            control, placebos = random.random(30) < 0.6, random.random((3, 30)) < 0.4
            yield (control, placebos), 100 * (control.mean() - placebos.mean())

    hint = "100 times: mean of the control less mean over rows and placebos"
    judge(answer, cases(), hint, "resample the rows of both together for its interval")


def rows_needed(answer: Callable) -> None:
    """Check a function (gain, flips) -> fewest rows that show a gain at 95 %.

    Parameters
    ----------
    answer : function
        Of a gain (0 to 1) and the share of rows whose answer changes (0 to 1); returns a
        whole number n with n gain² >= 3.84 flips.

    Examples
    --------
    >>> rows_needed(lambda gain, flips: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: McNemar's test, whose statistic is (won - lost)² / (won + lost).
    """

    def cases() -> Iterator:
        for gain, flips in ((0.02, 0.2), (0.05, 0.3), (0.1, 0.3), (0.01, 0.1)):
            yield (gain, flips), int(np.ceil(round(3.84 * flips / gain**2, 9)))

    hint = "won - lost = n gain and won + lost = n flips; solve for n"
    judge(answer, cases(), hint, "half the gain needs four times the rows")


def scheme_control(answer: Callable) -> None:
    """Check a function (x, projections, gains, alpha) -> u of a scheme.

    Parameters
    ----------
    answer : function
        Of a (d,) array, a list of (d, d) projections, as many gains, and a number;
        returns u = -(1 - alpha) sum_i gains_i Q_i x.

    Examples
    --------
    >>> scheme_control(lambda x, projections, gains, alpha: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Proposition 2.
    """

    def cases() -> Iterator:
        for seed in range(4):
            random = np.random.default_rng(seed)
            bases = [np.linalg.qr(random.standard_normal((6, 3)))[0] for _ in range(1 + seed % 3)]
            projections = [np.eye(6) - b @ b.T for b in bases]
            gains, x = random.random(len(bases)), random.standard_normal(6)
            total = sum(g * q for g, q in zip(gains, projections, strict=True))
            yield (x, projections, list(gains), 0.2), -0.8 * total @ x

    hint = "add up gain times projection, then apply to x, then -(1 - alpha)"
    judge(answer, cases(), hint, "with gains that sum to 1 no direction is overshot")


def total_gain(answer: Callable) -> None:
    """Check a function (scheme, rule) -> sum of the gains.

    Parameters
    ----------
    answer : function
        Of "P", "P-I", "P-D" or "P-I-D" and "paper" (0.5 for each term) or "normalised"
        (equal, summing to 1); returns a number.

    Examples
    --------
    >>> total_gain(lambda scheme, rule: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: §3.2 (gains from {0, 0.5}).
    """

    def cases() -> Iterator:
        for scheme in ("P", "P-I", "P-D", "P-I-D"):
            yield (scheme, "paper"), 0.5 * len(scheme.split("-"))
            yield (scheme, "normalised"), 1.0

    hint = "count the terms; half a point each, or one in all"
    judge(answer, cases(), hint, "so P against P-D also compares 0.5 against 1")


def constant_accuracy(answer: Callable) -> None:
    """Check a function labels -> accuracy of the best answer that never changes.

    Parameters
    ----------
    answer : function
        Of a list of labels 0, 1, 2; returns a share from 0 to 1.

    Examples
    --------
    >>> constant_accuracy(lambda labels: None)  # doctest: +ELLIPSIS
    not yet: ...
    """

    def cases() -> Iterator:
        for seed in range(4):
            labels = np.random.default_rng(seed).choice(3, size=50, p=[0.5, 0.3, 0.2])
            yield (labels.tolist(),), np.bincount(labels).max() / 50

    hint = "count each label; the most frequent one, over all rows"
    judge(answer, cases(), hint, "what a model has to beat before its changes mean anything")


def pooled_gain(answer: Callable) -> None:
    """Check a function counts -> gain in points over all sets together.

    Parameters
    ----------
    answer : function
        Of a list of (right before, right after, n), one a set; returns a number.

    Examples
    --------
    >>> pooled_gain(lambda counts: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Table 2 (the paper averages over its six sets).
    """

    def cases() -> Iterator:
        for seed in range(4):
            random = np.random.default_rng(seed)
            counts = [(int(a), int(b), int(n)) for a, b, n in random.integers([20, 20, 90],
                      [80, 80, 200], (3, 3))]  # fmt: skip
            total = sum(n for _, _, n in counts)
            yield (counts,), 100 * sum(b - a for a, b, _ in counts) / total

    hint = "add up all gains in rows, then divide by all rows"
    judge(answer, cases(), hint, "a mean of means would let small sets count for more")


def worst_case(answer: Callable) -> None:
    """Check a function right -> share of texts that withstand every attack.

    Parameters
    ----------
    answer : function
        Of a (k, N) Boolean array, right answers of N texts under each of k attacks; returns
        a share from 0 to 1.

    Examples
    --------
    >>> worst_case(lambda right: None)  # doctest: +ELLIPSIS
    not yet: ...
    """

    def cases() -> Iterator:
        for seed in range(4):
            right = np.random.default_rng(seed).random((3, 40)) < 0.7
            yield (right,), right.all(axis=0).mean()

    hint = "a text counts when its whole column is right; then the mean over the texts"
    judge(answer, cases(), hint, "it is at most the smallest accuracy, and usually below it")


def withstanding(answer: Callable) -> None:
    """Check a function (chances, runs) -> share of texts that an attack run `runs` times leaves.

    Parameters
    ----------
    answer : function
        Of an (N,) array, the chance that one run of a random attack turns each text, and the
        number of independent runs; returns the expected share that no run turns.

    Examples
    --------
    >>> withstanding(lambda chances, runs: None)  # doctest: +ELLIPSIS
    not yet: ...
    """

    def cases() -> Iterator:
        for seed in range(4):
            chances = np.random.default_rng(seed).random(30)
            yield (chances, seed + 1), np.mean((1 - chances) ** (seed + 1))

    hint = "each text by itself first: all of its runs must fail; then the mean"
    judge(answer, cases(), hint, "texts differ, so more is left than the mean chance would say")
