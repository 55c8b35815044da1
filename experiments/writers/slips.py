"""Slips of a writer in a prompt: typing errors, and three that no dictionary mends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from pidbook.estimation.spelling import speller
from pidlib.data.edits import Edit, words_of
from pidlib.data.perturbations import RandomEdits

SLIPS = ("typos", "other words", "swapped words", "missing words")
FITTED = SLIPS[:3]  # controls are fitted on these; the last they have never seen
FUNCTION_WORDS = frozenset(
    "a an the this that these those of to in on at by for with from into over under and or but as "
    "is are was were be been has have had do does did it its he she they his her their there not "
    "who which while".split()
)
COMMON = 2e7  # times that a word has to stand in the dictionary's texts to be written by mistake


@dataclass(frozen=True)
class Slips:
    """Random slips in a row's prompt; its continuation stays as it is.

    `kind` is one of `SLIPS`, or "mixed" for one of `FITTED` drawn for each row; `edits` of them in a
    row that has room for so many.
    """

    kind: str = "typos"
    edits: int = 2

    def __post_init__(self) -> None:
        if self.kind not in (*SLIPS, "mixed"):
            raise ValueError(f"unknown slip {self.kind!r}; known: {[*SLIPS, 'mixed']}")

    def __call__(self, row: Mapping[str, Any], random: np.random.Generator) -> tuple[Edit, ...]:
        """Draw the edits of a row."""
        kind = str(random.choice(FITTED)) if self.kind == "mixed" else self.kind
        prompt = {"premise": row["premise"]}
        if kind == "typos":
            return RandomEdits("typos", self.edits)(prompt, random)
        words = [word for _, _, word in words_of(prompt)]
        edits: dict[int, str] = {}
        for k in random.permutation(len(words)).tolist():
            if len(edits) >= self.edits:
                break
            for place, new in _slip(kind, words, k, random).items():
                edits.setdefault(place, new)
        return tuple(Edit("premise", k, new) for k, new in sorted(edits.items()))


def _slip(kind: str, words: list[str], k: int, random: np.random.Generator) -> dict[int, str]:
    """Words at their places after a slip at word k; none where it allows none."""
    if kind == "swapped words":
        if k + 1 == len(words) or words[k] == words[k + 1]:
            return {}
        return {k: words[k + 1], k + 1: words[k]}
    if kind == "missing words":
        return {k: ""} if k and words[k].lower() in FUNCTION_WORDS else {}
    others = _neighbours(words[k].lower())
    if not others:
        return {}
    new = str(random.choice(others))
    return {k: new.capitalize() if words[k][0].isupper() else new}


@cache
def _neighbours(word: str) -> tuple[str, ...]:
    """Common words one letter away: no dictionary tells that they are wrong."""
    from symspellpy import Verbosity

    if not word.isalpha():
        return ()
    near = speller().lookup(word, Verbosity.ALL, max_edit_distance=1)
    return tuple(sorted(s.term for s in near if s.term != word and _common(s)))


def _common(suggestion: Any) -> bool:
    """Whether a word is common, and no abbreviation or foreign article."""
    term = suggestion.term
    return suggestion.count > COMMON and (len(term) > 2 or term in FUNCTION_WORDS)
