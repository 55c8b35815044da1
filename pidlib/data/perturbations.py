"""Random, unlabelled changes of text: what a control can learn without ever seeing an attack."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase
from typing import Any, Protocol
from warnings import warn

import numpy as np

from pidlib.data.edits import COLUMNS, Edit, find_edits, rebuild, text_columns, words_of
from pidlib.data.rows import as_rows
from pidlib.io.assets import ASSETS
from pidlib.io.strict_json import shorten

TYPOS = ("swap", "delete", "insert", "neighbour", "split", "homoglyph")
CHANGES = (*TYPOS, "synonym", "drop")
MIXES: dict[str, dict[str, float]] = {
    "typos": dict.fromkeys(TYPOS, 1.0),
    "synonyms": {"synonym": 1.0},
    "both": dict.fromkeys(TYPOS, 1.0) | {"synonym": float(len(TYPOS))},
    "words": {"synonym": 1.0},
}
# `words` is `synonyms` from more than one source, see `pidlib.attacks.words_for`.

_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

Perturb = Callable[[Mapping[str, Any], np.random.Generator], Mapping[str, Any] | Sequence[Edit]]


@dataclass(frozen=True)
class RandomEdits:
    """Edits of random words, blind to the model and to the label.

    Raises ValueError for an unknown mix or kind, a weight out of range, no edits, or synonyms
    without a source.

    Parameters
    ----------
    mix : str, a name in `MIXES`, or mapping of the kinds in `CHANGES` to weights
    edits : int, words changed in a row; fewer in a row that has not so many
    source : Candidates, needed for synonyms alone (`pidlib.attacks.candidates`)

    Examples
    --------
    >>> RandomEdits("typos", edits=1)({"text": "A man rides."}, np.random.default_rng(2))
    (Edit(column='text', word=2, replacement='ries'),)
    """

    mix: str | Mapping[str, float] = "typos"
    edits: int = 2
    source: Candidates | None = None

    def __post_init__(self) -> None:
        if isinstance(self.mix, str) and self.mix not in MIXES:
            raise ValueError(f"unknown mix {self.mix!r}; known: {list(MIXES)}, or give weights")
        weights = self.weights
        if unknown := [kind for kind in weights if kind not in CHANGES]:
            raise ValueError(f"unknown kind of edit {unknown[0]!r}; known: {list(CHANGES)}")
        if not weights or min(weights.values()) < 0 or not 0 < sum(weights.values()) < np.inf:
            raise ValueError(f"the weights are {weights}: at least 0 each, one above 0")
        if self.edits < 1:
            raise ValueError(f"{self.edits} edits a row; give at least 1")
        if weights.get("synonym") and self.source is None:
            raise ValueError(
                "synonyms need a source of words: pass source=pidlib.attacks.synonyms.candidates('lexicon')"
            )

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each kind."""
        return dict(MIXES[self.mix] if isinstance(self.mix, str) else self.mix)

    def __call__(self, row: Mapping[str, Any], random: np.random.Generator) -> tuple[Edit, ...]:
        """Draw edits of a row."""
        weights = {kind: weight for kind, weight in self.weights.items() if weight > 0}
        odds = np.array(list(weights.values())) / sum(weights.values())
        words, edits = words_of(row), []
        for place in random.permutation(len(words)):
            if len(edits) == self.edits:
                break
            column, k, word = words[place]
            new = self._change(str(random.choice(list(weights), p=odds)), word, random)
            if new is not None and new != word:
                edits.append(Edit(column, k, new))
        return tuple(sorted(edits, key=lambda edit: (COLUMNS.index(edit.column), edit.word)))

    def _change(self, kind: str, word: str, random: np.random.Generator) -> str | None:
        if kind == "drop":
            return ""
        if kind != "synonym":
            return _typo(kind, word, random)
        if not (synonyms := self.source.synonyms(word.lower())):
            return None
        new = str(random.choice(synonyms))
        return new.capitalize() if word[:1].isupper() else new


def _typo(kind: str, word: str, random: np.random.Generator) -> str | None:
    """The word after one slip, or None where it allows none."""
    if kind in ("neighbour", "homoglyph"):
        others = _beside() if kind == "neighbour" else look_alikes()
        places = [k for k, letter in enumerate(word) if letter in others]
        if not places:
            return None
        k = int(random.choice(places))
        return word[:k] + str(random.choice(list(others[word[k]]))) + word[k + 1 :]
    if kind == "insert":
        k = random.integers(1, len(word) + 1)
        return word[:k] + str(random.choice(list(ascii_lowercase))) + word[k:]
    if len(word) < 2:
        return None
    if kind == "split":
        k = random.integers(1, len(word))
        return f"{word[:k]} {word[k:]}"
    if kind == "delete":
        k = random.integers(len(word))
        return word[:k] + word[k + 1 :]
    k = random.integers(len(word) - 1)  # the two letters from here on change places
    return word[:k] + word[k + 1] + word[k] + word[k + 2 :]


@cache
def _beside() -> dict[str, list[str]]:
    """Letters beside each on a keyboard."""
    places = [(row, k) for row in _KEYBOARD for k in range(len(row))]
    beside = {row[k]: [*row[max(0, k - 1) : k], *row[k + 1 : k + 2]] for row, k in places}
    return beside | {letter.upper(): others for letter, others in beside.items()}


@cache
def look_alikes() -> dict[str, str]:
    """Letters, and the letters of other scripts that look like them."""
    return json.loads((ASSETS / "homoglyphs.json").read_text(encoding="utf-8"))


def perturbed_rows(
    rows: Sequence[Mapping[str, Any]], perturb: Perturb, seed: int = 0
) -> list[tuple[dict[str, Any], tuple[Edit, ...]]]:
    """Change every row once; ValueError where an edit does not fit.

    A row without a word is left as it is, and a warning names it.

    Parameters
    ----------
    rows : sequence of mappings
    perturb : callable (row, random) -> row or edits, such as `RandomEdits`
    seed : int; each row draws from a generator of its own, whatever stands before it

    Returns
    -------
    list of (row, edits)

    Examples
    --------
    >>> rows = [{"text": "one two"}]
    >>> perturbed_rows(rows, lambda row, random: {"text": row["text"].replace("two", "2")})
    [({'text': 'one 2'}, (Edit(column='text', word=1, replacement='2'),))]
    """
    changed, wordless = [], []
    for k, row in enumerate(as_rows(rows)):
        if not words_of(row):
            wordless.append(k)
            changed.append((row, ()))
            continue
        given = perturb(dict(row), np.random.default_rng([seed, k]))  # it may change its copy
        given = (given,) if isinstance(given, Edit) else given
        if isinstance(given, Mapping):
            texts = {c: given[c] for c in text_columns(row) if c in given}
            if not texts or not all(isinstance(text, str) for text in texts.values()):
                raise ValueError(
                    f"the perturbed row {k} has the columns {sorted(given)}; "
                    f"return the text of {text_columns(row)}"
                )
            try:
                edits = find_edits(row, texts)
            except ValueError as error:
                raise ValueError(f"the perturbed row {k}: {error}") from None
        elif isinstance(given, Sequence) and not isinstance(given, str):
            edits = tuple(Edit(*edit) for edit in given)
        else:
            raise ValueError(
                f"the perturbation returned {type(given).__name__} for row {k}; return a row or "
                "a list of edits (column, word, replacement)"
            )
        changed.append((rebuild(row, edits), edits))
    if len(wordless) == len(changed):
        raise ValueError(f"none of the {len(changed)} rows has a word that could change")
    if wordless:
        warn(
            f"no word could change in the rows {shorten(wordless)}; they stay as they are",
            stacklevel=2,
        )
    return changed


def described(perturb: Perturb) -> str:
    """Name what changes the text."""
    if isinstance(perturb, RandomEdits):
        return f"{perturb.edits} random edits a row ({perturb.mix})"
    return f"changed by {getattr(perturb, '__name__', type(perturb).__name__)}"


class Candidates(Protocol):
    """A source of words that mean the same."""

    name: str
    sha256: str

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Words that may stand where the (lower-case) word stands, nearest first."""
        ...
