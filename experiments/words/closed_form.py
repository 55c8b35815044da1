"""Recorded errors of a closed form, state by state; and what richer maps change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.adapters import adapter_model
from experiments.experiment import Report, TextExperiment
from pidbook.analysis import memory_shares
from pidlib.attacks.synonyms import candidates
from pidlib.data.nli import fingerprint, load_nli
from pidlib.data.perturbations import RandomEdits
from pidlib.estimation.estimator import Estimator
from pidlib.models import load_model


@dataclass(frozen=True)
class ClosedForm(TextExperiment):
    """A closed form fitted to typos and measured on other rows; regressions that know more."""

    data: str = "captions"
    fitted_on: int = 600
    n: int = 150
    shares_of: int = 800
    resources: str = "lexicon"
    seed: int = 0
    stem = "closed-form"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Return the errors before and after each map, and those of `memory_shares`."""
        model, tokenizer = load_model(self.model)
        train = load_nli(self.data, split="train", n=max(self.fitted_on, self.shares_of))
        test, typos = load_nli(self.data, split="test", n=self.n), RandomEdits("typos")

        def fitted(n: int, layers: list[int] | None = None) -> Estimator:
            rows = train.select(range(n))
            fit = Estimator.fit(model, tokenizer, rows, typos, layers, seed=self.seed)
            report(fit.summary())
            return fit.measured_on(model, tokenizer, test, typos)

        errors = list(fitted(self.fitted_on).diagnose())
        for row in errors:  # where no map comes before the state, any map has the same change
            row["free"] = fitted(30, [row["t"]]).diagnose()[0]["change"]
        source, shares = candidates(self.resources), {}
        for mix in ("typos", "synonyms"):
            edits, rows = RandomEdits(mix, source=source), train.select(range(self.shares_of))
            shares[mix] = memory_shares(model, tokenizer, rows, edits, self.seed)
        return {
            "data": {"name": self.data, "n": self.n, "sha256": fingerprint(test)},
            "model": adapter_model(self.model),
            "candidates": source.sha256,
            "counts": {"fitted_on": self.fitted_on, "measured_on": self.n},
            "errors": errors,
            "shares": shares,
        }
