"""The contrast set: recorded answers to pairs in which one word was changed, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pidbook.evaluation.trial_results import answers
from pidlib.evaluation.statistics import Paired, compare

RESULT = "contrast-snli-minilm-nli.json"
TEXTS = ("hypothesis", "premise")
KINDS = ("number", "colour", "sex", "action", "contrary", "thing")


class Contrast(NamedTuple):
    """A pair that was entailed, until one word of its hypothesis (its own, or its premise) changed."""

    id: int
    text: str
    word: int
    replacement: str
    kind: str


def edits_of(result: Mapping[str, Any]) -> list[Contrast]:
    """Edits of a result: which word of which row became what; no text of the row."""
    return [Contrast(*edit) for edit in result["edits"]]


def by_kind(result: Mapping[str, Any], name: str) -> dict[str, Paired]:
    """Compare a contender with no control on the edited pairs, kind by kind and text by text.

    Parameters
    ----------
    result : mapping
    name : str, of the contender

    Returns
    -------
    dict of kind ("number", "colour", ...) or text ("hypothesis", "premise") to Paired
    """
    edits = edits_of(result)
    bare, bits = (answers(result, condition, "edited") for condition in ("none", name))
    parts = {kind: [edit.kind == kind for edit in edits] for kind in KINDS}
    parts |= {text: [edit.text == text for edit in edits] for text in TEXTS}
    return {key: compare(bare[at], bits[at]) for key, at in parts.items() if any(at)}


def of_rows(result: Mapping[str, Any], name: str) -> Paired:
    """Compare a contender with no control, each row of the file once; `p` is the sign test's.

    Parameters
    ----------
    result, name
        As for `by_kind`.

    Returns
    -------
    Paired, where a row is won if more of its edits are won than lost
    """
    ids = np.unique([edit.id for edit in edits_of(result)], return_inverse=True)[1]
    bare, bits = (answers(result, condition, "edited").astype(int) for condition in ("none", name))
    steps = np.bincount(ids, weights=bits - bare)
    return compare(steps < 0, steps > 0)
