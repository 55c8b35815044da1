"""Relations of words from the files of Debian's wordnet-base; NLTK wants `lexnames` beside them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from pidlib.io.files import sha256

VARIABLE = "WNSEARCHDIR"  # as WordNet's own programs name it
FOLDERS = ("/usr/share/wordnet", "/usr/local/share/wordnet")
PARTS = ("noun", "verb", "adj", "adv")
FILES = tuple(f"{kind}.{part}" for kind in ("index", "data") for part in PARTS)


class Synset(NamedTuple):
    """Words of one meaning, where those it points at begin, the lexicographers' file."""

    words: tuple[str, ...]
    wider: tuple[int, ...]
    narrower: tuple[int, ...]
    similar: tuple[int, ...]
    subject: int


def wordnet_folder() -> Path:
    """Return the folder of WordNet's files."""
    named = os.environ.get(VARIABLE)
    for folder in map(Path, [named] if named else FOLDERS):
        if all((folder / name).is_file() for name in FILES):
            return folder
    raise FileNotFoundError(
        f"WordNet's files are not in {named or ' or '.join(FOLDERS)}; install Debian's package "
        f"wordnet-base, or name the folder that holds data.noun in the variable {VARIABLE}"
    )


class WordNet:
    """WordNet's words and what they are to one another."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder) if folder is not None else wordnet_folder()
        self.files_sha256 = [sha256(self.folder / name) for name in FILES]
        self._data = {part: (self.folder / f"data.{part}").read_bytes() for part in PARTS}
        self.above = cache(self._above)

    def cousins(self, noun: str) -> set[str]:
        """Nouns of one lexicographers' file that meet a noun one or two steps above, first senses only."""
        near = self._step(self.meanings(noun)[:1], "wider")
        top = near | self._step(near, "wider")
        below = self._step(top, "narrower")
        cousins = (below | self._step(below, "narrower")) - top
        return {
            word
            for synset in (self.synset("noun", place) for place in cousins)
            for word in synset.words
            if synset.subject == self.subject(noun) and self.meanings(word)[0] in cousins
        } - {noun}

    def subject(self, noun: str) -> int:
        """Number of the lexicographers' file of a noun's first sense; -1 for no noun."""
        senses = self.meanings(noun)
        return self.synset("noun", senses[0]).subject if senses else -1

    def meanings(self, word: str, part: str = "noun") -> tuple[int, ...]:
        """Where the senses of a word begin in its file, the most frequent first."""
        return self._index[part].get(word, ())

    def synset(self, part: str, place: int) -> Synset:
        """Read the meaning that begins at a place of the file."""
        data = self._data[part]
        fields = data[place : data.index(b"|", place)].decode().split()
        count = int(fields[3], 16)
        words = tuple(re.sub(r"\(\w+\)$", "", w).lower() for w in fields[4 : 4 + 2 * count : 2])
        links = fields[5 + 2 * count :]
        ties: dict[str, list[int]] = {"@": [], "~": [], "&": []}
        for symbol, target, kind in zip(links[::4], links[1::4], links[2::4], strict=False):
            if symbol == "&" or (symbol in ties and kind == part[0]):
                ties[symbol].append(int(target))
        return Synset(words, *map(tuple, ties.values()), int(fields[1]))

    def _step(self, places: Iterable[int], way: str) -> set[int]:
        return {there for p in places for there in getattr(self.synset("noun", p), way)}

    def _above(self, noun: str) -> frozenset[int]:
        """All senses of a noun, and all that are wider than one of them, to the top."""
        senses, left = set(), set(self.meanings(noun))
        while left:
            senses |= left
            left = self._step(left, "wider") - senses
        return frozenset(senses)

    @cached_property
    def _index(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """Part of speech, then word, to places of its meanings in the data file."""
        index: dict[str, dict[str, tuple[int, ...]]] = {part: {} for part in PARTS}
        for part, places in index.items():
            for line in (self.folder / f"index.{part}").read_text("utf-8").splitlines():
                if line[0] != " ":  # the licence is indented
                    word, _, count, *rest = line.split()
                    places[word] = tuple(map(int, rest[-int(count) :]))
        return index
