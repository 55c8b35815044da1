"""Recorded search for gains: gradient and CMA-ES at equal work, beside the paper's grid."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.adapters import adapter_model
from experiments.beyond.controls import JacobianControls
from experiments.beyond.gains import GRID, LearntGains, evolve, learn, mean_costs
from experiments.experiment import Report, TextExperiment
from pidbook.evaluation.results import read_result
from pidlib.data.nli import fingerprint

WAYS, EQUAL, FREE = ("gradient", "CMA-ES"), "equal total", "free"
GRADIENT = 2  # passes that a gradient counts as: a forward and a backward
RECORDED = "jacobians-snli-test-minilm-nli.json"  # its laws were learnt on the same text, for less


@dataclass(frozen=True)
class GainSearch(TextExperiment):
    """Two searches for gains on one text, and what each finds is worth on fresh text."""

    resources: str = "ppdb"
    fitted_on: int = 600
    variance: float = 0.99
    learnt: int = 128
    fresh: int = 384
    passes: int = 96
    rate: float = 0.1
    size: int = 8
    spread: float = 0.7
    seed: int = 0
    stem = "gains"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Search, then weigh every law on both texts."""
        running = RunningSearch(self, results, runs, report)
        laws = running.searched()
        costs = running.costs(laws)
        rows = running.rows
        return {
            "data": {"name": "snli-validation", "n": len(rows["fresh"]),
                     "sha256": fingerprint(rows["fresh"])},
            "model": adapter_model(self.model),
            "sets": {key: {"n": len(of), "sha256": fingerprint(of)} for key, of in rows.items()},
            "counts": {key: {"n": len(of)} for key, of in rows.items()},
            "laws": laws,
            "costs": costs,
            "terms": list(running.fitted.bases.values),
            "seconds": sum(law["seconds"] for law in laws.values()) + costs.pop("seconds"),
        }  # fmt: skip


class RunningSearch(JacobianControls):
    """A search under way."""

    @cached_property
    def rows(self) -> dict[str, list[dict]]:
        """Text of the search, and fresh text."""
        return {"fit": self.fit_rows[-self.trial.learnt :], "fresh": self.held[-self.trial.fresh :]}

    @cached_property
    def parts(self) -> dict[str, list]:
        """Both in batches, clean and randomly edited."""
        return self.edited(self.rows)

    def searched(self) -> dict[str, dict[str, Any]]:
        """What each way finds at an equal total."""
        return {f"{way}, {EQUAL}": self.law(way) for way in WAYS}

    def law(self, way: str) -> dict[str, Any]:
        """A law: its numbers, its cost on the text of the search on the way, and seconds."""
        trial = self.trial

        def search() -> dict[str, Any]:
            started, law = time.perf_counter(), LearntGains(self.fitted, free=False)
            of = self.model, self.parts["fit"], law
            if way == "CMA-ES":
                path = evolve(*of, trial.passes, trial.size, trial.spread, trial.seed)
            else:
                path = learn(*of, trial.passes // GRADIENT, trial.rate, trial.seed, self.report)
            seconds = round(time.perf_counter() - started, 1)
            return law.record() | {"path": path, "seconds": seconds}

        return self.kept(f"{way}, {EQUAL}", search)

    def costs(self, laws: Mapping[str, Mapping]) -> dict[str, Any]:
        """Cost of every row under no control, the grid, the recorded laws and those searched here."""

        def weigh() -> dict[str, Any]:
            started = time.perf_counter()
            recorded = read_result(self.results / RECORDED)["learning"]["laws"]
            early = {f"early, {of}": recorded[f"learnt gains, {of}"] for of in (EQUAL, FREE)}
            grid = {s: self.fitted.retune(scheme=s, gains="paper") for s in GRID}
            every = {"none": None} | grid
            for name, of in (early | dict(laws)).items():
                every[name] = LearntGains(self.fitted, name.endswith(FREE)).take(of)
            costs = {key: mean_costs(self.model, of, every) for key, of in self.parts.items()}
            return costs | {"seconds": round(time.perf_counter() - started, 1)}

        return self.kept("costs", weigh)
