"""Mend the spelling of text before a model reads it: the obvious rival of a control."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any

from pidlib.data.edits import COLUMNS, word_spans
from pidlib.io.assets import ASSETS

_PARTS = re.compile(r"([-_*@]+|'[sS]$)")  # between the parts of a compound; a genitive's end
_READERS = ("tokenize", "encode", "encode_plus", "batch_encode_plus")  # methods that take text


class SpellingNormaliser:
    r"""A preprocessor that folds look-alike letters and corrects misspelt words."""

    def __init__(self, known: Collection[str] = ()) -> None:
        if isinstance(known, str):
            raise ValueError(f"known is the string {known[:20]!r}; give a collection of words")
        # the halves of "isn't" too: an apostrophe of another kind parts it
        halves = {half for word in speller().words if "'" in word for half in word.split("'")}
        self.known = frozenset(halves | {"n't"} | {word.lower() for word in known})
        self._mended: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """Return the text with every word mended."""
        text, end, pieces = text.translate(_letters()), 0, []
        for start, stop in word_spans(text):
            pieces += [text[end:start], self._word(text[start:stop])]
            end = stop
        return "".join(pieces) + text[end:]

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


def normaliser_of(rows: Sequence[Mapping[str, Any]]) -> SpellingNormaliser:
    """One that knows the words that rows hold twice."""
    texts = (row[c] for row in rows for c in COLUMNS if isinstance(row.get(c), str))
    words = Counter(text[a:b].lower() for text in texts for a, b in word_spans(text))
    return SpellingNormaliser(known={word for word, times in words.items() if times > 1})


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
    alike = json.loads((ASSETS / "homoglyphs.json").read_text(encoding="utf-8"))
    return {ord(strange): letter for letter, strange in alike.items()}


@dataclass(frozen=True, eq=False, repr=False)
class NormalisedTokenizer:
    """A tokenizer that normalises text first; for judging and attacking such a model.

    The log of an attack doesn't know of it: tell it by `about`. A2T ranks last the few words
    of the text given that normalising changes: their tokens do not spell them.
    """

    tokenizer: Any
    normaliser: Callable[[str], str]

    def __call__(self, text: Any, text_pair: Any = None, **settings: Any) -> Any:
        """Tokenise a text, a pair, or lists of either; places in the text are refused."""
        return self._read(self.tokenizer, text, text_pair, **settings)

    def __len__(self) -> int:
        return len(self.tokenizer)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "tokenizer":  # asked of a copy half made
            raise AttributeError(name)
        value = getattr(self.tokenizer, name)
        return partial(self._read, value) if name in _READERS else value

    def _read(self, reader: Callable, text: Any, text_pair: Any = None, **settings: Any) -> Any:
        if settings.get("return_offsets_mapping"):
            raise ValueError(
                "return_offsets_mapping=True: the tokens have no places in the text given, only "
                "in its normalised form; normalise the rows, and give the tokenizer inside"
            )
        pair = {} if text_pair is None else {"text_pair": self._normalised(text_pair)}
        return reader(self._normalised(text), **pair, **settings)

    def _normalised(self, text: Any) -> Any:
        if isinstance(text, str):
            return self.normaliser(text)
        parts = map(self._normalised, text)
        return tuple(parts) if isinstance(text, tuple) else list(parts)
