"""Rows that experiments fit on."""

from __future__ import annotations

import hashlib

from datasets import Dataset

from pidlib.data.nli import load_nli

HELD_OUT = 1000


def fit_rows(data: str, n: int) -> Dataset:
    """Return the pairs that subspaces are fitted on when a model is judged on `data`.

    Captions: the training split. All else: SNLI's validation file without the held-out
    pairs, as in the training.
    """
    if data == "captions":
        return load_nli("captions", split="train", n=n)
    kept, _ = hold_out(load_nli("snli-validation"), HELD_OUT)
    return kept.select(range(min(n, len(kept))))


def hold_out(rows: Dataset, n: int) -> tuple[Dataset, Dataset]:
    """Set exactly n rows aside for validation, premises by sha256; no premise is in both parts."""
    if not 1 <= n < len(rows):
        raise ValueError(f"cannot hold out {n} of {len(rows)} rows")
    keys = [hashlib.sha256(premise.encode()).hexdigest() for premise in rows["premise"]]
    held = sorted(range(len(rows)), key=keys.__getitem__)[:n]
    used = {keys[k] for k in held}
    rest = [k for k, key in enumerate(keys) if key not in used]
    return rows.select(rest), rows.select(sorted(held))
