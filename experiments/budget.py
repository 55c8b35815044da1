"""What the paper's whole grid costs: attacks counted here, model sizes timed here."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pidbook.evaluation import paper_table
from pidbook.evaluation.results import read_result

TABLES = ("snli", "mnli", "opt")  # ANLI's rows are attacked already
TRIAL, COST = "trial-snli-test-minilm-nli.json", "bench-cost.json"


class Budget(NamedTuple):
    """What attacking one of the paper's models costs."""

    model: str
    grids: int
    forwards: int
    model_hours: float
    search_hours: float


def grid_budget(results: Path, n: int = 1000) -> list[Budget]:
    """Estimate the cost of the paper's attacks on n rows each from what was measured.

    A search asks for so many forwards a row; a forward of the model's true size takes so long
    on one machine. Both are read from result files. Judging under every
    control is left out: it is a few forwards a row.
    """
    trial = read_result(results / TRIAL)
    recipes = [trial["attacks"][name] for name in trial["configuration"]["recipes"]]
    forwards = sum(r["forwards"] / r["n"] for r in recipes)
    search = sum(r["seconds"] / r["n"] for r in recipes)
    sizes = read_result(results / COST)["counts"]["sizes"]
    plain = [size for size in sizes if size["layers"] == "published"]  # "all" timed it again
    largest = {s["model"]: s for s in sorted(plain, key=lambda s: s["batch"])}
    grids: dict[str, set[tuple[str, str]]] = {}
    for table in TABLES:
        for row in paper_table(table):
            grids.setdefault(row["model"], set()).add((row["training"], row["dataset"]))
    budgets = []
    for name, parts in grids.items():
        size = largest[name]
        read = len(parts) * n * forwards
        hours = read * size["base_seconds"] / size["batch"] / 3600
        budgets.append(Budget(name, len(parts), round(read), hours, len(parts) * n * search / 3600))
    return budgets
