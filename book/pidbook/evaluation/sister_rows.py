"""Pairs in which one noun becomes a sister: another thing that a defence writes as the same word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pidbook.evaluation.contrast import TEXTS, Contrast
from pidbook.evaluation.contrast_rows import (
    BEFORE_NOUNS,
    THINGS,
    dictionary_forms,
    entailed_pairs,
    is_implied,
    is_noun,
    needs_other_article,
    small_words,
)
from pidlib.attacks.inflections import lemmas
from pidlib.attacks.wordnet import WordNet


def sisters(
    rows: Sequence[Mapping[str, Any]],
    ids: Sequence[int],
    wordnet: WordNet,
    groups: Mapping[str, Sequence[str]],
    seed: int = 0,
) -> list[Contrast]:
    """Return one edit of each entailed pair, and of each premise beside itself, that has a sister.

    `groups` are those of an encoding, by their representative. A noun of the hypothesis that stands
    in the premise too becomes another word of its group, inflected as it stands there. By WordNet
    the two are things, not persons, share no meaning, and neither is wider; no word of the premise
    implies the new one. So entailment is lost. The seed and the row's id choose among the edits.
    """
    group = {word: words for words in groups.values() for word in words}
    edits = []
    for place, which, pair in entailed_pairs(rows, ids):
        allowed = sorted(_allowed(*pair, wordnet, group))
        if allowed:
            random = np.random.default_rng((seed, place, which))
            k, new = allowed[int(random.integers(len(allowed)))]
            edits.append(Contrast(place, TEXTS[which], k, new, "sister"))
    return edits


def _allowed(
    premise: str, hypothesis: str, wordnet: WordNet, group: Mapping[str, Sequence[str]]
) -> Iterator[tuple[int, str]]:
    """Every edit: place of the noun, and its sister."""
    words, context = small_words(hypothesis), set(small_words(premise))
    barred = dictionary_forms(context | set(words))
    for k, word in enumerate(words):
        if not k or words[k - 1] not in BEFORE_NOUNS or word not in context or not is_noun(word):
            continue
        for new in group.get(word, ()):
            apart = not barred & lemmas(new) and are_apart(word, new, wordnet)
            fits = word.endswith("s") == new.endswith("s")
            fits &= not needs_other_article(words[k - 1], new)
            if apart and fits and not is_implied(new, context, wordnet):
                yield k, new


def are_apart(word: str, other: str, wordnet: WordNet) -> bool:
    """Whether two nouns are things that share no meaning, and neither is wider than the other."""
    for noun in (word, other):
        if not is_noun(noun) or not any(wordnet.subject(base) in THINGS for base in lemmas(noun)):
            return False
    own, its = (
        {place for base in lemmas(noun) for place in wordnet.meanings(base)}
        for noun in (word, other)
    )
    above_own, above_its = (
        {place for base in lemmas(noun) for place in wordnet.above(base)} for noun in (word, other)
    )
    return bool(own and its) and not own & above_its and not its & above_own
