"""Attacked text as edits of the original: which word became what."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic import NonNegativeInt

COLUMNS = ("premise", "hypothesis", "text")

# TextAttack's words: runs of letters, digits and "'-_*@", the latter not at either end.
# Three of its homoglyphs are no letters to Python, so it names them.
_LETTER = r"(?:[^\W_]|[˗`×])"
_WORD = re.compile(rf"{_LETTER}(?:[\w˗`×'\-*@]*{_LETTER})?")
_STATES = 32  # partial alignments kept; the true one is nearly always the cheapest
_REACH = 8  # a replacement may contain up to this many copies of what follows the word


class Edit(NamedTuple):
    """One word replaced.

    Attributes
    ----------
    column : str, `premise`, `hypothesis` or `text`
    word : int, place of the word in the column, from 0
    replacement : str, what stands there now
    """

    column: str
    word: NonNegativeInt
    replacement: str


def word_spans(text: str) -> list[tuple[int, int]]:
    """Places of the words of a text, as TextAttack splits it.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of (start, end)

    Examples
    --------
    >>> word_spans("It isn't 'late'.")
    [(0, 2), (3, 8), (10, 14)]

    Source: `words_from_text` of TextAttack 0.3.11. Departure: no Chinese segmentation.
    """
    return [word.span() for word in _WORD.finditer(text)]


def reworded(text: str, change: Callable[[str], str]) -> str:
    """Return a text with each word changed, and all else as it is."""
    return _WORD.sub(lambda word: change(word[0]), text)


def text_columns(row: Mapping[str, Any]) -> list[str]:
    """Columns of a row that hold text."""
    return [column for column in COLUMNS if isinstance(row.get(column), str)]


def words_of(row: Mapping[str, Any]) -> list[tuple[str, int, str]]:
    """Column, place and text of each word of a row."""
    return [
        (column, k, row[column][start:end])
        for column in text_columns(row)
        for k, (start, end) in enumerate(word_spans(row[column]))
    ]


def rebuild(row: Mapping[str, Any], edits: Sequence[Edit]) -> dict[str, Any]:
    """Apply edits to a copy of the row they were made for; ValueError where they do not fit it.

    Parameters
    ----------
    row, edits : mapping with `premise` and `hypothesis`, or `text`; sequence of Edit

    Returns
    -------
    dict

    Examples
    --------
    >>> rebuild({"text": "A man rides a bike.", "label": 1}, [Edit("text", 4, "bicycle")])
    {'text': 'A man rides a bicycle.', 'label': 1}
    """
    changed = dict(row)
    for column in dict.fromkeys(column for column, *_ in edits):
        if not isinstance(row.get(column), str):
            raise ValueError(f"the edits name the column {column!r}; the row has {sorted(row)}")
        spans, text = word_spans(row[column]), row[column]
        new = {word: replacement for place, word, replacement in edits if place == column}
        if outside := [word for word in new if not 0 <= word < len(spans)]:
            raise ValueError(
                f"the edits change word {outside[0]} of {column!r}, which has {len(spans)} words; "
                "they were made for another row"
            )
        for word in sorted(new, reverse=True):
            start, end = spans[word]
            text = text[:start] + new[word] + text[end:]
        changed[column] = text
    return changed


def find_edits(row: Mapping[str, Any], attacked: Mapping[str, str]) -> tuple[Edit, ...]:
    """Edits that turn the row's text into the attacked text; ValueError where words only moved.

    Of all ways to cut the attacked text between the original's separators, it is the one that
    changes the fewest words (then the fewest letters). A split word stays one edit.

    Parameters
    ----------
    row, attacked : mapping of column name to text

    Returns
    -------
    tuple of Edit

    Examples
    --------
    >>> find_edits({"text": "The man is running."}, {"text": "The man is ru nning."})
    (Edit(column='text', word=3, replacement='ru nning'),)
    """
    edits = tuple(
        Edit(column, word, replacement)
        for column, text in attacked.items()
        if text != row[column]
        for word, replacement in _align(row[column], text)
    )
    again = rebuild(row, edits)
    if wrong := [column for column, text in attacked.items() if again[column] != text]:
        raise ValueError(f"the attacked {wrong[0]} is not the original with words replaced")
    return edits


def _align(original: str, attacked: str) -> list[tuple[int, str]]:
    """Cheapest assignment of pieces of the attacked text to the original's words."""
    spans = word_spans(original)
    if not spans:
        return []
    words = [original[start:end] for start, end in spans]
    gaps = [original[end:start] for (_, end), (start, _) in pairwise(spans)]
    tail = original[spans[-1][1] :]
    # place in the attacked text -> (cost, pieces so far)
    states: dict[int, tuple[float, tuple[str, ...]]] = {spans[0][0]: (0.0, ())}
    for word, gap in zip(words, gaps, strict=False):
        following: dict[int, tuple[float, tuple[str, ...]]] = {}
        for place, (cost, pieces) in states.items():
            end = place - 1
            for _ in range(_REACH):
                if (end := attacked.find(gap, end + 1)) < 0:
                    break
                piece = attacked[place:end]
                total, key = cost + _cost(word, piece), end + len(gap)
                if key not in following or total < following[key][0]:
                    following[key] = (total, (*pieces, piece))
        cheapest = sorted(following.items(), key=lambda item: (item[1][0], item[0]))
        states = dict(cheapest[:_STATES])
    end = len(attacked) - len(tail)
    ways = [
        (cost + _cost(words[-1], attacked[place:end]), (*pieces, attacked[place:end]))
        for place, (cost, pieces) in states.items()
        if place <= end and attacked.endswith(tail)
    ]
    pieces = min(ways)[1] if ways else words
    return [(k, new) for k, (old, new) in enumerate(zip(words, pieces, strict=True)) if old != new]


def _cost(word: str, piece: str) -> float:
    return 0.0 if word == piece else 2.0 - SequenceMatcher(None, word, piece, False).ratio()


def row_hash(row: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits that tell one row's text and label from another's."""
    content = {key: row[key] for key in (*COLUMNS, "label") if key in row}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
