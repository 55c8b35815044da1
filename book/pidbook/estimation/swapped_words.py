"""Directions in which a swap of words moves the states of these words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from pidlib.controller import free_blocks
from pidlib.data.alignment import paired_units
from pidlib.data.batches import input_device
from pidlib.data.edits import Edit, rebuild
from pidlib.estimation.layerwise import state_of, text_lengths

BATCH = 64


class SwappedWords(NamedTuple):
    """What a swap does to the first states of words.

    Attributes
    ----------
    directions : (d, d) tensor, orthonormal columns, those that the swap moves most come first
    mean : (d,) tensor, of the states of swapped words
    threshold : float, half the mean length of their deviation in the first two directions
    """

    directions: Tensor
    mean: Tensor
    threshold: float


def swapped_words(
    model: nn.Module,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    swap: Callable[[Mapping[str, Any]], Sequence[Edit]],
) -> SwappedWords:
    """Fit on rows and their swaps; no label is used."""
    blocks = free_blocks(model)
    rows = [rows[int(k)] for k in text_lengths(rows).argsort(kind="stable")]  # little padding
    moment, total, words = 0, 0, []
    for start in range(0, len(rows), BATCH):
        part = rows[start : start + BATCH]
        edits = [swap(row) for row in part]
        swapped = [rebuild(row, of) for row, of in zip(part, edits, strict=True)]
        pair = paired_units(tokenizer, part, edits, swapped, input_device(model))
        whole = pair[0].whole & pair[1].whole
        with torch.inference_mode():
            before, after = (
                units.means(state_of(blocks, units.inputs, 0, {}))[whole].cpu() for units in pair
            )
        steps = after - before
        changed = steps.norm(dim=1) > 1e-3 * before.norm(dim=1)
        moment = moment + steps.T @ steps
        total = total + ((after + before)[changed] / 2).sum(0)
        words += [before[changed], after[changed]]
    if not sum(map(len, words)):
        raise ValueError("the swap changes no word of the rows")
    marked = torch.cat(words)
    mean = total / (len(marked) / 2)
    directions = torch.linalg.eigh(moment).eigenvectors.flip(1).contiguous()
    lengths = ((marked - mean) @ directions[:, :2]).norm(dim=1)
    return SwappedWords(directions, mean, float(lengths.mean()) / 2)
