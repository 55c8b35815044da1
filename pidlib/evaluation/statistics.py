"""Counts and paired comparisons of right answers: intervals, exact tests, and the word for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np

KEPT = 500  # values of which the resamples are kept, at most 40 MB of them


@dataclass(frozen=True)
class Proportion:
    """Right answers out of `n`.

    Attributes
    ----------
    right, n : int

    Examples
    --------
    >>> print(Proportion(81, 100))
    81.0 % [72.2, 87.5] (81/100)
    """

    right: int
    n: int

    def __post_init__(self) -> None:
        if not 0 <= self.right <= self.n or self.n < 1:
            raise ValueError(f"{self.right} right answers of {self.n} make no proportion")

    @property
    def value(self) -> float:
        """Share of right answers, from 0 to 1."""
        return self.right / self.n

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Wilson's interval for the share, from 0 to 1."""
        from scipy.stats import binomtest  # slow to import

        ends = binomtest(self.right, self.n).proportion_ci(confidence, method="wilson")
        return float(ends.low), float(ends.high)

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{100 * self.value:.1f} % [{100 * low:.1f}, {100 * high:.1f}] ({self.right}/{self.n})"
        )


@dataclass(frozen=True)
class Paired:
    """Two models on the same rows; `p` is that of the exact two-sided McNemar test.

    Attributes
    ----------
    won, lost, n, p : int, int, int, float
        Rows that only the second, or only the first, model gets right; all rows.

    Examples
    --------
    >>> print(Paired(won=4, lost=0, n=300, p=0.125))
    +1.3 points [-0.3, +3.4] (4 won, 0 lost, p = 0.12)
    """

    won: int
    lost: int
    n: int
    p: float

    @property
    def gain(self) -> float:
        """Accuracy of the second model minus that of the first, from -1 to 1."""
        return (self.won - self.lost) / self.n

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Interval for the gain, from -1 to 1; it leaves 0 out where the exact test does, and only there.

        The smallest that holds Tango's score interval and the exact one of Clopper and Pearson for
        the rows that differ. The first has a width where no row differs, the second agrees with the
        exact test. Of one comparison: `conclude` corrects for several.

        Source: Tango 1998, Clopper & Pearson 1934.
        """
        if self.n < 1 or min(self.won, self.lost) < 0 or self.won + self.lost > self.n:
            raise ValueError(
                f"{self.won} won and {self.lost} lost of {self.n} rows make no interval"
            )
        low, high = _score_interval(self.won, self.lost, self.n, confidence)
        if differing := self.won + self.lost:
            from scipy.special import betaincinv  # slow to import

            tail = (1 - confidence) / 2
            least = betaincinv(self.won, self.lost + 1, tail) if self.won else 0
            most = betaincinv(self.won + 1, self.lost, 1 - tail) if self.lost else 1
            low = min(low, (2 * least - 1) * differing / self.n)
            high = max(high, (2 * most - 1) * differing / self.n)
        return float(low), float(high)

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{100 * self.gain:+.1f} points [{points_of(low)}, {points_of(high)}] "
            f"({self.won} won, {self.lost} lost, p {'= ' if self.p else '< '}"
            f"{self.p or 1e-300:.2g})"
        )


def _score_interval(won: int, lost: int, n: int, confidence: float) -> tuple[float, float]:
    """Tango's interval: gains at which what is seen lies within z standard errors."""
    from scipy.optimize import brentq  # slow to import
    from scipy.special import ndtri

    seen, z = (won - lost) / n, ndtri((1 + confidence) / 2)

    def errors(gain: float) -> float:
        """Standard errors from `gain` to the gain seen, with the likeliest share of lost rows."""
        linear = (2 * n - won + lost) * gain - won - lost
        root = sqrt(linear**2 + 8 * n * lost * gain * (1 - gain))
        variance = n * ((root - linear) / (2 * n) + gain * (1 - gain))
        return n * (seen - gain) / sqrt(variance) if gain != seen else 0.0

    edge = 1 - 1e-12  # the variance is 0 at a gain of 1
    low = -1.0 if seen == -1 else brentq(lambda gain: errors(gain) - z, -edge, seen)
    high = 1.0 if seen == 1 else brentq(lambda gain: errors(gain) + z, seen, edge)
    return low, high


def points_of(share: float) -> str:
    """An end of an interval in points, with a second decimal where the first would make it 0."""
    return f"{100 * share:+.{1 + (abs(share) < 5e-4)}f}"


def bootstrap(differences: np.ndarray, confidence: float = 0.95) -> tuple[float, float]:
    """Percentile interval (low, high) for the mean of paired differences, by resampling rows.

    Parameters
    ----------
    differences : (N,) floats
    confidence : float, above 0 and below 1

    Returns
    -------
    tuple of float

    Examples
    --------
    >>> [round(end, 2) for end in bootstrap(np.repeat([1.0, 0.0, -1.0], [30, 60, 10]))]
    [0.08, 0.31]

    Source: Efron & Tibshirani 1993. 10,000 resamples from a fixed seed.
    """
    values, counts = np.unique(np.asarray(differences, float), return_counts=True)
    if values.size == 0:
        raise ValueError("there are no differences to resample: give at least one row")
    resamples = _resamples if values.size <= KEPT else _resamples.__wrapped__
    draws = resamples(tuple(counts.tolist())) @ values / counts.sum()
    tail = 50 * (1 - confidence)
    low, high = np.percentile(draws, [tail, 100 - tail])
    return float(low), float(high)


@lru_cache(maxsize=4)
def _resamples(counts: tuple[int, ...]) -> np.ndarray:
    """How often 10,000 resamples hold each of some values that stand there so often."""
    n = sum(counts)
    return np.random.default_rng(0).multinomial(n, np.array(counts) / n, 10_000).astype(float)


def compare(first: np.ndarray, second: np.ndarray) -> Paired:
    """Compare two models' right answers, row by row.

    Parameters
    ----------
    first, second : (N,) bool arrays

    Returns
    -------
    Paired

    Examples
    --------
    >>> compare(np.array([1, 1, 0, 0], bool), np.array([1, 1, 1, 1], bool)).p
    0.5

    Source: exact McNemar test. The paper compares its accuracies without a test.
    """
    first, second = np.asarray(first, bool), np.asarray(second, bool)
    if first.shape != second.shape or first.size == 0:
        raise ValueError(f"cannot pair {first.size} answers with {second.size}")
    won, lost = int((~first & second).sum()), int((first & ~second).sum())
    from scipy.stats import binomtest  # slow to import

    p = float(binomtest(min(won, lost), won + lost).pvalue) if won + lost else 1.0
    return Paired(won, lost, first.size, p)


def holm(p: Sequence[float]) -> np.ndarray:
    """Correct p values of tests that stand beside each other.

    Parameters
    ----------
    p : (K,) sequence of float, from 0 to 1

    Returns
    -------
    (K,) float array, from 0 to 1
        The smallest p is multiplied by K, the next by K - 1, and so on; none is below one before it.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.02]).round(2).tolist()
    [0.03, 0.04, 0.04]

    Source: Holm 1979.
    """
    p = np.asarray(p, float)
    order = p.argsort()
    corrected = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1)
    return corrected[order.argsort()]


def conclude(pairs: Mapping[Any, Paired], margin: float = 0.02) -> dict[Any, str]:
    """Say in a word what comparisons of one trial show.

    Parameters
    ----------
    pairs : mapping of any key to Paired
        Comparisons that are read together, such as one for each attack of a trial.
    margin : float
        A gain that does not matter, as a share of the rows; fixed before the trial is run.

    Returns
    -------
    dict of key to str
        "gain" or "loss" where the exact test, after Holm's correction over all that are given, has
        p below 0.05; else "none within 2" (points) where the interval lies inside the margin; else
        "open".

    Examples
    --------
    >>> pairs = {"large": Paired(20, 2, 100, 1.2e-4), "small": Paired(4, 0, 100, 0.125)}
    >>> conclude(pairs | {"same": Paired(3, 3, 1000, 1.0)})
    {'large': 'gain', 'small': 'open', 'same': 'none within 2'}
    """
    words = {}
    for (key, pair), p in zip(pairs.items(), holm([of.p for of in pairs.values()]), strict=True):
        if p < 0.05:
            words[key] = "gain" if pair.gain > 0 else "loss"
        else:
            words[key] = unshown(*pair.interval(), margin)
    return words


def unshown(low: float, high: float, margin: float = 0.02) -> str:
    """Say of a difference that is not shown whether its interval lies inside the margin."""
    return f"none within {100 * margin:g}" if -margin < low and high < margin else "open"
