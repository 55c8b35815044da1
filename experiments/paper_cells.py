"""Accuracies, gains and times out of the paper's own tables, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from pidbook.evaluation import paper_table
from pidbook.evaluation.paper import MODELS, TRAININGS, accuracy

ATTACKS = ("A2T", "PSO", "TextBugger", "TextFooler")
ROBUST = tuple(TRAININGS)[1:]
SIZES = {"snli": 9824, "mnli": 9815}


def cells(
    tables: str | Iterable[str],
    method: str,
    first: Iterable[Any] = TRAININGS,
    models: Iterable[str] = MODELS,
    attacks: Iterable[str] = ATTACKS,
) -> np.ndarray:
    """Accuracy of a method in every cell of these rows, in percent, table by table."""
    keys = list(product(first, models, attacks, [method]))
    names = [tables] if isinstance(tables, str) else tables
    return np.array([accuracy(name)[key] for name in names for key in keys])


def gain(tables: str | Iterable[str], *where: Iterable[str], **more: Iterable[str]) -> np.ndarray:
    """Controlled less base, cell by cell."""
    return cells(tables, "controlled", *where, **more) - cells(tables, "base", *where, **more)


def z_score(base: np.ndarray, held: np.ndarray, n: int) -> np.ndarray:
    """Unpaired z of a difference of accuracies in percent, each of n answers."""
    p, q = held / 100, base / 100
    return (p - q) / np.sqrt((p * (1 - p) + q * (1 - q)) / n)


def noise(table: str, *where: Iterable[str], **more: Iterable[str]) -> np.ndarray:
    """Unpaired z of controlled less base at the size of the test set."""
    base, held = (cells(table, method, *where, **more) for method in ("base", "controlled"))
    return z_score(base, held, SIZES[table])


def opt_gain(dataset: str, attacks: Iterable[str] = ATTACKS) -> np.ndarray:
    """Controlled less base of OPT-1.3B on one data set."""
    return gain("opt", [dataset], ["OPT-1.3B"], attacks)


def anli_accuracy() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Accuracy of base and controlled in the three rounds, by split."""
    value = {(r["split"], r["method"], r["round"]): r["accuracy"] for r in paper_table("anli")}
    return {
        split: tuple(
            np.array([value[split, m, f"r{k}"] for k in (1, 2, 3)]) for m in ("base", "controlled")
        )
        for split in ("dev", "test")
    }


def pmp_gap(threshold: float) -> np.ndarray:
    """PMP less analytic, in the 15 cells of one threshold."""
    models = dict.fromkeys(row["model"] for row in paper_table("pmp"))
    where = [threshold], models, ("None", *ATTACKS)
    return cells("pmp", "pmp", *where) - cells("pmp", "analytic", *where)


def times(method: str) -> dict[str, float]:
    """Wall time of a method over that of the base model, by model."""
    seconds = {(row["model"], row["method"]): row["seconds"] for row in paper_table("wall_time")}
    return {
        m: seconds[m, method] / seconds[m, "base"] for m in dict.fromkeys(m for m, _ in seconds)
    }


def by_layer(quantity: str, component: str | None = None) -> np.ndarray:
    """Ranks of one component, or embedding errors, in the order of the layers."""
    rows = [r for r in paper_table("ranks") if r["quantity"] == quantity]
    rows = [r for r in rows if r.get("component") == component]
    return np.array([r[quantity] for r in sorted(rows, key=lambda r: r["layer"])])


def interval(values: np.ndarray) -> tuple[float, float]:
    """95 % interval of a mean, by Student's t."""
    from scipy import stats  # slow to import

    return stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
