"""The certificate of a smoothed answer, against every text of small languages."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pidbook.evaluation.certificates import certified, smoothing_shift, total_variation

WORDS, LENGTH, LABELS = "abcde", 3, 3


class Language:
    """Five words, what may stand for each, what the smoothing draws, and a model of all texts."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.swaps = {w: self._near(random, w, 1) for w in WORDS}
        self.drawn = {w: self._near(random, w, 3) for w in WORDS}
        self.sure = random.integers(LABELS)  # the label that a share of all texts has
        answers = random.integers(LABELS, size=(len(WORDS),) * LENGTH)
        self.answers = np.where(random.random(answers.shape) < 0.8, self.sure, answers)

    @staticmethod
    def _near(random, word, most):
        others = random.permutation([w for w in WORDS if w != word])
        return {word, *others[: random.integers(1, most + 1)]}

    def shares(self, text):
        places = [[WORDS.index(w) for w in sorted(self.drawn[word])] for word in text]
        labels = self.answers[np.ix_(*places)].ravel()
        return np.bincount(labels, minlength=LABELS) / labels.size

    def written(self, text, most):
        for other in product(*(sorted(self.swaps[word]) for word in text)):
            if sum(a != b for a, b in zip(text, other, strict=True)) <= most:
                yield other

    def shift(self, text, most):
        worst = [
            max(total_variation(self.drawn[w], self.drawn[v]) for v in self.swaps[w]) for w in text
        ]
        return smoothing_shift(worst, most)


@pytest.mark.parametrize("most", [1, 2, LENGTH])
def test_no_swap_moves_a_share_further_or_turns_a_certified_answer(most):
    found = 0
    for seed in range(12):
        language = Language(seed)
        for text in list(product(WORDS, repeat=LENGTH))[:: 5 + seed]:
            shares, shift = language.shares(text), language.shift(text, most)
            holds = certified(shares, language.sure, shift)
            found += holds and shift > 0
            for other in language.written(text, most):
                moved = language.shares(other)
                assert np.abs(moved - shares).max() <= shift + 1e-12
                if holds:
                    assert moved.argmax() == language.sure
    assert found or most > 1  # the bound is met in the test, too


def test_the_shift_of_one_word_is_reached():
    """By a model that answers 1 to just the words that only the second draw can give."""
    first, second = {"a", "b"}, {"b", "c", "d"}
    odds = [sum(word in second - first for word in words) / len(words) for words in (first, second)]
    assert odds[1] - odds[0] == pytest.approx(total_variation(first, second)) == 2 / 3


def test_on_groups_that_share_no_word_every_right_answer_is_certified():
    assert total_variation("ab", "ba") == 0 == smoothing_shift([0.0, 0.0])
    assert certified([0.34, 0.33, 0.33], 0, 0.0)
    assert not certified([0.3, 0.4, 0.3], 0, 0.0)
    assert not certified([1.0, 0.0], 0, 0.5)  # void from a half on


def test_shares_from_draws_are_certified_wrongly_as_seldom_as_promised():
    random, draws = np.random.default_rng(0), 64
    counts = random.multinomial(draws, [0.4, 0.4, 0.2], size=2000)
    wrong = sum(certified(of / draws, 0, 0.0, draws) for of in counts)
    assert wrong <= 0.05 * 2000
    assert certified([0.9, 0.05, 0.05], 0, 0.1, draws)


def test_words_that_change_most_count():
    assert smoothing_shift([0.1, 0.5, 0.2], 1) == 0.5
    assert smoothing_shift([0.1, 0.5, 0.2], 2) == pytest.approx(1 - 0.5 * 0.8)
    assert smoothing_shift([], 1) == smoothing_shift([0.5], 0) == 0


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="at least one word"):
        total_variation([], "a")
    with pytest.raises(ValueError, match="between 0 and 1"):
        smoothing_shift([1.5])
    with pytest.raises(ValueError, match="-1 words"):
        smoothing_shift([0.5], -1)
    for wrong in ({"shift": 2.0}, {"risk": 0.0}, {"draws": 0}):
        with pytest.raises(ValueError, match="out of range"):
            certified([0.6, 0.4], 0, **{"shift": 0.1} | wrong)
