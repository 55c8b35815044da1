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
