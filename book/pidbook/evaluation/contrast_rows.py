"""One-word edits that change what a sentence says, so that entailment no longer holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from pidbook.evaluation.contrast import KINDS, TEXTS, Contrast
from pidlib.attacks.inflections import inflected_like, lemmas, parts_of_speech, tags
from pidlib.attacks.wordnet import WordNet
from pidlib.data.edits import Edit, rebuild, word_spans
from pidlib.data.labels import LABELS

ENTAILED = list(LABELS).index("entailment")
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
COLOURS = ("red", "blue", "green", "yellow", "black", "white", "brown", "pink", "purple", "orange")
MALE = (
    "man men boy boys guy guys gentleman gentlemen male males he father dad son sons brother "
    "brothers husband uncle grandfather king policeman boyfriend"
).split()
FEMALE = (
    "woman women girl girls lady ladies lady ladies female females she mother mom daughter "
    "daughters sister sisters wife aunt grandmother queen policewoman girlfriend"
).split()
OTHER_SEX = dict(zip(FEMALE, MALE, strict=True)) | dict(zip(MALE, FEMALE, strict=True))
CONTRARIES = tuple(
    pair.split("/")
    for pair in (
        "inside/outside indoors/outdoors indoor/outdoor inside/outdoors indoors/outside young/old "
        "large/small big/small huge/tiny tall/short long/short hot/cold warm/cold wet/dry "
        "full/empty open/closed happy/sad smiling/frowning smiling/crying asleep/awake fast/slow "
        "quickly/slowly day/night daytime/nighttime summer/winter sunny/rainy many/few "
        "crowded/empty clean/dirty quiet/loud same/different winning/losing pushing/pulling "
        "adult/child adults/children"
    ).split()
)
ACTIONS = ("sit", "stand", "lie", "kneel", "run", "walk", "jump", "swim", "sleep", "climb")
DENIALS = frozenset("no not nobody none nothing never neither nor without isn't aren't".split())
THINGS = (5, 6, 8, 13, 17, 20)  # animals, artefacts, body, food, objects, plants: no persons
VAGUE = frozenset("clothes clothing ground top stuff item items thing things object area".split())
BEFORE_NOUNS = frozenset(("a", "an", "the", "his", "her", "their", "some", *NUMBERS))
COMMON = 5  # premises of the file that a new thing must stand in


def contrasts(
    rows: Sequence[Mapping[str, Any]], ids: Sequence[int], wordnet: WordNet | None, seed: int = 0
) -> list[Contrast]:
    """Make contrasts: of each entailed row, and of each premise beside itself, one of each kind.

    A premise entails itself, so there the label before the edit is certain. The new word, or
    one that implies it, does not stand in the premise. The kinds:

    - "number": a larger number from two to ten.
    - "colour", "action", "thing": the old word stands in the premise too. In its place comes
      another of ten colours, of ten actions ("sitting", "running"), or of the things that
      WordNet puts near it ("guitar": "violin") and that the file's premises often hold.
    - "sex": the premise names the old sex and nowhere the other.
    - "contrary": the other word of a pair such as "inside" and "outside".

    `rows` are all of the file: they tell which things are common; `ids` are those to edit. A text
    with a word such as "not" is left out. The seed and the row's id decide which of the edits
    that the rules allow is taken; without WordNet no thing is changed. After Gardner et al. (2020).
    """
    spoken: Counter[str] = Counter()
    for premise in {row["premise"] for row in rows}:
        spoken.update(set(small_words(premise)))
    common = frozenset(word for word, times in spoken.items() if times >= COMMON) - VAGUE
    edits = []
    for place, which, pair in entailed_pairs(rows, ids):
        random = np.random.default_rng((seed, place, which))
        allowed = sorted(set(_allowed(*pair, wordnet, common)))
        for kind in KINDS:
            # first the word, then what replaces it: one with many rivals counts no more
            if places := sorted({k for k, _, of in allowed if of == kind}):
                k = places[int(random.integers(len(places)))]
                news = [new for at, new, of in allowed if (at, of) == (k, kind)]
                new = news[int(random.integers(len(news)))]
                edits.append(Contrast(place, TEXTS[which], k, new, kind))
    return edits


def entailed_pairs(
    rows: Sequence[Mapping[str, Any]], ids: Sequence[int]
) -> Iterator[tuple[int, int, tuple[str, str]]]:
    """Each entailed pair once, and each premise beside itself: id, place in `TEXTS`, the pair.

    The place says which of the row's texts is the second one. A pair with a word such as "not" is
    left out.
    """
    seen = set()
    for place in ids:
        row = rows[place]
        for which, text in enumerate(TEXTS):
            pair = row["premise"], row[text]
            entailed = text == "premise" or row["label"] == ENTAILED
            if entailed and pair not in seen and not DENIALS & set(small_words(" ".join(pair))):
                seen.add(pair)
                yield place, which, pair


def contrast_pairs(
    rows: Sequence[Mapping[str, Any]], wordnet: WordNet | None = None, seed: int = 0
) -> list[dict[str, Any]]:
    """Pairs of sentences that were entailed until one word changed, made by rules.

    Parameters
    ----------
    rows : sequence of mapping, with `premise`, `hypothesis` and `label` (0: entailment)
    wordnet : WordNet, optional; without it no edit puts one thing in place of another
    seed : int, decides which of the edits that the rules allow is taken

    Returns
    -------
    list of dict
        `premise`, `hypothesis` and `was`, the label that is right no longer: for `fair_trial`.

    Examples
    --------
    >>> pair = {"premise": "Two men sit on a bench.", "hypothesis": "Two men sit.", "label": 0}
    >>> contrast_pairs([pair])[1]["hypothesis"]
    'Two women sit.'

    Source: our departure, after Gardner et al. (2020); see `contrasts` for the rules.
    """
    edits = contrasts(rows, range(len(rows)), wordnet, seed)
    pairs = edited(rows, edits)
    return [
        {"premise": p["premise"], "hypothesis": p["hypothesis"], "was": ENTAILED} for p in pairs
    ]


def before(rows: Sequence[Mapping[str, Any]], edits: Sequence[Contrast]) -> list[dict[str, Any]]:
    """Pairs before their edits, each entailed."""
    return [
        {"premise": row["premise"], "hypothesis": row[edit.text], "label": ENTAILED}
        for edit in edits
        for row in [rows[edit.id]]
    ]


def edited(rows: Sequence[Mapping[str, Any]], edits: Sequence[Contrast]) -> list[dict[str, Any]]:
    """The same pairs with the edits made; the label stays, and is no longer true."""
    return [
        rebuild(pair, [Edit("hypothesis", edit.word, edit.replacement)])
        for pair, edit in zip(before(rows, edits), edits, strict=True)
    ]


def _allowed(
    context: str, text: str, wordnet: WordNet | None, common: frozenset[str]
) -> Iterator[tuple[int, str, str]]:
    """Every edit that the rules allow: place of the word, what replaces it, kind."""
    old = [text[a:b] for a, b in word_spans(text)]
    words, premise = [word.lower() for word in old], set(small_words(context))
    barred = dictionary_forms(premise | set(words))
    for k, word in enumerate(words):
        kind, news = _of_list(word, premise)
        noun = wordnet and not kind and k and words[k - 1] in BEFORE_NOUNS
        if noun and lemmas(word) & dictionary_forms(premise):
            kind, news = "thing", _things(word, wordnet) & common
            news = {new for new in news if not is_implied(new, premise, wordnet)}
        for new in news:
            if barred & lemmas(new) or needs_other_article(words[k - 1] if k else "", new):
                continue
            yield k, new.capitalize() if old[k][0].isupper() else new, kind


def _of_list(word: str, premise: set[str]) -> tuple[str, set[str]]:
    """Kind and what may replace a word of one of the lists; no kind for another word."""
    if word in NUMBERS:
        return "number", set(NUMBERS[NUMBERS.index(word) + 1 :])
    if word in COLOURS:
        return "colour", set(COLOURS) if word in premise else set()
    if word in OTHER_SEX:
        same, other = (MALE, FEMALE) if word in MALE else (FEMALE, MALE)
        right = premise & set(same) and not premise & set(other)
        return "sex", {OTHER_SEX[word]} if right else set()
    if contraries := {new for pair in CONTRARIES if word in pair for new in pair} - {word}:
        return "contrary", contraries
    action = next((base for base in ACTIONS if word in inflected_like(base, "going")), None)
    if action:
        said = action in dictionary_forms(premise)
        return "action", {f for a in ACTIONS for f in inflected_like(a, "going")} if said else set()
    return "", set()


@cache
def _things(word: str, wordnet: WordNet) -> frozenset[str]:
    """Nouns that are other kinds of the same, inflected alike."""
    if not is_noun(word):
        return frozenset()
    things: set[str] = set()
    for base in [base for base in lemmas(word) if wordnet.subject(base) in THINGS]:
        own, above = set(wordnet.meanings(base)), wordnet.above(base)
        for other in filter(is_noun, wordnet.cousins(base) - set(OTHER_SEX)):
            over = wordnet.above(other)
            if not own & over and not set(wordnet.meanings(other)) & above:
                things.update(inflected_like(other, word))
    return frozenset(things)


def is_noun(word: str) -> bool:
    """Whether a word can be a noun, and nothing but a noun or a verb."""
    parts = parts_of_speech(word)
    return "NOUN" in parts and parts <= {"NOUN", "VERB"} and ("VERB", "VBG") not in tags(word)


def is_implied(new: str, premise: set[str], wordnet: WordNet) -> bool:
    """Whether a word of the premise is a kind of the new thing."""
    senses = {place for base in lemmas(new) for place in wordnet.meanings(base)}
    return any(senses & wordnet.above(base) for base in dictionary_forms(premise))


def needs_other_article(before: str, new: str) -> bool:
    """Whether "a" or "an" before a word would be wrong before the new one."""
    return (before == "a" and new[0] in "aeiou") or (before == "an" and new[0] not in "aeiou")


def dictionary_forms(words: set[str]) -> set[str]:
    """The words, and their dictionary forms."""
    return {base for word in words for base in lemmas(word)} | words


def small_words(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return [text[a:b].lower() for a, b in word_spans(text)]
