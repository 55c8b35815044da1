"""States of the same word in a text and in its attacked form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from pidlib.attacks.outcomes import Outcome
from pidlib.data.alignment import Units, paired_units
from pidlib.data.batches import input_device
from pidlib.data.edits import rebuild, row_hash, words_of
from pidlib.hooks import read_states


class WordStates(NamedTuple):
    """States of the W words of one text and of its attacked form, layer by layer.

    Attributes
    ----------
    clean, attacked : (W, T + 1, d) float arrays, means over the tokens of each word
    edited : (W,) bool array, whether the attack replaced the word
    words : tuple of str, as they were
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

    A word that the tokenizer leaves out or cuts off is left out. Raises ValueError for a slow
    tokenizer, outcomes that do not belong to the rows, or a row without words.

    Parameters
    ----------
    model, tokenizer, batch_size
        As for `pidlib.evaluation.predict`; a controller may be attached.
    rows, outcomes : sequences of mappings and of Outcome, in the same order

    Returns
    -------
    list of WordStates

    Source: Table 7 (embedding errors). Departure: the paper does not say how it aligns texts.
    """
    if len(rows) != len(outcomes):
        raise ValueError(f"{len(outcomes)} outcomes for {len(rows)} rows")
    for k, outcome in enumerate(outcomes):
        if outcome.row and outcome.row != row_hash(rows[k]):
            raise ValueError(f"outcome {k} (id {outcome.id}) is not of row {k}; align the two")
    states: list[WordStates] = []
    for start in range(0, len(rows), batch_size):
        part = [rows[k] for k in range(start, min(start + batch_size, len(rows)))]
        edits = [outcome.edits for outcome in outcomes[start : start + batch_size]]
        moved = [rebuild(*pair) for pair in zip(part, edits, strict=True)]
        pair = paired_units(tokenizer, part, edits, moved, input_device(model))
        clean, attacked = (unit_means(model, units) for units in pair)
        whole = (pair[0].whole & pair[1].whole).numpy()
        words = []  # of each row as `paired_units` numbers them, and whether each was replaced
        for row, changes in zip(part, edits, strict=True):
            places = {(edit.column, edit.word) for edit in changes}
            words.append([(word, (column, k) in places) for column, k, word in words_of(row)])
        special = (len(whole) - sum(map(len, words))) // len(words)  # as many in each row
        first = 0
        for row in words:
            first += special
            units = first + np.flatnonzero(whole[first : first + len(row)])
            if not len(units):
                raise ValueError(f"row {len(states)} has no word that the tokenizer keeps whole")
            texts, edited = zip(*(row[k - first] for k in units), strict=True)
            states.append(WordStates(clean[units], attacked[units], np.array(edited), texts))
            first += len(row)
    return states


def unit_means(model: Any, units: Units) -> np.ndarray:
    """Mean states (U, T + 1, d) of each unit."""
    with torch.no_grad():
        states = read_states(model, units.inputs).values
    return torch.stack([units.means(x).cpu() for x in states], dim=1).numpy()


def relative_errors(states: Sequence[WordStates], edited: bool) -> np.ndarray:
    """Mean of |z_t - x_t| / |x_t| over words, for each state t.

    Parameters
    ----------
    states : sequence of WordStates
    edited : bool, over the words that the attack replaced, or over the others

    Returns
    -------
    (T + 1,) float array

    Source: Table 7; here relative, so that layers can be compared.
    """
    chosen = [(s.clean[s.edited == edited], s.attacked[s.edited == edited]) for s in states]
    if not any(len(x) for x, _ in chosen):
        raise ValueError(f"no word that was {'edited' if edited else 'left alone'}")
    x, z = map(np.concatenate, zip(*chosen, strict=True))
    return (np.linalg.norm(z - x, axis=-1) / np.linalg.norm(x, axis=-1)).mean(0)
