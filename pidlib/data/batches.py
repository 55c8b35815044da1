"""Text as batches of tokens: sorted by length, padded no further than needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import nn

from pidlib.data.rows import as_rows, stream_rows, text_keys

MAX_LENGTH = 256
WINDOW = 64  # batches that a stream is sorted within
_POSITIONS = ("position_embeddings", "position_embedding", "embed_positions", "wpe")
_SETTINGS = {"truncation": True, "padding": True, "return_tensors": "pt"}


@dataclass(frozen=True)
class Batch:
    """Some rows as one padded batch.

    Attributes
    ----------
    indices : (B,) int array, places of the rows in the sequence given
    inputs : mapping of str to (B, l) tensor, what the model's forward takes
    labels : (B,) int64 tensor, or None when the rows carry no label
    truncated : int, rows of this batch cut at the maximum length
    """

    indices: np.ndarray
    inputs: Mapping[str, torch.Tensor]
    labels: torch.Tensor | None
    truncated: int


def texts(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str] | None]:
    """First and second texts of the rows (second None for single sentences)."""
    pairs = [tuple(row[key] for key in text_keys(row)) for row in as_rows(rows)]
    if len({len(pair) for pair in pairs}) > 1:
        raise ValueError("some rows are pairs and some single sentences; give one kind")
    first, *second = map(list, zip(*pairs, strict=True))
    return first, second[0] if second else None


def encode(
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    max_length: int = MAX_LENGTH,
    device: torch.device | str | None = None,
) -> dict[str, torch.Tensor]:
    """Return rows as what a model's forward takes: one padded batch of tokens.

    Parameters
    ----------
    tokenizer : the model's own
    rows : rows of any kind that `PIDController.fit` takes
    max_length : int, tokens per row; longer rows are cut
    device : torch.device, optional

    Returns
    -------
    dict of str to (B, l) tensor

    Raises
    ------
    ValueError
        No rows, rows of another kind, or pairs and single sentences mixed.

    Examples
    --------
    >>> from pidlib import load_model
    >>> model, tokenizer = load_model("minilm-nli")
    >>> encode(tokenizer, [{"premise": "A dog runs.", "hypothesis": "It runs."}])["input_ids"].shape
    torch.Size([1, 10])
    """
    inputs = tokenizer(*texts(rows), max_length=max_length, **_SETTINGS)
    return {key: value.to(device=device) for key, value in inputs.items()}


def continued(
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    max_length: int = MAX_LENGTH,
    device: torch.device | str | None = None,
) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Pairs of a prompt and its continuation as arguments (B, l), and where the latter stands."""
    if texts(rows)[1] is None:
        raise ValueError(
            "a language model is fitted on prompts with a continuation: give rows with 'premise' "
            "(the prompt) and 'hypothesis' (what follows, with its space)"
        )
    encoded = tokenizer(*texts(rows), max_length=max_length, **_SETTINGS)
    sides = [encoded.sequence_ids(b) for b in range(len(rows))]
    follows = torch.tensor([[side == 1 for side in row] for row in sides], device=device)
    if not follows.any(1).all():
        row = rows[int((~follows.any(1)).nonzero()[0])]
        raise ValueError(
            f"nothing of the continuation of {row['premise'][:40]!r} is left within "
            f"{max_length} tokens; give rows with a continuation and shorter prompts"
        )
    return {key: value.to(device=device) for key, value in encoded.items()}, follows


def batches(
    tokenizer: Any,
    rows: Iterable[Mapping[str, Any]],
    batch_size: int = 32,
    max_length: int = MAX_LENGTH,
    device: torch.device | str | None = None,
    positions: int | None = None,
) -> Iterator[Batch]:
    """Yield the rows as batches, longest first.

    Rows of like length share a batch, so little is spent on padding. A stream (what has no
    length) is read once, never held, and sorted within windows of 64 batches. Raises ValueError
    for no rows, rows of another kind, a `batch_size` below 1, or a row longer than `positions`.

    Parameters
    ----------
    tokenizer : the model's own; its padding side is kept
    rows : rows of any kind that `PIDController.fit` takes, with `label` if known
    batch_size, max_length : int, rows per batch, and tokens per row; longer rows are cut
    device : torch.device, optional
    positions : int, optional, of the model (`positions_of`)

    Yields
    ------
    Batch
    """
    whole_number("batch_size", batch_size, 1)
    source, start = stream_rows(rows), 0
    size = None if isinstance(rows, Sized) else WINDOW * batch_size
    while window := list(islice(source, size)):
        lengths = token_lengths(tokenizer, window, max_length, positions, start)
        order = np.argsort(-lengths, kind="stable")
        for part in np.split(order, range(batch_size, len(order), batch_size)):
            chosen = [window[k] for k in part]
            yield Batch(
                indices=part + start,
                inputs=encode(tokenizer, chosen, max_length, device),
                labels=_labels(chosen),
                truncated=int((lengths[part] > max_length).sum()),
            )
        start += len(window)
    if not start:
        raise ValueError("there are no rows: give at least one example")


def whole_number(name: str, value: Any, least: int) -> None:
    """Refuse a setting that is no whole number, or too small a one, by its name."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {value!r}; give a whole number, {least} or more")


def token_lengths(
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    max_length: int = MAX_LENGTH,
    positions: int | None = None,
    start: int = 0,
) -> np.ndarray:
    """Tokens (N,) of each row, uncut; one that a model has too few positions for is refused by name."""
    first, second = texts(rows)
    added = getattr(tokenizer, "num_special_tokens_to_add", lambda pair: 0)(second is not None)
    whole_number("max_length", max_length, added + 1)  # else the tokenizer cuts nothing, in silence
    encoded = tokenizer(first, second, truncation=False, verbose=False)["input_ids"]
    lengths = np.array([len(ids) for ids in encoded])
    longest = int(lengths.argmax())
    if positions is not None and min(lengths[longest], max_length) > positions:
        raise ValueError(
            f"row {start + longest} has {lengths[longest]} tokens, and the model positions for "
            f"{positions}; give max_length={positions}, or shorter texts"
        )
    return lengths


def memoised(memory: dict, keys: Sequence[Any], ask: Callable[[list], Iterable[Any]]) -> list:
    """What a memory holds of keys; those that it lacks are asked for first, together, each once."""
    if unseen := [key for key in dict.fromkeys(keys) if key not in memory]:
        memory.update(zip(unseen, ask(unseen), strict=True))
    return [memory[key] for key in keys]


def _labels(rows: Sequence[Mapping[str, Any]]) -> torch.Tensor | None:
    """The labels of rows; None where some row has none, or a name in its place."""
    labels = [row.get("label") for row in rows]
    return torch.tensor(labels) if all(isinstance(x, Real) for x in labels) else None


def input_device(model: nn.Module) -> torch.device:
    """Return the device that a model's inputs have to be on."""
    own = next(model.parameters()).device
    if own.type != "meta":
        return own
    # accelerate keeps the weights elsewhere between two calls; its hooks know where they run
    hooks = (getattr(module, "_hf_hook", None) for module in model.modules())
    devices = (getattr(hook, "execution_device", None) for hook in hooks)
    device = next((device for device in devices if device is not None), "cpu")
    return torch.device("cuda", device) if isinstance(device, int) else torch.device(device)


def positions_of(model: nn.Module) -> int | None:
    """Return how many tokens a model has learnt positions for; None where they have no table."""
    return min(
        (
            table.num_embeddings - _first_position(table)
            for name, table in model.named_modules()
            if isinstance(table, nn.Embedding) and name.rpartition(".")[2] in _POSITIONS
        ),
        default=None,
    )


def _first_position(table: nn.Embedding) -> int:
    """Place of the first token's entry: after the padding's in RoBERTa, at 2 in OPT and BART."""
    after_padding = 0 if table.padding_idx is None else table.padding_idx + 1
    return getattr(table, "offset", after_padding)
