"""States of the same word in a text and in its attacked form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from pidlib.attacks.outcomes import Outcome
from pidlib.data.batches import input_device
from pidlib.data.edits import rebuild, row_hash, word_spans
from pidlib.hooks import read_states


class WordStates(NamedTuple):
    """States of the W words of one text and of its attacked form, layer by layer.

    Attributes
    ----------
    clean, attacked : (W, T + 1, d) float arrays
        Mean over the tokens of each word.
    edited : (W,) bool array
        Whether the attack replaced the word.
    words : tuple of str
        As they were.
    """

    clean: np.ndarray
    attacked: np.ndarray
    edited: np.ndarray
    words: tuple[str, ...]


def word_states(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    outcomes: Sequence[Outcome],
    batch_size: int = 32,
) -> list[WordStates]:
    """Read the states of rows and of their attacked forms, aligned word by word.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        In evaluation mode; a controller may be attached.
    tokenizer : transformers.PreTrainedTokenizerFast
        It has to tell where each token stands in the text.
    rows : sequence of mappings
    outcomes : sequence of Outcome
        What an attack did to each row, in the same order.
    batch_size : int

    Returns
    -------
    list of WordStates
        One a row. A word that the tokenizer leaves out or cuts off is left out.

    Raises
    ------
    ValueError
        A slow tokenizer, outcomes that do not belong to the rows, or a row without words.

    Source: Table 7 (embedding errors). Departure: the paper does not say how it compares
    texts of different length; here word by word.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(f"{type(tokenizer).__name__} doesn't tell the places of its tokens")
    if len(rows) != len(outcomes):
        raise ValueError(f"{len(outcomes)} outcomes for {len(rows)} rows")
    for k, outcome in enumerate(outcomes):
        if outcome.row and outcome.row != row_hash(rows[k]):
            raise ValueError(f"outcome {k} (id {outcome.id}) is not of row {k}; align the two")
    found = []
    for start in range(0, len(rows), batch_size):
        part = [rows[k] for k in range(start, min(start + batch_size, len(rows)))]
        made = outcomes[start : start + batch_size]
        columns = [c for c in ("premise", "hypothesis", "text") if c in part[0]]
        moved = [rebuild(row, o.edits) for row, o in zip(part, made, strict=True)]
        places = [_places(row, o, columns) for row, o in zip(part, made, strict=True)]
        before = _read(model, tokenizer, part, columns, [p.clean for p in places])
        after = _read(model, tokenizer, moved, columns, [p.attacked for p in places])
        for place, x, z in zip(places, before, after, strict=True):
            keep = [k for k in range(len(x)) if x[k] is not None and z[k] is not None]
            if not keep:
                raise ValueError(f"row {len(found)} has no word that the tokenizer keeps whole")
            found.append(
                WordStates(
                    np.stack([x[k] for k in keep]),
                    np.stack([z[k] for k in keep]),
                    place.edited[keep],
                    tuple(place.words[k] for k in keep),
                )
            )
    return found


class _Places(NamedTuple):
    """Column number, first and last character of each word, before and after the attack."""

    clean: list[tuple[int, int, int]]
    attacked: list[tuple[int, int, int]]
    edited: np.ndarray
    words: list[str]


def _places(row: Mapping[str, Any], outcome: Outcome, columns: Sequence[str]) -> _Places:
    new = {(edit.column, edit.word): edit.replacement for edit in outcome.edits}
    clean, attacked, edited, words = [], [], [], []
    for number, column in enumerate(columns):
        shift = 0
        for k, (start, end) in enumerate(word_spans(row[column])):
            word = row[column][start:end]
            now = new.get((column, k), word)
            clean.append((number, start, end))
            attacked.append((number, start + shift, start + shift + len(now)))
            edited.append((column, k) in new)
            words.append(word)
            shift += len(now) - len(word)
    return _Places(clean, attacked, np.array(edited, dtype=bool), words)


def _read(
    model: Any, tokenizer: Any, rows: list, columns: Sequence[str], places: list
) -> list[list[np.ndarray | None]]:
    """Mean state (T + 1, d) of each word of each row, None where it has no token."""
    inputs = tokenizer(
        *([row[c] for row in rows] for c in columns),
        padding=True,
        truncation=True,
        max_length=256,
        return_tensors="pt",
        return_offsets_mapping=True,
    )
    offsets = inputs.pop("offset_mapping").numpy()
    with torch.no_grad():
        states = read_states(model, inputs.to(input_device(model))).values
    stack = torch.stack([x.float().cpu() for x in states], dim=2).numpy()  # (B, l, T + 1, d)
    found = []
    for b, spans in enumerate(places):
        owner = np.array([-1 if s is None else s for s in inputs.sequence_ids(b)])
        starts, ends = offsets[b, :, 0], offsets[b, :, 1]
        means: list[np.ndarray | None] = []
        for number, start, end in spans:
            # some tokenizers count the space before a word to its first token
            inside = (owner == number) & (starts < end) & (ends > start) & (ends > starts)
            whole = inside.any() and ends[inside].max() >= end
            means.append(stack[b, inside].mean(0) if whole else None)
        found.append(means)
    return found


def relative_errors(states: Sequence[WordStates], edited: bool) -> np.ndarray:
    """Mean of |z_t - x_t| / |x_t| over words, for each state t.

    Parameters
    ----------
    states : sequence of WordStates
    edited : bool
        Over the words that the attack replaced, or over the others.

    Returns
    -------
    (T + 1,) float array

    Raises
    ------
    ValueError
        No such word.

    Source: Table 7; here relative, so that layers can be compared.
    """
    parts = [
        np.linalg.norm(s.attacked - s.clean, axis=-1) / np.linalg.norm(s.clean, axis=-1)
        for s in states
    ]
    chosen = [p[s.edited == edited] for p, s in zip(parts, states, strict=True)]
    values = np.concatenate(chosen) if chosen else np.zeros((0, 1))
    if not len(values):
        raise ValueError(f"no word that was {'edited' if edited else 'left alone'}")
    return values.mean(0)
