"""Counts, intervals and the paired test."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from experiments.trial import Cell, Trial
from pidlib.evaluation.accuracy import Proportion, compare
from pidlib.evaluation.trial_results import ADAPTIVE, control_name, pack, unpack


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_the_interval_covers_as_promised(share):
    """Exact coverage of Wilson's interval over all counts, n = 300."""
    n = 300
    inside = 0.0
    for right in range(n + 1):
        low, high = Proportion(right, n).interval()
        inside += binom.pmf(right, n, share) * (low <= share <= high)
    assert 0.93 < inside < 0.97


def test_impossible_counts():
    for right, n in [(-1, 3), (4, 3), (0, 0)]:
        with pytest.raises(ValueError, match="make no proportion"):
            Proportion(right, n)


def test_exact_test_by_hand():
    first = np.array([True] * 5 + [False] * 20)
    second = np.array([False] * 1 + [True] * 16 + [False] * 8)
    paired = compare(first, second)
    assert (paired.won, paired.lost, paired.n) == (12, 1, 25)
    assert paired.p == pytest.approx(2 * binom.cdf(1, 13, 0.5))
    assert paired.gain == pytest.approx(11 / 25)
    low, high = paired.interval()
    assert low < paired.gain < high and low > 0


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_paired_is_antisymmetric_and_sums_up(pairs):
    first, second = np.array(pairs).T
    there, back = compare(first, second), compare(second, first)
    assert there.gain == -back.gain and there.p == back.p
    assert there.gain == pytest.approx(second.mean() - first.mean())


def test_nothing_to_pair():
    with pytest.raises(ValueError, match="cannot pair 2 answers with 3"):
        compare(np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="cannot pair 0"):
        compare(np.ones(0), np.ones(0))


@given(st.lists(st.booleans(), min_size=1, max_size=70))
def test_pack_and_back(bits):
    assert unpack(pack(np.array(bits)), len(bits)).tolist() == bits


def test_unpack_refuses_another_length():
    with pytest.raises(ValueError, match="2 digits cannot hold 9 answers"):
        unpack("a0", 9)


def test_trial_settings():
    assert control_name("P-D", 0.95) == "P-D 95 %"
    assert Trial(data="snli-test").name == "trial-snli-test-minilm-nli"
    pso, a2t = Cell("", "pso"), Cell("", "a2t")
    assert Trial(n=7).attacked(pso) == Trial(n=7).attacked(a2t) == 7
    assert Trial(n=2000).attacked(pso) == 1000 and Trial(n=2000).attacked(a2t) == 2000
    assert Trial(n=2000, adaptive_n=300).attacked(Cell(ADAPTIVE, "a2t")) == 300
