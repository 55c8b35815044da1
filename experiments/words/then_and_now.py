"""Attacks by one version of TextAttack, so that two versions can be compared row by row."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from experiments.adapters import adapter_model
from experiments.experiment import Report, TextExperiment
from pidlib.attacks.attack import attack
from pidlib.attacks.offline import load_textattack
from pidlib.attacks.synonyms import candidates
from pidlib.data.nli import fingerprint, load_nli
from pidlib.models import load_model


@dataclass(frozen=True)
class ThenAndNow(TextExperiment):
    """Three recipes on a few rows; A2T is built here with an argument that 0.3.10 does not have."""

    data: str = "captions"
    n: int = 60
    textattack: str = "0.3.11"
    recipes: tuple[str, ...] = ("pso", "textbugger", "textfooler")
    resources: str = "lexicon"
    seed: int = 0
    stem = "then-and-now"

    @property
    def label(self) -> str:
        """Name the version in the name of the result file."""
        return f"-{self.textattack}"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Status, edits and number of queries of each row, by recipe."""
        load_textattack()
        if (found := metadata.version("textattack")) != self.textattack:
            raise ValueError(
                f"TextAttack {found} is installed, and this asks for {self.textattack}: pip install "
                f"--no-deps --target old textattack=={self.textattack}, and run with PYTHONPATH=old"
            )
        model, tokenizer = load_model(self.model)
        rows, source = load_nli(self.data, split="test", n=self.n), candidates(self.resources)
        outcomes = {}
        for recipe in self.recipes:
            seen = attack(model, tokenizer, rows, recipe, source, seed=self.seed)
            outcomes[recipe] = [(of.status, of.edits, of.queries) for of in seen]
            report(f"{recipe}: {sum(of.status == 'succeeded' for of in seen)} of {self.n} turned")
        return {
            "data": {"name": self.data, "n": self.n, "sha256": fingerprint(rows)},
            "model": adapter_model(self.model),
            "candidates": source.sha256,
            "counts": {
                recipe: {
                    status: sum(of[0] == status for of in every)
                    for status in sorted({of[0] for of in every})
                }
                for recipe, every in outcomes.items()
            },
            "outcomes": outcomes,
        }
