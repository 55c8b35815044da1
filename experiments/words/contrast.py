"""Recorded check of what a control no longer hears: pairs whose meaning hangs on a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.adapters import texts_of, training_data
from experiments.conditions import ESTIMATED_ON, TUNED_ON, Condition, Conditions, tuned_summary
from experiments.experiment import Report, TextExperiment, cached_json
from experiments.fields import answered
from experiments.fine_tuning import choose_fine_tuning, fine_tuned
from experiments.rows import fit_rows, held_rows
from experiments.trial import WIENER, Trial
from pidbook.estimation import NormalisedTokenizer, SynonymEncoding
from pidbook.evaluation.contrast_rows import before, contrasts, edited
from pidbook.evaluation.trial_results import control_name, pack, unpack
from pidlib.attacks.attacker import victim_sha256
from pidlib.attacks.synonyms import words_for
from pidlib.attacks.wordnet import WordNet
from pidlib.data.nli import fingerprint, load_nli
from pidlib.estimation.estimator import TERMINAL, Estimator
from pidlib.estimation.pretrained import load_control
from pidlib.estimation.terminal import EPOCHS
from pidlib.evaluation.accuracy import right_answers

COUNTERFACTUAL = "snli-counterfactual-train"
LONGER = 1e-3, 3e-3  # rates of the fine-tuning that is as long as the terminal fit


@dataclass(frozen=True)
class ContendersTrial(TextExperiment):
    """A trial of contenders: what the recorded trial of the controls chose on held-out rows.

    That is the mix and the strength of the closed form, and the rate of the fine-tuning.
    """

    mix: str = "synonyms"
    rho: float = 2.0
    rate: float = 1e-3
    seed: int = 0


@dataclass(frozen=True)
class ContrastTrial(ContendersTrial):
    """One model and its conditions on ordinary, counterfactual and edited pairs."""

    after: int = 3000
    only: tuple[str, ...] = ()  # contenders; all, if none is named
    label: str = ""  # end of the name, where they are named
    later = ("only", "label")
    stem, split = "contrast", False

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
        contenders = Contenders(self, runs, report)
        read = {texts_of(row) for row in training_data(1)[0][COUNTERFACTUAL]}
        about = {"name": f"{self.data}, {COUNTERFACTUAL}", "wordnet": wordnet.files_sha256}
        about["read_by_adapter"] = sum(texts_of(row) in read for row in sets["counterfactual"])
        return contenders.answers(self.only or contenders.names, sets, **about) | {
            "edits": [list(edit) for edit in edits],
            "fine-tuned longer": contenders.tried,
        }


class Contenders:
    """What is judged, made when it is asked for, as the recorded trial of the controls made it."""

    def __init__(self, trial: ContendersTrial, runs: Path, report: Report = print) -> None:
        self.trial, self.runs, self.report = trial, runs, report
        self.tried: list[dict[str, float]] = []  # rates of the longer fine-tuning
        settings = {"placebos": (("PD", 0.99),), "resources": "ppdb", "seed": trial.seed}
        self.plain = Trial(trial.data, trial.model, controls=(("PD", 0.99),), **settings)
        self.recorded = Conditions(self.plain, runs, report)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order of the tables."""
        controls = control_name(TERMINAL, "both"), control_name(WIENER, self.trial.mix)
        tuned = "fine-tuned", "fine-tuned longer", "encoding and fine-tuning"
        rivals = "spelling", "encoding", "spelling and encoding"
        return "none", control_name("PD", 0.99), *controls, *tuned, *rivals

    def answers(
        self, names: Sequence[str], sets: Mapping[str, Sequence], **about: Any
    ) -> dict[str, Any]:
        """Fields of a result: right answers of some of them on sets of rows; its data is the last set."""
        sums = {key: {"n": len(part), "sha256": fingerprint(part)} for key, part in sets.items()}
        judged = {name: self.condition(name) for name in names}
        right: dict[str, dict[str, np.ndarray]] = {}
        for name, condition in judged.items():
            path = self.runs / self.trial.name / "judged" / f"{name}.json"
            right[name] = _judged(condition, sets, sums, path)
            self.report(f"{name}: { {key: int(bits.sum()) for key, bits in right[name].items()} }")
        summaries = {name: condition.summary for name, condition in judged.items()}
        rows = list(sets.values())[-1]
        fields = answered(self.trial, rows, right, sets=sums, **about)
        return fields | {"contenders": summaries}

    def condition(self, name: str) -> Condition:
        """One of them."""
        none, pd, terminal, wiener, tuned, longer, behind, *rivals = self.names
        model, tokenizer = self.recorded.model, self.recorded.tokenizer
        if name == none:
            return self.recorded.bare
        if name == tuned:
            return self._fine_tuned(self.recorded.bare)
        if name == longer:
            return self._longer
        if name == behind:  # it learns text as the encoding writes it
            return self._fine_tuned(self.condition("encoding"))
        if name.startswith("encoding "):  # by another list: "encoding wordnet 8"
            _, of, most = name.split()
            counts = self.condition("encoding").tokenizer.normaliser.counts
            encoding = SynonymEncoding(counts, words_for("synonyms", of), int(most))
            return Condition(model, NormalisedTokenizer(tokenizer, encoding), None, name)
        if name.startswith(f"{pd}: "):  # a placebo, "P-D 99 %: noise 0"
            return replace(self.recorded.judged()[name], summary=name)
        if name in rivals:
            plain = replace(self.plain, rivals=(name,))
            return Conditions(plain, self.runs, self.report).rivals[name]
        if name == pd:
            control = self.recorded.controls[pd]
        elif name == terminal:
            control = load_control(f"{self.trial.model}-terminal", model)
        elif name == wiener:
            control = self._wiener()
        else:
            raise ValueError(f"no contender {name!r}; known: {list(self.names)}")
        return Condition(model, tokenizer, control, control.summary())

    def _wiener(self) -> Estimator:
        trial, recorded = self.trial, self.recorded
        rows, edits = fit_rows(trial.data, ESTIMATED_ON[WIENER]), recorded.edits(trial.mix)
        settings = {"rho": trial.rho, "seed": trial.seed}
        return Estimator.fit(recorded.model, recorded.tokenizer, rows, edits, **settings)

    def _fine_tuned(self, start: Condition) -> Condition:
        """A copy fine-tuned on changed text, behind what stands before the tokenizer at the start."""
        trial, rows = self.trial, fit_rows(self.trial.data, TUNED_ON)
        behind = f" {start.summary}" if start.summary else ""
        copy = fine_tuned(
            start.model,
            start.tokenizer,
            rows,
            self.recorded.edits("both"),
            self.runs / f"fine-tuned{behind}" / f"rate-{trial.rate:g}",
            learning_rate=trial.rate,
            seed=trial.seed,
            report=self.report,
        )
        said = start.summary, tuned_summary(copy, len(rows), trial.rate)
        summary = "; ".join(filter(None, said))
        return Condition(copy, start.tokenizer, None, summary)

    @cached_property
    def _longer(self) -> Condition:
        """A copy fine-tuned as long as the terminal estimate is fitted, its rate chosen as such."""
        trial, (model, tokenizer) = self.trial, (self.recorded.model, self.recorded.tokenizer)
        rows, held = fit_rows(trial.data, TUNED_ON), held_rows(trial.data)
        edits, folder = self.recorded.edits("both"), self.runs / "fine-tuned longer"
        tuned = choose_fine_tuning(
            model, tokenizer, rows, held, edits, folder, seed=trial.seed,
            report=self.report, rates=LONGER, draws=EPOCHS,
        )  # fmt: skip
        self.tried = [rate._asdict() for rate in tuned.tried]
        if tuned.model is None:
            raise ValueError(f"no rate of {LONGER} keeps clean text right: {self.tried}")
        summary = tuned_summary(tuned.model, EPOCHS * len(rows), tuned.chosen.rate)
        return Condition(tuned.model, tokenizer, None, summary)


def _judged(
    condition: Condition, sets: Mapping[str, Sequence], sums: Mapping[str, Any], path: Path
) -> dict[str, np.ndarray]:
    """Right answers by set, computed once and kept."""
    sha = getattr(condition.control, "sha256", "")
    settings = {
        "of": [victim_sha256(condition.model), condition.summary, sha],
        "sets": {key: part["sha256"] for key, part in sums.items()},
    }

    def judge() -> dict[str, Any]:
        model, tokenizer = condition.model, condition.tokenizer
        with condition.attached():
            right = {key: right_answers(model, tokenizer, part) for key, part in sets.items()}
        if "edited" in right:  # their rows still say "entailment", which is now wrong
            right["edited"] = ~right["edited"]
        return {"right": {key: pack(bits) for key, bits in right.items()}}

    stored = cached_json(path, settings, judge)
    return {key: unpack(stored["right"][key], len(part)) for key, part in sets.items()}
