"""Mend the spelling of text before a model reads it."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from pidbook.estimation.preprocessing import Preprocessing
from pidlib.data.edits import reworded
from pidlib.data.perturbations import look_alikes

_PARTS = re.compile(r"([-_*@]+|'[sS]$)")  # between the parts of a compound; a genitive's end


class SpellingNormaliser(Preprocessing):
    """Folds look-alike letters and corrects misspelt words, by SymSpell and its dictionary.

    Parameters
    ----------
    known : collection of str, words that are right besides those of the dictionary

    Examples
    --------
    >>> SpellingNormaliser()("A wmoan sits outsidde.")
    'A woman sits outside.'

    Source: Garbe 2012 (SymSpell). Departure: a word that is right is never changed.
    """

    def __init__(self, known: Collection[str] = ()) -> None:
        if isinstance(known, str):
            raise ValueError(f"known is the string {known[:20]!r}; give a collection of words")
        # the halves of "isn't" too: an apostrophe of another kind parts it
        halves = {half for word in speller().words if "'" in word for half in word.split("'")}
        self.known = frozenset(halves | {"n't"} | {word.lower() for word in known})
        self._mended: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """Return the text with every word mended."""
        return reworded(text.translate(_letters()), self._word)

    def summary(self) -> str:
        """Name of the corrector."""
        return f"spelling normalised, symspellpy {version('symspellpy')}"

    def _word(self, word: str) -> str:
        if word not in self._mended:
            stays = self._is_right(word) or any(map(str.isdigit, word))
            parts = [] if stays else map(self._part, _PARTS.split(word))
            self._mended[word] = "".join(parts) or word
        return self._mended[word]

    def _part(self, part: str) -> str:
        if sum(map(str.isalpha, part)) < 2 or self._is_right(part):
            return part
        from symspellpy import Verbosity

        nearest = speller().lookup(part.lower(), Verbosity.TOP)  # of those, the most frequent
        new = nearest[0].term if nearest else part
        return new[0].upper() + new[1:] if part[0].isupper() else new

    def _is_right(self, word: str) -> bool:
        return word.lower() in self.known or word.lower() in speller().words


@cache
def speller() -> Any:
    """SymSpell with its own dictionary: 3 seconds and 150 MB, once."""
    try:
        from symspellpy import SymSpell
    except ImportError as problem:
        raise ImportError(
            "spelling needs SymSpell; install it: pip install symspellpy"
        ) from problem
    speller = SymSpell(max_dictionary_edit_distance=2)
    path = files("symspellpy") / "frequency_dictionary_en_82_765.txt"
    with path.open(encoding="utf-8") as lines:
        speller.load_dictionary(lines, term_index=0, count_index=1)
    return speller


@cache
def _letters() -> dict[int, str]:
    return {ord(strange): letter for letter, strange in look_alikes().items()}
