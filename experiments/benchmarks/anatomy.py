"""Tables 5 to 7 for a pretrained model: price of the control, the theorem's error, ranks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.adapters import adapter_record
from experiments.experiment import Report, TextExperiment
from experiments.rows import fit_rows
from pidbook.analysis.theorem import error_profiles, outside_norms
from pidbook.evaluation.timing import time_under_control
from pidbook.evaluation.trial_results import stored_rows
from pidlib.attacks.attack import RECIPES
from pidlib.data.nli import fingerprint, load_nli
from pidlib.models import load_model
from pidlib.pid import PIDController

TERMS = "PID"
VARIANCES = (0.99, 0.95)
PROFILES = "controlled", "free", "theorem", "general"  # of `ErrorProfiles`; each of its first token


@dataclass(frozen=True)
class Anatomy(TextExperiment):
    """States of one model on clean and attacked rows of one data set, and what control costs."""

    n: int = 300
    c: float = 1e-3
    fitted_on: int = 2000
    timed: int = 64  # rows of a timing, and its rounds
    rounds: int = 15
    stem = "anatomy"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Fit once; count ranks, measure errors, time the control."""
        whole = load_nli(self.data, split="test" if self.data == "captions" else None)
        model, tokenizer = load_model(self.model)
        rows = fit_rows(self.data, self.fitted_on)
        fitted = PIDController.fit(model, tokenizer, rows, scheme="PID", c=self.c)
        bases, clean = fitted.bases, [dict(row) for row in whole.select(range(self.n))]
        ranks = {
            f"{100 * v:g} %": {i: [bases.rank(i, t, v) for t in range(fitted.depth)] for i in TERMS}
            for v in VARIANCES
        }
        report(f"ranks of {bases.origin.width}: {ranks}")
        control = fitted.retune(scheme="PD")
        diagnosed = [row for row in control.diagnose().rows if row.controlled]
        outside, errors = {"clean": _plain(outside_norms(model, tokenizer, bases, clean))}, {}
        for recipe in RECIPES:
            attacked = stored_rows(whole, self.data, recipe, results, self.model)[: self.n]
            outside[recipe] = _plain(outside_norms(model, tokenizer, bases, attacked))
            held = fitted.retune(scheme="P"), clean[: len(attacked)], attacked
            errors[recipe] = _means(error_profiles(model, tokenizer, *held))
            report(f"{recipe}: {errors[recipe]['pairs']} pairs of equal length")
        cost = time_under_control(model, tokenizer, clean[: self.timed], control, self.rounds)
        report(f"P-D: {cost}")
        return {
            "data": {"name": self.data, "n": self.n, "sha256": fingerprint(clean)},
            "model": adapter_record(self.model),
            "counts": {"ranks": ranks, "width": bases.origin.width, "tokens": bases.origin.tokens},
            "bias": {i: [row.bias[i] for row in diagnosed] for i in TERMS},
            "size": [row.size for row in diagnosed],
            "outside": outside,
            "errors": errors,
            "cost": cost._asdict(),
        }


def _plain(norms: dict[str, np.ndarray]) -> dict[str, list[float]]:
    return {term: values.tolist() for term, values in norms.items()}


def _means(profiles: Any) -> dict[str, Any]:
    """Mean errors by state, their gap to the theorem's, and how many pairs."""
    fields = {
        "pairs": profiles.pairs,
        "left_out": profiles.left_out,
        "unchanged": profiles.unchanged,
    }
    for kind in PROFILES:
        first = "first" if kind == "controlled" else f"first_{kind}"
        for name in (kind, first):
            fields[name] = getattr(profiles, name).mean(0).tolist()
    gaps = profiles.controlled - profiles.theorem, profiles.first - profiles.first_theorem
    for name, gap in zip(("gap", "first_gap"), gaps, strict=True):
        fields[name] = np.abs(gap).mean(0).tolist()
    return fields | {"scale": profiles.scale.tolist()}
