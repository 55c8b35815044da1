"""Rivals that answer by random changes of the words: masks, and synonyms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from experiments.rivals.answers import Rival, random_words
from pidlib.data.edits import word_spans
from pidlib.data.perturbations import Candidates
from pidlib.evaluation.exact import choices

HYPOTHESIS, BOTH = ("hypothesis",), ("premise", "hypothesis")


def masked(
    model: Any, tokenizer: Any, share: float, columns: Sequence[str] = HYPOTHESIS, seed: int = 0
) -> Rival:
    """After RanMASK (Zeng et al., 2023), our reading: a share of words masked at random; a vote.

    Departures: the model was not trained on masked text; by the setting the premise, which no
    search here may change, is left as it is; at least one word is masked.
    """

    def change(text: str, random: np.random.Generator) -> str:
        spans = word_spans(text)
        if not spans:
            return text
        hidden = random.permutation(len(spans))[: max(1, round(share * len(spans)))]
        for k in sorted(hidden, reverse=True):
            text = text[: spans[k][0]] + tokenizer.mask_token + text[spans[k][1] :]
        return text

    summary = f"after RanMASK, our reading: {100 * share:g} % of {' and '.join(columns)} masked"
    return Rival(summary, random_words(model, tokenizer, change, columns, seed), votes=True)


def substituted(
    model: Any,
    tokenizer: Any,
    source: Candidates,
    most: int,
    seed: int = 0,
) -> Rival:
    """After SAFER (Ye, Gong & Liu, 2020), our reading: random words of the lists; a vote.

    Every word becomes one of its `most` candidates or stays, each with the same chance. Departures:
    the model was not trained on such text; candidates of a list, not neighbours of word vectors.
    """
    lists = cache(lambda text: choices(text, source, most))

    def change(text: str, random: np.random.Generator) -> str:
        of = lists(text)
        return of.written([int(random.integers(size)) for size in of.sizes])

    summary = f"after SAFER, our reading: one of {most} synonyms in hypothesis"
    return Rival(summary, random_words(model, tokenizer, change, HYPOTHESIS, seed), votes=True)
