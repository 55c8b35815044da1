"""One-word edits that keep entailment: a wider word, or a smaller number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from pidbook.evaluation.contrast_rows import (
    BEFORE_NOUNS,
    COMMON,
    DENIALS,
    ENTAILED,
    NUMBERS,
    VAGUE,
    small_words,
)
from pidlib.attacks.inflections import inflected_like, lemmas, parts_of_speech
from pidlib.attacks.wordnet import WordNet
from pidlib.data.edits import Edit, rebuild, word_spans

STEPS = 3  # up WordNet's nouns, from the first sense
EMPTY = VAGUE | set(
    "container containers device devices equipment group groups part parts unit".split()
)


def kept_pairs(
    rows: Sequence[Mapping[str, Any]], ids: Sequence[int], wordnet: WordNet, seed: int = 0
) -> list[dict[str, Any]]:
    """Return pairs that stay entailed after one word of the hypothesis has changed.

    The pairs before are entailed rows, and premises beside themselves; one edit each, drawn by the
    seed and the row's id. A pair with a word such as "not" is left out: there a wider word may turn
    the answer. `rows` are all of the file, and tell which words are common. Rows have `premise`,
    `hypothesis`, `label` (0, entailment), `kind` ("wider" or "smaller") and `id`.
    """
    common = _common(rows)
    found, seen = [], set()
    for place in ids:
        row = rows[place]
        for which, text in enumerate(("premise", "hypothesis")):
            pair = row["premise"], row[text]
            entailed = text == "premise" or row["label"] == ENTAILED
            if not entailed or pair in seen or DENIALS & set(small_words(" ".join(pair))):
                continue
            seen.add(pair)
            allowed = sorted(set(_allowed(row[text], wordnet, common)))
            if not allowed:
                continue
            random = np.random.default_rng((seed, place, which))
            k, new, kind = allowed[int(random.integers(len(allowed)))]
            bare = {"premise": row["premise"], "hypothesis": row[text], "label": ENTAILED}
            found.append(
                rebuild(bare, [Edit("hypothesis", k, _cased(row[text], k, new))])
                | {"kind": kind, "id": place}
            )
    return found


def _allowed(text: str, wordnet: WordNet, common: frozenset[str]) -> Iterator[tuple[int, str, str]]:
    """Every edit: place of the word, what replaces it, kind."""
    words = small_words(text)
    for k, word in enumerate(words):
        before = words[k - 1] if k else ""
        after = words[k + 1] if k + 1 < len(words) else ""
        if word in NUMBERS:
            for new in NUMBERS[: NUMBERS.index(word)]:
                yield k, new, "smaller"
        elif "NOUN" in parts_of_speech(after) and after not in BEFORE_NOUNS:
            continue  # "biker helmet": the first noun is no thing of its own
        elif before in BEFORE_NOUNS and "NOUN" in parts_of_speech(word):
            for new in _wider(word, wordnet) & common - set(words):
                vowel = new[0] in "aeiou"
                if not (before == "a" and vowel or before == "an" and not vowel):
                    yield k, new, "wider"


def _cased(text: str, k: int, new: str) -> str:
    """The new word, with a capital where the old one has it."""
    start, _ = word_spans(text)[k]
    return new.capitalize() if text[start].isupper() else new


@cache
def _wider(word: str, wordnet: WordNet) -> frozenset[str]:
    """Nouns above a word's first sense, inflected like it."""
    found: set[str] = set()
    for base in lemmas(word):
        places = set(wordnet.meanings(base)[:1])
        for _ in range(STEPS):
            places = {up for p in places for up in wordnet.synset("noun", p).wider}
            for synset in (wordnet.synset("noun", p) for p in places):
                for name in synset.words:
                    if wordnet.meanings(name)[:1] and wordnet.meanings(name)[0] in places:
                        found.update(inflected_like(name, word))
    return frozenset(found) - EMPTY


def _common(rows: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Words that several premises hold."""
    spoken: Counter[str] = Counter()
    for premise in {row["premise"] for row in rows}:
        spoken.update(set(small_words(premise)))
    return frozenset(word for word, times in spoken.items() if times >= COMMON)
