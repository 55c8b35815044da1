"""The words of the captions: synonyms, hypernyms and what excludes what."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parents[2] / "assets" / "lexicon.json"
FORMS = ("singular", "plural", "words", "ing", "participle")


class Lexicon:
    """Words grouped into concepts; the words of one concept mean the same.

    Each concept holds one list of words per inflection, head word first. No word
    belongs to two concepts, so a swap by a synonym never changes what a caption says.
    The captions themselves use only the first two words of a list; the others are
    met only under attack.

    Homonyms are left out where they would mislead: the second sense of "light" or of
    "orange" does not occur. Shades such as "crimson" are not listed as synonyms of "red".

    Parameters
    ----------
    content : dict
        Parsed content of `assets/lexicon.json`: `concepts`, `exclusive_verbs`,
        `overlapping`.

    Examples
    --------
    >>> lexicon = Lexicon.load()
    >>> lexicon.synonyms("dogs")
    ['canines', 'hounds', 'pooches', 'doggies']
    >>> lexicon.synonyms("zebra")
    []
    >>> lexicon.ancestors("puppy")
    ('puppy', 'dog', 'animal')

    Source: ours; written by hand from general knowledge. The paper attacks with the
    resources of TextAttack, which need a download.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self.concepts: dict[str, dict[str, Any]] = content["concepts"]
        self._exclusive = {tuple(pair) for pair in content["exclusive_verbs"]}
        self._overlapping = {tuple(pair) for pair in content["overlapping"]}
        self._synonyms: dict[str, list[str]] = {}
        self._concept: dict[str, str] = {}
        for name, entry in self.concepts.items():
            for form in FORMS:
                words = entry.get(form, [])
                for word in words:
                    known = self._synonyms.setdefault(word, [])
                    known.extend(w for w in words if w != word and w not in known)
                    self._concept[word] = name
        self._ancestors = {name: self._climb(name) for name in self.concepts}
        self._descendants: dict[str, list[str]] = {name: [] for name in self.concepts}
        for name, above in self._ancestors.items():
            for ancestor in above:
                self._descendants[ancestor].append(name)

    @classmethod
    def load(cls) -> Lexicon:
        """Load the lexicon that ships with pidlib (read once).

        Returns
        -------
        Lexicon

        Examples
        --------
        >>> Lexicon.load() is Lexicon.load()
        True
        """
        return _load()

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in the order of the file."""
        return tuple(self._concept)

    def synonyms(self, word: str) -> list[str]:
        """Single words with the same meaning and inflection as `word`.

        Parameters
        ----------
        word : str
            Any word; upper and lower case are the same.

        Returns
        -------
        list of str
            Lower-case words, without `word` itself; empty for an unknown word.

        Examples
        --------
        >>> Lexicon.load().synonyms("Jogging")
        ['running', 'racing', 'dashing']
        """
        return list(self._synonyms.get(word.lower(), []))

    def concept(self, word: str) -> str | None:
        """Name of the concept of a word, or None for a word the lexicon does not hold.

        Parameters
        ----------
        word : str

        Returns
        -------
        str or None

        Examples
        --------
        >>> Lexicon.load().concept("lads")
        'boy'
        """
        return self._concept.get(word.lower())

    def ancestors(self, name: str) -> tuple[str, ...]:
        """List a concept and all its hypernyms, nearest first.

        Parameters
        ----------
        name : str
            Of a concept.

        Returns
        -------
        tuple of str
        """
        return self._ancestors[name]

    def descendants(self, name: str) -> list[str]:
        """List a concept and all its hyponyms, in the order of the file.

        Parameters
        ----------
        name : str
            Of a concept.

        Returns
        -------
        list of str
        """
        return self._descendants[name]

    def exclusive_actions(self, first: str, second: str) -> bool:
        """Whether nobody does both actions at once (a list made by hand).

        Parameters
        ----------
        first, second : str
            Names of concepts.

        Returns
        -------
        bool
        """
        return (min(first, second), max(first, second)) in self._exclusive

    def overlapping(self, first: str, second: str) -> bool:
        """Whether one thing or spot can be of both kinds, such as a farm and its field.

        Parameters
        ----------
        first, second : str
            Names of concepts.

        Returns
        -------
        bool
        """
        return (min(first, second), max(first, second)) in self._overlapping

    def _climb(self, name: str) -> tuple[str, ...]:
        above = [name]
        for ancestor in above:
            above.extend(p for p in self.concepts[ancestor].get("parents", []) if p not in above)
        return tuple(above)


@cache
def _load() -> Lexicon:
    return Lexicon(json.loads(_FILE.read_text(encoding="utf-8")))
