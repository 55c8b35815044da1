"""Counts, intervals and the paired test."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from scipy.stats import binom, binomtest, norm

from experiments.trial import Cell, Trial
from pidbook.evaluation.trial_results import ADAPTIVE, control_name, pack, unpack
from pidlib.evaluation.statistics import (
    Paired,
    Proportion,
    _score_interval,
    compare,
    conclude,
    holm,
)
from tests.conftest import refusals


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_the_interval_covers_as_promised(share):
    """Exact coverage of Wilson's interval over all counts, n = 300."""
    n = 300
    inside = 0.0
    for right in range(n + 1):
        low, high = Proportion(right, n).interval()
        inside += binom.pmf(right, n, share) * (low <= share <= high)
    assert 0.93 < inside < 0.97


def test_exact_test_by_hand():
    first = np.array([True] * 5 + [False] * 20)
    second = np.array([False] * 1 + [True] * 16 + [False] * 8)
    paired = compare(first, second)
    assert (paired.won, paired.lost, paired.n) == (12, 1, 25)
    assert paired.p == pytest.approx(2 * binom.cdf(1, 13, 0.5))
    assert paired.gain == pytest.approx(11 / 25)
    low, high = paired.interval()
    assert low < paired.gain < high and low > 0


def score_of(gain: float, won: int, lost: int, n: int) -> float:
    """Score statistic of a gain by maximising the likelihood numerically, as a second method."""

    def deviance(lose: float) -> float:
        same = xlogy(n - won - lost, 1 - 2 * lose - gain)
        return -xlogy(won, lose + gain) - xlogy(lost, lose) - same

    ends = max(0.0, -gain), (1 - gain) / 2
    lose = minimize_scalar(deviance, bounds=ends, method="bounded", options={"xatol": 1e-12}).x
    return (won - lost - n * gain) / np.sqrt(n * (2 * lose + gain - gain**2))


@pytest.mark.parametrize(
    ("won", "lost", "n"), [(40, 20, 160), (9, 30, 100), (3, 5, 900), (70, 1, 90)]
)
def test_tangos_interval_ends_where_the_score_does(won, lost, n):
    ends = _score_interval(won, lost, n, 0.95)
    assert [score_of(end, won, lost, n) for end in ends] == pytest.approx([1.96, -1.96], abs=1e-3)


@pytest.mark.parametrize("n", [1, 30, 300])
def test_the_interval_of_nothing_won_or_lost_has_a_width(n):
    z = norm.ppf(0.975) ** 2
    assert Paired(0, 0, n, 1.0).interval() == pytest.approx((-z / (n + z), z / (n + z)))


def test_an_interval_leaves_zero_out_where_the_exact_test_does():
    for differing, extra in product(range(25), (0, 500)):
        for won in range(differing + 1):
            n, lost = max(1, differing + extra), differing - won
            p = binomtest(min(won, lost), differing).pvalue if differing else 1.0
            low, high = Paired(won, lost, n, p).interval()
            assert (low > 1e-12 or high < -1e-12) == (p < 0.05), (won, lost, n)
            assert -1 <= low <= (won - lost) / n <= high <= 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holms_correction(p):
    """As its definition says: rejected at every level is what the step-down procedure rejects."""
    corrected = holm(p)
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for k in sorted(range(len(p)), key=lambda k: p[k]):
            if p[k] * (len(p) - len(rejected)) > level:
                break
            rejected.add(k)
        assert {k for k in range(len(p)) if corrected[k] <= level} == rejected


def test_the_word_is_that_of_the_exact_test_after_correction():
    a, b, c = Paired(9, 1, 100, 0.0215), Paired(1, 9, 100, 0.0215), Paired(4, 4, 2000, 1)
    assert conclude({"a": a}) == {"a": "gain"} and conclude({"b": b}) == {"b": "loss"}
    three = conclude({"a": a, "b": b, "c": c})
    assert three == {"a": "open", "b": "open", "c": "none within 2"}
    assert conclude({"c": c}, margin=0.001) == {"c": "open"}


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_paired_is_antisymmetric_and_sums_up(pairs):
    first, second = np.array(pairs).T
    there, back = compare(first, second), compare(second, first)
    assert there.gain == -back.gain and there.p == back.p
    assert there.gain == pytest.approx(second.mean() - first.mean())


@given(st.lists(st.booleans(), min_size=1, max_size=70))
def test_pack_and_back(bits):
    assert unpack(pack(np.array(bits)), len(bits)).tolist() == bits


IMPOSSIBLE = [
    (lambda: Proportion(-1, 3), "make no proportion"),
    (lambda: Proportion(4, 3), "make no proportion"),
    (lambda: Proportion(0, 0), "make no proportion"),
    (lambda: Paired(5, 0, 4, 0.1).interval(), "5 won and 0 lost of 4 rows"),
    (lambda: compare(np.ones(2), np.ones(3)), "cannot pair 2 answers with 3"),
    (lambda: compare(np.ones(0), np.ones(0)), "cannot pair 0"),
    (lambda: unpack("a0", 9), "2 digits cannot hold 9 answers"),
]


test_impossible_counts_are_named = refusals(IMPOSSIBLE)


def test_trial_settings():
    assert control_name("P-D", 0.95) == "P-D 95 %"
    assert Trial(data="snli-test").name == "trial-snli-test-minilm-nli"
    pso, a2t = Cell("", "pso"), Cell("", "a2t")
    assert Trial(n=7).attacked(pso) == Trial(n=7).attacked(a2t) == 7
    assert Trial(n=2000).attacked(pso) == 1000 and Trial(n=2000).attacked(a2t) == 2000
    assert Trial(n=2000, adaptive_n=300).attacked(Cell(ADAPTIVE, "a2t")) == 300
