"""Recorded answers, row by row, on pairs that chose nothing: as they are, changed, and turned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.experiment import Report
from experiments.words.contrast import Contenders, ContendersTrial
from pidbook.evaluation.contrast_rows import contrasts, edited
from pidlib.attacks.wordnet import WordNet
from pidlib.data.nli import load_nli
from pidlib.data.perturbations import perturbed_rows


@dataclass(frozen=True)
class FreshTrial(ContendersTrial):
    """No control, a fixed law, the trained fit and the closed form, as the trial chose them."""

    after: int = 3000
    mix: str = "both"
    stem, split = "fresh", False

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Judge them on the pairs, on random edits of them, and where one word turns the meaning."""
        contenders = Contenders(self, runs, report)
        rows = [dict(row) for row in load_nli(self.data)]
        edits = contrasts(rows, range(self.after, len(rows)), WordNet(), self.seed)
        fresh = rows[self.after :]
        changed = perturbed_rows(fresh, contenders.recorded.edits(self.mix), self.seed + 1)
        sets = {
            "clean": fresh,
            "perturbed": [row for row, _ in changed],
            "edited": edited(rows, edits),
        }
        names = *contenders.names[:4], contenders.longer_fit
        return contenders.answers(names, sets, name=self.data)
