"""Text as batches of tokens: sorted by length, padded no further than needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import nn

from pidlib.data.labels import check_labels

MAX_LENGTH = 256


@dataclass(frozen=True)
class Batch:
    """Some rows as one padded batch.

    Attributes
    ----------
    indices : (B,) int array
        Places of the rows in the sequence given.
    inputs : mapping of str to (B, l) tensor
        What the model's forward takes, `attention_mask` included.
    labels : (B,) int64 tensor or None
        None when the rows carry no label.
    truncated : int
        Number of rows of this batch cut at the maximum length.
    """

    indices: np.ndarray
    inputs: Mapping[str, torch.Tensor]
    labels: torch.Tensor | None
    truncated: int


def texts(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str] | None]:
    """First and second texts of the rows (second None for single sentences)."""
    if len(rows) == 0:
        raise ValueError("there are no rows: give at least one example")
    first, second = [], []
    for place in range(len(rows)):
        row = rows[place]
        if "premise" in row and "hypothesis" in row:
            first.append(row["premise"])
            second.append(row["hypothesis"])
        elif "text" in row:
            first.append(row["text"])
        else:
            raise ValueError(
                f"row {place} has the keys {sorted(row)}; it needs 'premise' and 'hypothesis', "
                "or 'text' for a single sentence"
            )
    if second and len(second) != len(first):
        raise ValueError("some rows are pairs and some single sentences; give one kind")
    return first, second or None


WINDOW = 64  # batches that a stream is sorted within


def streamed(
    tokenizer: Any,
    rows: Iterable[Mapping[str, Any]],
    batch_size: int = 32,
    max_length: int = MAX_LENGTH,
    device: torch.device | str | None = None,
    num_labels: int | None = None,
) -> Iterator[Batch]:
    """Yield a stream of rows as batches, without holding more than a few thousand of them.

    As `batches`, but sorted by length within windows of 64 batches only. The indices count
    from the start of the stream.

    Parameters
    ----------
    tokenizer, batch_size, max_length, device, num_labels
        As for `batches`.
    rows : iterable of mappings
        Read once, from its start; for example a data set of `datasets` that streams.

    Yields
    ------
    Batch

    Raises
    ------
    ValueError
        As `batches`; no row in the stream.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it must be at least 1")
    source, seen = iter(rows), 0
    while window := list(islice(source, WINDOW * batch_size)):
        for batch in batches(tokenizer, window, batch_size, max_length, device, num_labels):
            yield replace(batch, indices=batch.indices + seen)
        seen += len(window)
    if not seen:
        raise ValueError("there are no rows: give at least one example")


def batches(
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    batch_size: int = 32,
    max_length: int = MAX_LENGTH,
    device: torch.device | str | None = None,
    num_labels: int | None = None,
) -> Iterator[Batch]:
    """Yield the rows as batches, longest first.

    Rows of like length share a batch, so little is spent on padding; the longest
    come first, so that a lack of memory shows at once.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase
        The model's own tokenizer; its padding side is kept.
    rows : sequence of mappings
        Keys `premise` and `hypothesis` (or `text`), and `label` if known.
    batch_size : int
        Rows per batch, at least 1.
    max_length : int
        Tokens per row, special tokens included; longer rows are cut and counted.
    device : torch.device, optional
        Where the tensors go.
    num_labels : int, optional
        When given, labels are checked to lie in 0 .. num_labels - 1.

    Yields
    ------
    Batch

    Raises
    ------
    ValueError
        No rows, keys missing, `batch_size` below 1, or a label out of range.

    Source: ours (text over 256 tokens is truncated and counted).
    """
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it must be at least 1")
    first, second = texts(rows)
    labels = None
    if "label" in rows[0]:
        labels = [rows[k]["label"] for k in range(len(rows))]
        if num_labels is not None:
            labels = check_labels(labels, num_labels)
    encoded = tokenizer(first, second, truncation=False, verbose=False)["input_ids"]
    lengths = np.array([len(ids) for ids in encoded])
    order = np.argsort(-lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        part = order[start : start + batch_size]
        inputs = tokenizer(
            [first[k] for k in part],
            [second[k] for k in part] if second else None,
            truncation=True,
            max_length=max_length,
            padding=True,
            return_tensors="pt",
        )
        if device is not None:
            inputs = inputs.to(device)
        yield Batch(
            indices=part,
            inputs=dict(inputs),
            labels=None if labels is None else torch.tensor([labels[k] for k in part]),
            truncated=int((lengths[part] > max_length).sum()),
        )


def input_device(model: nn.Module) -> torch.device:
    """Return the device that a model's inputs have to be on.

    Where accelerate keeps the weights in memory or on disk, they have no device of their own
    between two calls; its hooks know where they run.
    """
    own = next(model.parameters()).device
    if own.type != "meta":
        return own
    hooks = (getattr(module, "_hf_hook", None) for module in model.modules())
    found = (getattr(hook, "execution_device", None) for hook in hooks)
    device = next((one for one in found if one is not None), "cpu")
    return torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
