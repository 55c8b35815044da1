"""Relations of words from WordNet's files: synonyms for attacks, other kinds for contrast sets."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pidlib.attacks.inflections import exclusions, inflected_like, lemmas
from pidlib.io.assets import ASSETS, word_list
from pidlib.io.files import sha256

VARIABLE = "WNSEARCHDIR"  # as WordNet's own programs name it
FOLDERS = ("/usr/share/wordnet", "/usr/local/share/wordnet")
PARTS = ("noun", "verb", "adj", "adv")


class Synset(NamedTuple):
    """Words of one meaning, where those it points at begin, the lexicographers' file."""

    words: tuple[str, ...]
    wider: tuple[int, ...]
    similar: tuple[int, ...]
    narrower: tuple[int, ...]
    subject: int


def wordnet_folder() -> Path:
    """Return the folder of WordNet's files."""
    named = os.environ.get(VARIABLE)
    for folder in [Path(named)] if named else [Path(place) for place in FOLDERS]:
        if all(
            (folder / f"{kind}.{part}").is_file() for kind in ("index", "data") for part in PARTS
        ):
            return folder
    raise FileNotFoundError(
        f"WordNet's files are not in {named or ' or '.join(FOLDERS)}; install Debian's package "
        f"wordnet-base, or name the folder that holds data.noun in the variable {VARIABLE}"
    )


class WordNet:
    """WordNet's words and what they are to one another."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder) if folder is not None else wordnet_folder()
        self._above: dict[str, frozenset[int]] = {}

    @cached_property
    def files_sha256(self) -> list[str]:
        """Hashes of the files."""
        return [sha256(self.folder / f"{k}.{part}") for k in ("index", "data") for part in PARTS]

    def cousins(self, noun: str) -> set[str]:
        """Nouns of one file of the lexicographers that meet a noun one or two steps above it.

        Both in their first sense; the file tells animals from food, and so on.
        """
        own = self.meanings(noun)[:1]
        near = self._step(own, "wider")
        top = near | self._step(near, "wider")
        below = self._step(top, "narrower")
        found = (below | self._step(below, "narrower")) - top
        subject = {self._synset("noun", place).subject for place in own}
        alike = (self._synset("noun", place) for place in found)
        return {
            word
            for one in alike
            for word in one.words
            if one.subject in subject and self.meanings(word)[0] in found
        } - {noun}

    def subject(self, noun: str) -> int:
        """Number of the lexicographers' file of a noun's first sense; -1 for no noun."""
        own = self.meanings(noun)[:1]
        return self._synset("noun", own[0]).subject if own else -1

    def _step(self, places: Iterable[int], way: str) -> set[int]:
        return {there for p in places for there in getattr(self._synset("noun", p), way)}

    def meanings(self, noun: str) -> tuple[int, ...]:
        """Where the senses of a noun begin in its file, the most frequent first."""
        return self._index["noun"].get(noun, ())

    def above(self, noun: str) -> frozenset[int]:
        """All senses of a noun, and all that are wider than one of them, to the top."""
        if noun not in self._above:
            found, left = set(), list(self.meanings(noun))
            while left:
                if (place := left.pop()) not in found:
                    found.add(place)
                    left += self._synset("noun", place).wider
            self._above[noun] = frozenset(found)
        return self._above[noun]

    @cached_property
    def _index(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """Part of speech, then word, to places of its meanings in the data file."""
        index: dict[str, dict[str, tuple[int, ...]]] = {part: {} for part in PARTS}
        for part in PARTS:
            with (self.folder / f"index.{part}").open(encoding="utf-8") as lines:
                for line in lines:
                    if line[0] != " ":  # the licence is indented
                        word, _, count, *rest = line.split()
                        index[part][word] = tuple(int(place) for place in rest[-int(count) :])
        return index

    @cached_property
    def _data(self) -> dict[str, bytes]:
        return {part: (self.folder / f"data.{part}").read_bytes() for part in PARTS}

    def _synset(self, part: str, place: int) -> Synset:
        data = self._data[part]
        fields = data[place : data.index(b"|", place)].decode().split()
        count = int(fields[3], 16)
        words = tuple(re.sub(r"\(\w+\)$", "", w).lower() for w in fields[4 : 4 + 2 * count : 2])
        links = fields[5 + 2 * count :]
        ties: dict[str, list[int]] = {"@": [], "~": [], "&": []}
        for symbol, target, kind in zip(links[::4], links[1::4], links[2::4], strict=False):
            if symbol == "&" or (symbol in ties and kind == part[0]):
                ties[symbol].append(int(target))
        return Synset(words, *(tuple(ties[symbol]) for symbol in "@&~"), int(fields[1]))


class WordNetCandidates(WordNet):
    """Words that WordNet gives the same, a similar or the next wider meaning."""

    name = "wordnet"

    def __init__(self, folder: str | Path | None = None, senses: int = 2, width: int = 1) -> None:
        super().__init__(folder)
        self.senses, self.width = senses, width
        self._excluded = exclusions(word_list("incompatible.txt"))
        self._found: dict[str, tuple[str, ...]] = {}

    @cached_property
    def sha256(self) -> str:
        """Hash of the files and settings."""
        told = [*self.files_sha256, sha256(ASSETS / "incompatible.txt")]
        return hashlib.sha256(f"{told} {self.senses}".encode()).hexdigest()

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Words inflected like the given one; the same meaning first, then the alphabet."""
        if word not in self._found:
            self._found[word] = self._search(word)
        return self._found[word]

    def _search(self, word: str) -> tuple[str, ...]:
        bases = lemmas(word)
        barred = set().union(*(self._excluded.get(w, set()) for w in {word, *bases}))
        ranked: dict[str, int] = {}
        for part in PARTS:
            for base in sorted(bases):
                for place in self._index[part].get(base, ())[: self.senses]:
                    found = self._synset(part, place)
                    near = [w for p in found.similar for w in self._synset("adj", p).words]
                    wide = [w for p in found.wider for w in self._synset(part, p).words]
                    for rank, others in enumerate((found.words, near, wide)):
                        for other in others:
                            ranked[other] = min(rank, ranked.get(other, rank))
        forms: dict[str, int] = {}
        for other, rank in ranked.items():
            for form in inflected_like(other, word) if re.fullmatch("[a-z]{3,}", other) else ():
                if not (bases & lemmas(form) or barred & {form, *lemmas(form)}):
                    forms[form] = min(rank, forms.get(form, rank))
        return tuple(sorted(forms, key=lambda form: (forms[form], form)))
