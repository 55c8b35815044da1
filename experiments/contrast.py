"""Recorded check of what a control no longer hears: pairs whose meaning hangs on a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.adapters import adapter_model, texts_of, training_data
from experiments.conditions import ESTIMATED_ON, TUNED_ON, Condition, Conditions, tuned_summary
from experiments.contrast_rows import before, contrasts, edited
from experiments.experiment import Experiment, Report, once
from experiments.fine_tuning import fine_tuned
from experiments.record import counted, packed
from experiments.trial import WIENER, Trial, fit_rows
from pidlib.attacks.attacker import weights_sha256
from pidlib.attacks.wordnet import WordNet
from pidlib.data.nli import fingerprint, load_nli
from pidlib.estimation.estimator import TERMINAL, Estimator
from pidlib.estimation.pretrained import load_control
from pidlib.evaluation.accuracy import Paired, compare, right_answers
from pidlib.evaluation.trial_results import control_name, pack, unpack

COUNTERFACTUAL = "snli-counterfactual-train"


@dataclass(frozen=True)
class ContrastTrial(Experiment):
    """One model and its conditions on ordinary, counterfactual and edited pairs.

    What the recorded trial chose on held-out rows is taken over: the mix and the strength of the
    closed form, and the rate of the fine-tuning.
    """

    data: str = "snli-test"
    model: str = "minilm-nli"
    after: int = 3000
    mix: str = "synonyms"
    rho: float = 2.0
    rate: float = 1e-3
    seed: int = 0

    @property
    def name(self) -> str:
        """Stem of the result file."""
        return f"contrast-{self.data.partition('-')[0]}-{self.model}"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Judge every condition on every set."""
        rows = [dict(row) for row in load_nli(self.data)]
        other, wordnet = load_nli(COUNTERFACTUAL), WordNet()
        edits = contrasts(rows, range(self.after, len(rows)), wordnet, self.seed)
        sets = {
            "ordinary": rows[self.after :],
            "counterfactual": [dict(other[k]) for k in range(len(other) // 2, len(other))],
            "before": before(rows, edits),
            "edited": edited(rows, edits),
        }
        sums = {key: {"n": len(part), "sha256": fingerprint(part)} for key, part in sets.items()}
        right: dict[str, dict[str, np.ndarray]] = {}
        judged = conditions(self, runs, report)
        for name, condition in judged.items():
            path = runs / self.name / "judged" / f"{name}.json"
            right[name] = _judged(condition, sets, sums, path)
            report(f"{name}: { {key: int(bits.sum()) for key, bits in right[name].items()} }")
        read = {texts_of(row) for row in training_data(1)[0][COUNTERFACTUAL]}
        gains = {
            name: {key: _gain(compare(right["none"][key], bits)) for key, bits in of.items()}
            for name, of in right.items()
            if name != "none"
        }
        return {
            "data": {
                "name": f"{self.data}, {COUNTERFACTUAL}",
                "n": len(edits),
                "sha256": sums["edited"]["sha256"],
                "sets": sums,
                "wordnet": wordnet.files_sha256,
                "read_by_adapter": sum(texts_of(row) in read for row in sets["counterfactual"]),
            },
            "model": adapter_model(self.model),
            "counts": counted(right),
            "gains": gains,
            "examples": packed(right),
            "edits": [list(edit) for edit in edits],
            "contenders": {name: condition.summary for name, condition in judged.items()},
        }


def conditions(trial: ContrastTrial, runs: Path, report: Report = print) -> dict[str, Condition]:
    """Make all that is judged, as the recorded trial of the controls made them."""
    plain = Trial(
        trial.data,
        trial.model,
        controls=(("PD", 0.99),),
        placebos=(),
        rivals=("spelling",),
        resources="ppdb",
        seed=trial.seed,
    )
    recorded = Conditions(plain, runs, report)
    model, tokenizer = recorded.model, recorded.tokenizer
    controls = recorded.controls | {
        control_name(TERMINAL, "both"): load_control(f"{trial.model}-terminal", model),
        control_name(WIENER, trial.mix): Estimator.fit(
            model,
            tokenizer,
            fit_rows(trial.data, ESTIMATED_ON[WIENER]),
            recorded.edits(trial.mix),
            rho=trial.rho,
            seed=trial.seed,
        ),
    }
    judged = {"none": recorded.bare}
    judged |= {name: Condition(model, tokenizer, c, c.summary()) for name, c in controls.items()}
    rows = fit_rows(trial.data, TUNED_ON)
    copy = fine_tuned(
        model,
        tokenizer,
        rows,
        recorded.edits("both"),
        runs / trial.name / "fine-tuned" / f"rate-{trial.rate:g}",
        learning_rate=trial.rate,
        seed=trial.seed,
        report=report,
    )
    summary = tuned_summary(copy, len(rows), trial.rate)
    return judged | {"fine-tuned": Condition(copy, tokenizer, None, summary)} | recorded.rivals


def _judged(
    condition: Condition, sets: Mapping[str, Sequence], sums: Mapping[str, Any], path: Path
) -> dict[str, np.ndarray]:
    """Right answers by set, computed once and kept."""
    sha = getattr(condition.control, "sha256", "")
    settings = {
        "of": [weights_sha256(condition.model), condition.summary, sha],
        "sets": {key: part["sha256"] for key, part in sums.items()},
    }

    def judge() -> dict[str, Any]:
        model, tokenizer = condition.model, condition.tokenizer
        with condition.attached():
            right = {key: right_answers(model, tokenizer, part) for key, part in sets.items()}
        right["edited"] = ~right["edited"]  # their rows still say "entailment", which is now wrong
        return {"right": {key: pack(bits) for key, bits in right.items()}}

    stored = once(path, settings, judge)
    return {key: unpack(stored["right"][key], len(part)) for key, part in sets.items()}


def _gain(paired: Paired) -> dict[str, float]:
    low, high = paired.interval()
    return {"won": paired.won, "lost": paired.lost, "low": low, "high": high, "p": paired.p}
