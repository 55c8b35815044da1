"""Exercises on attacks that check themselves."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise


@exercise("skipped rows were wrong before; only the others were attacked")
def attack_rates(answer: Answer) -> Cases:
    """Check a function statuses -> (accuracy before, accuracy after, success rate)."""
    for seed in range(5):
        drawn = np.random.default_rng(seed).choice(3, size=20 + seed, p=[0.5, 0.3, 0.2])
        statuses = [("succeeded", "failed", "skipped")[k] for k in drawn]
        won, lost, n = statuses.count("succeeded"), statuses.count("failed"), len(statuses)
        yield ((won + lost) / n, lost / n, won / (won + lost)), answer(statuses)
    return "a success rate hides the skipped rows, so say which one you mean"


@exercise("the lower p falls without a word, the more it mattered")
def word_order(answer: Answer) -> Cases:
    """Check a function (p, without) -> order of the words by importance."""
    for seed in range(5):
        without = np.random.default_rng(seed).permutation(9) / 10 + 0.05
        yield np.argsort(without), answer(0.9, without)
    return "deleting costs one query a word, a gradient one pass in all"


@exercise("tokens that are not empty and lie within the word's characters")
def tokens_of_word(answer: Answer) -> Cases:
    """Check a function (start, end, offsets) -> numbers of the tokens of a word."""
    offsets = np.array([[0, 0], [0, 1], [2, 5], [5, 7], [8, 10], [11, 14], [14, 17], [0, 0]])
    for start, end, wanted in ((2, 7, [2, 3]), (0, 1, [1]), (8, 10, [4]), (11, 17, [5, 6])):
        yield wanted, answer(start, end, offsets)
    return "their mean is the state of the word"


@exercise("the slope, times what the new word's vector differs by from the old one's")
def predicted_gains(answer: Answer) -> Cases:
    """Check a function (gradient (d,), own (d,), others (J, d)) -> first-order gain of each swap."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        g, own, others = random.normal(size=3), random.normal(size=3), random.normal(size=(4, 3))
        yield (others - own) @ g, answer(g, own, others)
    return "one gradient ranks all candidates of all words; whether the rank is right is another matter"


@exercise("of each row: no fall at all, or a fall after more than so many questions")
def rows_left(answer: Answer) -> Cases:
    """Check a function (fell: list of int or None, budget) -> rows that are right after so many questions."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        fell = [int(k) if k < 30 else None for k in random.integers(1, 40, 25)]
        for budget in (1, 10, 48):
            yield sum(k is None or k > budget for k in fell), answer(fell, budget)
    return "a number without its count of questions compares nothing"


@exercise(
    "over all pairs of a row that fell and one that held: how often the first scores higher; ties half"
)
def area_under_curve(answer: Answer) -> Cases:
    """Check a function (scores, fell) -> chance that a row that fell scores above one that held."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        scores, fell = random.integers(0, 6, 30).astype(float), random.random(30) < 0.4
        gaps = scores[fell][:, None] - scores[~fell]
        yield float(((gaps > 0) + 0.5 * (gaps == 0)).mean()), answer(scores, fell)
    return "0.5 is a coin; it asks for an order only, so scales do not matter"
