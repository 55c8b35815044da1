"""Which tokens belong to which word, in a text and in its changed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pidlib.data.batches import MAX_LENGTH
from pidlib.data.edits import Edit, text_columns, word_spans


class Units(NamedTuple):
    """Tokens of a batch by unit: words, and the model's own tokens such as [CLS]."""

    inputs: Mapping[str, Tensor]
    owner: Tensor
    whole: Tensor

    def means(self, x: Tensor) -> Tensor:
        """Mean state (U, d) of each unit, in double precision; 0 for one without tokens."""
        flat, owner = x.reshape(-1, x.shape[-1]), self.owner.reshape(-1).to(x.device)
        inside = owner >= 0
        sums = flat.new_zeros(len(self.whole), flat.shape[-1], dtype=torch.float64)
        sums.index_add_(0, owner[inside], flat[inside].double())
        return sums / self.sizes().clamp_min(1).to(x.device)[:, None]

    def sizes(self) -> Tensor:
        """How many tokens (U,) each unit has."""
        owner = self.owner.reshape(-1)
        return torch.bincount(owner[owner >= 0], minlength=len(self.whole))


def paired_units(
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    edits: Sequence[Sequence[Edit]],
    changed: Sequence[Mapping[str, Any]],
    device: torch.device | str = "cpu",
    max_length: int = MAX_LENGTH,
    skip_first: int = 0,
) -> tuple[Units, Units]:
    """Tokenise rows and their changed forms, with one numbering of words for both.

    A word with one of a text's first `skip_first` tokens counts as cut off.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"{type(tokenizer).__name__} doesn't tell the places of its tokens; use a fast one"
        )
    columns = text_columns(rows[0])
    for k, row in enumerate([*rows, *changed]):
        if text_columns(row) != columns or not columns:
            raise ValueError(
                f"row {k % len(rows)} has text in other columns than the first, {columns}; give "
                "all rows the same of premise and hypothesis, or text"
            )
    pairs = [_spans(row, of, columns) for row, of in zip(rows, edits, strict=True)]
    units = []
    for form, spans in zip((rows, changed), zip(*pairs, strict=True), strict=True):
        texts = [[row[column] for row in form] for column in columns]
        inputs, owner, whole = _units(tokenizer, texts, spans, max_length)
        first = owner[:, :skip_first]
        whole[first[first >= 0]] = False
        units.append(Units({k: value.to(device) for k, value in inputs.items()}, owner, whole))
    return tuple(units)


def _spans(
    row: Mapping[str, Any], edits: Sequence[Edit], columns: Sequence[str]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Places (words, 2) of the words in each column, before the edits and after."""
    before, after = [], []
    for column in columns:
        spans = np.array(word_spans(row[column]), dtype=int).reshape(-1, 2)
        one_more_change = np.zeros(len(spans) + 1, dtype=int)
        for _, k, new in (edit for edit in edits if edit.column == column):
            one_more_change[k + 1] = len(new) - (spans[k, 1] - spans[k, 0])
        one_more_change = one_more_change.cumsum()
        before.append(spans)
        after.append(spans + np.stack([one_more_change[:-1], one_more_change[1:]], axis=1))
    return before, after


def _units(tokenizer: Any, texts: list[list[str]], spans: Sequence, max_length: int) -> Units:
    inputs = tokenizer(
        *texts,
        padding=True,
        padding_side="right",  # the two texts are padded apart: on the left, places would move
        truncation=True,
        max_length=max_length,
        return_tensors="pt",
        return_offsets_mapping=True,
    )
    offsets, real = inputs.pop("offset_mapping").numpy(), inputs["attention_mask"].numpy()
    owner = np.full(real.shape, -1)
    whole: list[bool] = []
    for b, columns_of_row in enumerate(spans):
        sides = np.array([-1 if s is None else s for s in inputs.sequence_ids(b)])
        special = np.flatnonzero((sides < 0) & (real[b] > 0))
        owner[b, special] = len(whole) + np.arange(len(special))
        whole += [True] * len(special)
        for side, places in enumerate(columns_of_row):
            tokens = np.flatnonzero((sides == side) & (offsets[b, :, 1] > offsets[b, :, 0]))
            # some tokenizers count the space before a word to its first token
            word = np.searchsorted(places[:, 0], offsets[b, tokens, 1] - 1, side="right") - 1
            tokens, word = tokens[word >= 0], word[word >= 0]
            inside = offsets[b, tokens, 1] <= places[word, 1]
            tokens, word = tokens[inside], word[inside]
            owner[b, tokens] = len(whole) + word
            starts, ends = offsets[b, tokens].T
            opened, closed = word[starts <= places[word, 0]], word[ends == places[word, 1]]
            whole += np.isin(np.arange(len(places)), np.intersect1d(opened, closed)).tolist()
    return Units(inputs, torch.from_numpy(owner), torch.tensor(whole, dtype=torch.bool))
