"""Exercises on attacks that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pidlib.check.judge import judge


def attack_rates(answer: Callable) -> None:
    """Check a function statuses -> (accuracy before, accuracy after, success rate).

    Parameters
    ----------
    answer : function
        Of a list of "succeeded", "failed" and "skipped"; returns three shares from 0 to 1.

    Examples
    --------
    >>> attack_rates(lambda statuses: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: §3.1.
    """

    def cases() -> Iterator:
        for seed in range(5):
            drawn = np.random.default_rng(seed).choice(3, size=20 + seed, p=[0.5, 0.3, 0.2])
            statuses = [("succeeded", "failed", "skipped")[k] for k in drawn]
            won, kept, n = statuses.count("succeeded"), statuses.count("failed"), len(statuses)
            yield (statuses,), ((won + kept) / n, kept / n, won / (won + kept))

    hint = "skipped rows were wrong before; only the others were attacked"
    judge(answer, cases(), hint, "a success rate hides the skipped rows, so say which one you mean")


def word_order(answer: Callable) -> None:
    """Check a function (p, without) -> order of the words by importance.

    Parameters
    ----------
    answer : function
        Of the probability of the true label and a (W,) array of it with each word deleted;
        returns the W word numbers, most important first.

    Examples
    --------
    >>> word_order(lambda p, without: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Jin et al. 2020, Algorithm 1.
    """

    def cases() -> Iterator:
        for seed in range(5):
            without = np.random.default_rng(seed).permutation(9) / 10 + 0.05
            yield (0.9, without), np.argsort(without)

    hint = "the lower p falls without a word, the more it mattered"
    judge(answer, cases(), hint, "deleting costs one query a word, a gradient one pass in all")


def tokens_of_word(answer: Callable) -> None:
    """Check a function (start, end, offsets) -> numbers of the tokens of a word.

    Parameters
    ----------
    answer : function
        Of the word's first and last character and an (l, 2) array of first and last
        characters of tokens, (0, 0) for special ones; returns a list of numbers.

    Examples
    --------
    >>> tokens_of_word(lambda start, end, offsets: None)  # doctest: +ELLIPSIS
    not yet: ...
    """
    offsets = np.array([[0, 0], [0, 1], [2, 5], [5, 7], [8, 10], [11, 14], [14, 17], [0, 0]])

    def cases() -> Iterator:
        for start, end, wanted in ((2, 7, [2, 3]), (0, 1, [1]), (8, 10, [4]), (11, 17, [5, 6])):
            yield (start, end, offsets), wanted

    hint = "tokens that are not empty and lie within the word's characters"
    judge(answer, cases(), hint, "their mean is the state of the word")
