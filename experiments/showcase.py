"""One swapped word under several conditions: what the front page shows, on captions that ship."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.adapters import adapter_model
from experiments.conditions import Condition
from experiments.experiment import Report, TextExperiment
from experiments.rivals.encoding import encoding_of
from experiments.rows import fit_rows
from pidbook.evaluation.trial_results import ADAPTIVE, control_name
from pidlib.attacks.outcomes import Outcome, transfer_rows
from pidlib.data.labels import LABELS
from pidlib.data.nli import fingerprint, load_nli
from pidlib.estimation.preprocessing import NormalisedTokenizer
from pidlib.estimation.pretrained import load_control
from pidlib.evaluation.accuracy import scores
from pidlib.evaluation.placebos import Placebo
from pidlib.models import load_model
from pidlib.pid import PIDController

NONE, PD, TERMINAL = "none", control_name("PD", 0.99), control_name("terminal", "both")
NOISE, ENCODING = f"{PD}: noise 0", "encoding"


@dataclass(frozen=True)
class Showcase(TextExperiment):
    """Pairs that one swapped word turns, shown to four conditions; then the attacker sees P-D."""

    data: str = "captions"
    recipe: str = "textfooler"
    n: int = 300
    fitted_on: int = 2000
    seed: int = 0
    stem = "showcase"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Attack the bare model, show the turned pairs to each condition, attack P-D itself."""
        rows = load_nli(self.data, split="test", n=self.n)
        conditions = self._conditions()
        turned = self._turned(conditions[NONE], rows, range(self.n), runs, NONE)
        ids = [outcome.id for outcome in turned]
        texts = transfer_rows(rows, turned)
        before = {name: self._shares(c, rows.select(ids)) for name, c in conditions.items()}
        after = {name: self._shares(c, texts) for name, c in conditions.items()}
        again = self._turned(conditions[PD], rows, ids, runs, PD)
        shares = self._shares(conditions[PD], transfer_rows(rows, again))
        seen = {o.id: (list(o.edits[0]), line) for o, line in zip(again, shares, strict=True)}
        examples = []
        for k, outcome in enumerate(turned):
            row, edit = rows[outcome.id], outcome.edits[0]
            example = {"id": outcome.id, "edit": list(edit), "label": LABELS[row["label"]]}
            example |= {key: row[key] for key in ("premise", "hypothesis")}
            example["before"] = {name: shares[k] for name, shares in before.items()}
            example["after"] = {name: shares[k] for name, shares in after.items()}
            example[f"{ADAPTIVE}edit"], example[f"{ADAPTIVE}after"] = seen.get(
                outcome.id, (None, None)
            )
            examples.append(example)
            report(f"row {outcome.id}: {edit.replacement}")
        labels = [row["label"] for row in texts]
        counts = {
            name: sum(line.index(max(line)) == k for line, k in zip(lines, labels, strict=True))
            for name, lines in after.items()
        }
        return {
            "data": {"name": self.data, "n": self.n, "sha256": fingerprint(rows)},
            "model": adapter_model(self.model),
            "counts": {"turned": len(turned), "right": counts, f"{ADAPTIVE}turned": len(seen)},
            "examples": examples,
        }

    def _conditions(self) -> dict[str, Condition]:
        model, tokenizer = load_model(self.model)
        rows = fit_rows(self.data, self.fitted_on)
        control = PIDController.fit(model, tokenizer, rows, scheme="PD", variance=0.99)
        controls = {
            NONE: None,
            PD: control,
            NOISE: Placebo(control, "noise", self.seed),
            TERMINAL: load_control(f"{self.model}-terminal", model),
        }
        encoding = encoding_of("lexicon 8", rows, "lexicon")  # the list that the attack uses
        encoded = {ENCODING: Condition(model, NormalisedTokenizer(tokenizer, encoding))}
        return {name: Condition(model, tokenizer, c) for name, c in controls.items()} | encoded

    def _turned(
        self, condition: Condition, rows: Any, ids: Sequence[int], runs: Path, name: str
    ) -> list[Outcome]:
        """Successes of the attack that changed one word."""
        log = runs / self.name / f"{name}.jsonl"
        about = {"condition": name, "fitted_on": self.fitted_on}
        how = {"seed": self.seed, "ids": list(ids), "log": log, "data": self.data, "about": about}
        outcomes = condition.attack(rows.select(ids), self.recipe, **how)
        return [o for o in outcomes if o.status == "succeeded" and len(o.edits) == 1]

    def _shares(self, condition: Condition, rows: Any) -> list[list[float]]:
        """Probabilities of the labels under a condition, row by row."""
        with condition.attached():  # each row by itself: noise depends on the batch
            lines = [scores(condition.model, condition.tokenizer, [row]) for row in rows]
        shares = torch.from_numpy(np.concatenate(lines)).softmax(-1)
        return [[round(float(p), 4) for p in line] for line in shares]
