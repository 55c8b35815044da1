"""The words of the captions, grouped by what they mean."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from pidlib.io.assets import ASSETS

FORMS = ("singular", "plural", "words", "ing", "participle")


class Lexicon:
    """Words grouped into concepts; the words of one concept mean the same.

    Each concept holds one list of words per inflection; the captions use only the first two of
    a list. No word belongs to two concepts, so a swap never changes what a caption says.

    Parameters
    ----------
    content : dict, as `assets/lexicon.json` holds it

    Examples
    --------
    >>> Lexicon.load().synonyms("dogs")
    ['canines', 'hounds', 'pooches', 'doggies']
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self.concepts: dict[str, dict[str, Any]] = content["concepts"]
        self._synonyms: dict[str, list[str]] = {}
        for entry in self.concepts.values():
            for words in (entry.get(form, []) for form in FORMS):
                for word in words:
                    known = self._synonyms.setdefault(word, [])
                    known.extend(w for w in words if w != word and w not in known)

    @classmethod
    @cache
    def load(cls) -> Lexicon:
        """Load the lexicon that ships with pidlib (read once)."""
        return cls(json.loads((ASSETS / "lexicon.json").read_text(encoding="utf-8")))

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in the order of the file."""
        return tuple(self._synonyms)

    def synonyms(self, word: str) -> list[str]:
        """Words of the same meaning and inflection, without the word itself; any case counts."""
        return list(self._synonyms.get(word.lower(), []))
