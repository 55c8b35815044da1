"""Swap words for men and women in all texts of a row, so that its label holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pidlib.data.edits import Edit, rebuild, text_columns, word_spans, words_of

_ADULTS = "man/woman men/women male/female males/females he/she himself/herself"
_OTHERS = (
    "boy/girl boys/girls guy/gal guys/gals gentleman/lady gentlemen/ladies father/mother fathers/mothers dad/mom "
    "daddy/mommy son/daughter sons/daughters brother/sister brothers/sisters husband/wife "
    "husbands/wives uncle/aunt nephew/niece grandfather/grandmother grandpa/grandma "
    "boyfriend/girlfriend groom/bride king/queen prince/princess waiter/waitress actor/actress "
    "policeman/policewoman businessman/businesswoman businessmen/businesswomen cowboy/cowgirl"
)
PAIRS = {
    "gender": f"{_ADULTS} {_OTHERS}",
    "gender, adults": _ADULTS,
    "gender, others": _OTHERS,
}
_TIED = frozenset(
    "beard bearded beards mustache moustache goatee pregnant breastfeeding bikini bikinis bra "
    "shirtless topless priest monk monks nun nuns dude dudes bro gay lesbian mr mrs ms miss sir "
    "madam lad lads hers ballerina cheerleader cheerleaders hostess fraternity sorority".split()
)  # sex without a counterpart in the lists: no swap is consistent
_PRONOUNS = frozenset(("his", "him", "her"))
_WITH_PRONOUNS = ("gender", "gender, adults")
# After the object "her" a sentence goes on with one of these; after "her", her own, it does not.
_AFTER_OBJECT = frozenset(
    "a an the and or but while as at by for from in into of off on onto out over through to toward "
    "towards under up down with without is are was were has because who that near behind beside "
    "during after before around against about when his her their some this these".split()
)
_NOT_MEN = frozenset("human humans german germans specimen women woman".split())


@dataclass(frozen=True)
class GroupSwap:
    """Exchange the two words of each pair of a list, in premise and hypothesis alike.

    Where both texts name the same persons, who these are does not decide the label. As the
    argument `perturbed` of `Estimator.fit` it is one of the changes that a control learns.

    Attributes
    ----------
    kind : str
        "gender", or two parts of it: "gender, adults" (man, he, his, ...) and "gender, others"
        (boy, mother, lady, ...).

    Raises
    ------
    ValueError
        Another kind.

    Examples
    --------
    >>> swap = GroupSwap("gender")
    >>> row = {"premise": "A man calls his dog.", "hypothesis": "She sees her.", "label": 1}
    >>> swap.apply(row)["premise"], swap.apply(row)["hypothesis"]
    ('A woman calls her dog.', 'He sees him.')

    Source: our departure; after Kaushik et al. (2020), whose people rewrote pairs by hand. The
    rule for "her": "him" at the end of a clause or before a word such as "with", else "his".
    """

    kind: str = "gender"

    def __post_init__(self) -> None:
        if self.kind not in PAIRS:
            raise ValueError(f"unknown swap {self.kind!r}; known: {list(PAIRS)}")

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Word and counterpart, first group and second."""
        return tuple(tuple(pair.split("/")) for pair in PAIRS[self.kind].split())

    @cached_property
    def words(self) -> dict[str, str]:
        """What each word becomes; "her" is decided in its place."""
        other = {old: new for pair in self.pairs for old, new in (pair, pair[::-1])}
        if self.kind in _WITH_PRONOUNS:
            other |= {"his": "her", "him": "her", "her": ""}
        return other

    def __call__(
        self, row: Mapping[str, Any], random: np.random.Generator | None = None
    ) -> tuple[Edit, ...]:
        """Edits of a row; nothing is drawn at random."""
        edits = []
        for column in text_columns(row):
            text = row[column]
            spans = word_spans(text)
            for k, (start, end) in enumerate(spans):
                word, tail = _stem(text[start:end])
                if (new := self.words.get(word.lower())) is None:
                    continue
                if not new:
                    new = "him" if _is_object(text, spans, k) else "his"
                if k and (article := _article(text[slice(*spans[k - 1])], word, new)):
                    edits.append(Edit(column, k - 1, article))
                edits.append(Edit(column, k, _cased(new, word) + tail))
        return tuple(edits)

    def apply(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row with all words swapped; the label stays."""
        return rebuild(row, self(row))

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether a row can be swapped so that its label holds, as far as rules can tell.

        Some word is swapped, a second swap gives the row back, and no other word tells the sex:
        none such as "bearded" or "fireman".
        """
        if not self(row) or self.apply(self.apply(row)) != dict(row):
            return False
        known = {_stem(word)[0].lower() for _, _, word in words_of(row)}
        unlisted = _GENDERED - set(self.words)
        return not known & (_TIED | unlisted) and not any(map(_is_trade, known - _GENDERED))


_GENDERED = frozenset(PAIRS["gender"].replace("/", " ").split()) | _PRONOUNS


def _stem(word: str) -> tuple[str, str]:
    """A word without its 's, and that."""
    for tail in ("'s", "'"):
        if word.lower().endswith(tail):
            return word[: -len(tail)], word[-len(tail) :]
    return word, ""


def _cased(new: str, like: str) -> str:
    if like.isupper() and len(like) > 1:
        return new.upper()
    return new.capitalize() if like[:1].isupper() else new


def _article(before: str, old: str, new: str) -> str:
    """What an article before a word becomes with another word; nothing where it may stay."""
    kinds = ["an" if word[0].lower() in "aeiou" else "a" for word in (old, new)]
    return _cased(kinds[1], before) if before.lower() == kinds[0] != kinds[1] else ""


def _is_object(text: str, spans: list[tuple[int, int]], k: int) -> bool:
    """Whether "her" stands for a person, not before what is hers."""
    if k + 1 == len(spans):
        return True
    start, end = spans[k + 1]
    return text[spans[k][1] : start].strip() != "" or text[start:end].lower() in _AFTER_OBJECT


def _is_trade(word: str) -> bool:
    """Whether a word such as "fireman" tells the sex."""
    return word not in _NOT_MEN and word.endswith(("man", "men", "woman", "women"))
