"""Recorded split of a trial by the right answer: the pairs on which a control leads a random push."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.adapters import adapter_model
from experiments.experiment import Report, TextExperiment
from pidbook.evaluation.results import read_result
from pidbook.evaluation.trial_results import answers, control_name, stored_rows
from pidlib.attacks.attack import RECIPES
from pidlib.data.labels import LABELS
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.accuracy import bootstrap


@dataclass(frozen=True)
class ByAnswer(TextExperiment):
    """The attacked rows of a trial under no control, P-D, and the mean of its random pushes."""

    variance: float = 0.99
    stem = "by-answer"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Count right answers, and pair control and push, for each right answer by itself."""
        trial = read_result(results / f"trial-{self.data}-{self.model}.json")
        rows = load_nli(self.data, split="test" if self.data == "captions" else None)
        name, counts, leads = control_name("PD", self.variance), {}, {}
        pushes = [c for c in trial["examples"] if c.startswith(f"{name}: noise ")]
        for recipe in RECIPES:
            attacked = stored_rows(rows, self.data, recipe, results, self.model)
            free = answers(trial, "none", recipe)
            right = np.array([row["label"] for row in attacked[: len(free)]])
            held = answers(trial, name, recipe).astype(float)
            pushed = np.mean([answers(trial, c, recipe) for c in pushes], axis=0)
            counts[recipe], leads[recipe] = {}, {}
            for k, label in enumerate(LABELS):
                parts = {"none": free, name: held, "noise": pushed}
                sums = {c: float(of[right == k].sum()) for c, of in parts.items()}
                counts[recipe][label] = {"n": int((right == k).sum())} | sums
                lead = (held - pushed)[right == k]
                leads[recipe][label] = [float(lead.mean()), *map(float, bootstrap(lead))]
            report(f"{recipe}: {leads[recipe]}")
        first = rows.select(range(len(free)))
        return {
            "data": {"name": self.data, "n": len(free), "sha256": fingerprint(first)},
            "model": adapter_model(self.model),
            "counts": counts,
            "lead": leads,
            "pushes": len(pushes),
        }
