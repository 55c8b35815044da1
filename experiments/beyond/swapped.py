"""Rows that a swap of persons can change, and what is counted of the answers to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from pidbook.data.groups import GroupSwap

Rows = list[dict[str, Any]]


def one_sided(rows: Sequence[Mapping[str, Any]], kind: str) -> Rows:
    """Rows that a swap can change so that the label holds, and that name one group only."""
    swap = GroupSwap(kind)
    return [dict(row) for row in rows if swap.holds(row) and min(swap.sides(row)) == 0]


def changes(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Half the sum of absolute differences of the chances (N,): 0 the same, 1 all moved."""
    a, b = (torch.from_numpy(np.asarray(x, float)).softmax(-1).numpy() for x in (before, after))
    return np.abs(a - b).sum(1) / 2


def said(logits: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Answers of each set as digits; for sets that were swapped, the change of each row."""
    fields: dict[str, Any] = {}
    for key, of in logits.items():
        fields[key] = "".join(map(str, of.argmax(1)))
        if f"{key}, swapped" in logits:
            moved = changes(of, logits[f"{key}, swapped"])
            fields[f"{key}, change"] = [round(float(v), 4) for v in moved]
    return fields


def counted(answers: Mapping[str, Any], sets: Mapping[str, Rows]) -> dict[str, dict[str, int]]:
    """Right answers by set; flips of those that were swapped."""
    counts = {}
    for key, digits in answers.items():
        if not isinstance(digits, str):
            continue
        rows = sets[key]
        if key == "contrast":  # their rows still say "entailment", which is now wrong
            right = sum(digit != "0" for digit in digits)
        else:
            right = sum(int(d) == row["label"] for d, row in zip(digits, rows, strict=True))
        counts[key] = {"right": right, "n": len(rows)}
        if f"{key}, swapped" in answers:
            pairs = zip(digits, answers[f"{key}, swapped"], strict=True)
            counts[key]["flips"] = sum(a != b for a, b in pairs)
    return counts
