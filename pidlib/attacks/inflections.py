"""Dictionary forms, parts of speech and inflections of single words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

BASE_TAGS = ("NN", "VB", "VBP", "JJ", "RB")  # "sheep" counts as singular only


@cache
def lemmas(word: str) -> frozenset[str]:
    """Dictionary forms of a word, of whatever part of speech."""
    return frozenset(chain(*_lemmas(word).values())) or frozenset({word})


def parts_of_speech(word: str) -> frozenset[str]:
    """Parts of speech that a word can be; empty when it is in no dictionary.

    Parameters
    ----------
    word : str

    Returns
    -------
    frozenset of str, universal tags such as NOUN

    Examples
    --------
    >>> sorted(parts_of_speech("running")), sorted(parts_of_speech("qzxv"))
    (['NOUN', 'VERB'], [])
    """
    return frozenset(_lemmas(word.lower()))


def fitting(word: str, others: Iterable[str]) -> Iterator[str]:
    """Those of other words that can be of a part of speech that the word can be, known or not."""
    for other in others:
        ours, theirs = parts_of_speech(word), parts_of_speech(other)
        if not ours or not theirs or ours & theirs:
            yield other


@cache
def tags(word: str) -> frozenset[tuple[str, str]]:
    """Inflections that a word can be, as (part of speech, Penn tag)."""
    from lemminflect import getAllInflections

    inflections = {
        (part, tag)
        for part, bases in _lemmas(word).items()
        for base in bases
        for tag, forms in getAllInflections(base, part).items()
        if word in forms and (word != base or tag in BASE_TAGS)
    }
    return frozenset(inflections or {("NOUN", "NNS" if word.endswith("s") else "NN")})


@cache
def inflected_like(word: str, model: str) -> tuple[str, ...]:
    """Forms of a word that have an inflection of the model word."""
    from lemminflect import getInflection

    wanted = tags(model)
    if any(tag == "VBG" for _, tag in wanted):  # in captions, "running" is a verb
        wanted = {("VERB", "VBG")}
    forms = {
        form
        for part, tag in wanted
        for base in _lemmas(word).get(part, ())
        for form in getInflection(base, tag, inflect_oov=False)
        if form != base or tag in BASE_TAGS
    }
    return tuple(sorted(form for form in forms if re.fullmatch("[a-z]{2,}", form)))


@cache
def _lemmas(word: str) -> dict[str, tuple[str, ...]]:
    from lemminflect import getAllLemmas

    return {part: bases for part, bases in getAllLemmas(word).items() if part != "PROPN"}
