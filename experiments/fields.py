"""What a result file holds: rows, model, counts, every answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.adapters import adapter_record
from pidbook.evaluation.trial_results import pack
from pidlib.data.nli import fingerprint


def answered(trial: Any, rows: Any, right: Mapping, **about: Any) -> dict[str, Any]:
    """Fields of a result: its rows and what is told about them, its model, counts, every answer."""
    return {
        "data": {"name": trial.data, "n": len(rows), "sha256": fingerprint(rows)} | about,
        "model": adapter_record(trial.model),
        "counts": counted(right),
        "examples": packed(right),
    }


def counted(right: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, dict[str, dict[str, int]]]:
    """Right answers by condition and set, and out of how many."""
    return {
        name: {key: {"right": int(bits.sum()), "n": len(bits)} for key, bits in of.items()}
        for name, of in right.items()
    }


def packed(right: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, dict[str, str]]:
    """Every answer by condition and set, as text."""
    return {name: {key: pack(bits) for key, bits in of.items()} for name, of in right.items()}
