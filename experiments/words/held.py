"""Recorded answers, row by row, on the held-out pairs that corrections are chosen on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.experiment import Report
from experiments.trial import held_rows
from experiments.words.contrast import Contenders, ContendersTrial
from pidlib.data.perturbations import perturbed_rows


@dataclass(frozen=True)
class HeldTrial(ContendersTrial):
    """No control, a fixed law, the trained fit and the closed form, as the trial chose them."""

    mix: str = "both"
    stem, split = "held", False

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Judge them on the held-out pairs, as they are and changed as the choice changed them."""
        contenders = Contenders(self, runs, report)
        held = [dict(row) for row in held_rows(self.data)]
        changed = perturbed_rows(held, contenders.recorded.edits(self.mix), self.seed + 1)
        sets = {"clean": held, "perturbed": [row for row, _ in changed]}
        return contenders.answers(contenders.names[:4], sets, name="snli-validation")
