"""The conditions of a trial: its model, its controls, their placebos, and their rivals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch

from experiments.encoding import CHOSEN as ENCODING, encoding_of
from experiments.experiment import Report, cached_json
from experiments.fine_tuning import choose_fine_tuning
from experiments.rows import fit_rows, held_rows
from experiments.trial import IN_LOOP, WIENER, WITH, Trial
from pidbook.estimation import NormalisedTokenizer
from pidbook.estimation.selection import RHOS, choose
from pidbook.estimation.spelling import normaliser_of
from pidbook.evaluation.trial_results import control_name
from pidlib.attacks.attack import attack
from pidlib.attacks.attacker import victim_sha256
from pidlib.attacks.outcomes import Outcome
from pidlib.attacks.synonyms import words_for
from pidlib.controller import Controller
from pidlib.data.perturbations import RandomEdits
from pidlib.estimation.estimator import TERMINAL, Estimator
from pidlib.evaluation.accuracy import under
from pidlib.evaluation.placebos import Placebo
from pidlib.io.files import write_json
from pidlib.models import load_model
from pidlib.pid import PIDController

PLACEBOS = (("noise", 0), ("noise", 1), ("rotation", 0), ("rotation", 1), ("negative", 0))
ESTIMATED_ON = {WIENER: 1200, TERMINAL: 6000}
STRENGTHS = {WIENER: RHOS, TERMINAL: (1.0,)}
TUNED_ON = ESTIMATED_ON[TERMINAL]
COUNTED = 2000  # rows whose words an encoding counts, as the trial of rivals does
# of larger models: rank kept of A - I (whole, 12 maps of width 768 take 28 MB); fitted in bfloat16
THIN = {"mpnet-nli": 96}
# of decoders: first positions left out, whose states are tens of times as long as all others
SKIPPED = {"smollm2-nli": 1}


@dataclass(frozen=True)
class Condition:
    """One model on trial, with what stands before it and what hangs on it."""

    model: Any
    tokenizer: Any
    control: Any = None
    summary: str | None = None

    def attached(self) -> AbstractContextManager:
        """Attach the control, if there is one, for as long as the context lasts."""
        return under(self.control, self.model)

    @property
    def about(self) -> dict[str, str]:
        """What the log of an attack holds of it."""
        return {"control": self.summary} if self.summary else {}

    def attack(self, rows: Any, recipe: str, **settings: Any) -> list[Outcome]:
        """Attack rows, the control in sight; settings as for `pidlib.attacks.attack`."""
        settings = {"about": self.about} | settings
        with self.attached():
            return attack(self.model, self.tokenizer, rows, recipe, **settings)


class Conditions:
    """All that stands trial, made when it is first needed; choices are made once and kept."""

    def __init__(self, trial: Trial, runs: Path, report: Report = print) -> None:
        self.trial, self.runs, self.report = trial, runs, report
        self.model, self.tokenizer = load_model(trial.model)
        self.bare = Condition(self.model, self.tokenizer)
        self.learnt_on = trial.estimated_on or trial.data  # what estimates and rivals learn from
        self.words = trial.words_from or trial.resources  # of their random edits
        self.estimators = {control_name(*pair): pair for pair in trial.estimators}
        self._weights: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    @cached_property
    def controls(self) -> dict[str, Controller]:
        """Controls by name; one fit serves every scheme and threshold."""
        rows = fit_rows(self.trial.data, self.trial.fitted_on)
        settings = {"c": self.trial.c, "skip_first": SKIPPED.get(self.trial.model, 0)}
        fitted = PIDController.fit(self.model, self.tokenizer, rows, scheme="PID", **settings)
        controls: dict[str, Controller | None] = {
            control_name(scheme, variance): fitted.retune(scheme=scheme, variance=variance)
            for scheme, variance in self.trial.controls
        }
        for name, pair in self.estimators.items():
            controls[name] = self._estimating(pair, self.model, self._chosen(pair))
        return _without_none(controls)

    @cached_property
    def rivals(self) -> dict[str, Condition]:
        """What could be done instead of control, or together with one, by name."""
        rivals: dict[str, Condition | None] = {}
        for name in self.trial.rivals:
            alone, _, control = name.partition(WITH)
            if not control:
                rivals[name] = self._alone(alone)
            elif control in self.controls:  # else no setting of it was good enough
                rivals[name] = self._paired(alone, control, rivals)
        return _without_none(rivals)

    def attacked(self) -> dict[str, Condition]:
        """All that is attacked by itself: controls, then rivals."""
        names = [control_name(*pair) for pair in self.trial.adaptive]
        return {name: self._under(name) for name in names if name in self.controls} | self.rivals

    def judged(self) -> dict[str, Condition]:
        """All that is judged on every set, placebos too."""
        conditions = {"none": self.bare} | {name: self._under(name) for name in self.controls}
        for name in [control_name(*pair) for pair in self.trial.placebos]:
            for kind, seed in PLACEBOS if name in self.controls else ():
                placebo = Placebo(self.controls[name], kind, seed)
                conditions[f"{name}: {placebo.name}"] = self._under(name, placebo)
        return conditions | self.rivals

    def weights(self, model: Any) -> str:
        """Hash of a model's weights, computed once."""
        if model not in self._weights:
            self._weights[model] = victim_sha256(model)
        return self._weights[model]

    def selection(self) -> dict[str, list]:
        """What was tried for each estimating control."""
        return {
            name: json.loads((self._chosen(pair) / "selection.json").read_text("utf-8"))["tried"]
            for name, pair in self.estimators.items()
        }

    def edits(self, mix: str) -> RandomEdits:
        """Random edits that estimates and rivals learn from."""
        return RandomEdits(mix, source=words_for(mix, self.words))

    def _under(self, name: str, placebo: Placebo | None = None) -> Condition:
        """The model under a control, or under a placebo of it."""
        control = self.controls[name]
        return Condition(self.model, self.tokenizer, placebo or control, control.summary())

    def _chosen(self, pair: tuple[str, str]) -> Path:
        return self.runs / self.trial.choice / " ".join(pair)

    def _estimating(self, pair: tuple[str, str], model: Any, folder: Path) -> Estimator | None:
        """Choose an estimating control on held-out rows, once; it is kept in a folder."""
        rule, mix = pair
        rank = THIN.get(self.trial.model)
        rows, held = fit_rows(self.learnt_on, ESTIMATED_ON[rule]), held_rows(self.learnt_on)
        settings = {
            "weights": self.weights(model),
            "seed": self.trial.seed,
            "resources": self.words,
            "rows": len(rows),
            "held": len(held),
            "rhos": list(STRENGTHS[rule]),
        } | ({"rank": rank, "dtype": "bfloat16"} if rank else {})

        def select() -> dict[str, Any]:
            with torch.autocast("cpu", torch.bfloat16, enabled=rank is not None):
                selection = choose(
                    model,
                    self.tokenizer,
                    rows,
                    held,
                    self.edits(mix),
                    rhos=STRENGTHS[rule],
                    rule="regression" if rule == WIENER else rule,
                    seed=self.trial.seed,
                    report=self.report,
                )
            if selection.estimator is not None:
                chosen = selection.estimator
                (chosen.of_rank(rank) if rank else chosen).save_pretrained(folder)
            tried = [setting._asdict() for setting in selection.tried]
            return {"tried": tried, "chosen": selection.estimator is not None}

        stored = cached_json(folder / "selection.json", settings, select)
        if not stored["chosen"]:
            self.report(f"no setting of {control_name(*pair)!r} keeps its clean loss small")
            return None
        return Estimator.from_pretrained(folder)

    def _alone(
        self, name: str, folder: Path | None = None, control: Estimator | None = None
    ) -> Condition | None:
        """Something before the tokenizer, or a fine-tuned copy, with a control if one is given.

        None where no rate of the fine-tuning is good enough.
        """
        rows, held = fit_rows(self.learnt_on, TUNED_ON), held_rows(self.learnt_on)
        if name == "spelling":
            mend = normaliser_of(rows)
            tokenizer = NormalisedTokenizer(self.tokenizer, mend)
            return Condition(self.model, tokenizer, None, mend.summary())
        if name.endswith("encoding"):
            counted = fit_rows(self.learnt_on, COUNTED)
            encoding = encoding_of(ENCODING, counted, self.words)
            tokenizer = NormalisedTokenizer(self.tokenizer, encoding)
            if name.startswith("spelling"):  # the outer one comes first
                tokenizer = NormalisedTokenizer(tokenizer, normaliser_of(rows))
            return Condition(self.model, tokenizer, None, f"{name}, groups of {ENCODING}")
        folder = folder or self.runs / self.trial.choice / name
        tuned = choose_fine_tuning(
            self.model,
            self.tokenizer,
            rows,
            held,
            self.edits("both"),
            folder,
            seed=self.trial.seed,
            control=control,
            report=self.report,
        )
        write_json(folder / "selection.json", [rate._asdict() for rate in tuned.tried])
        if tuned.model is None:
            return None
        summary = tuned_summary(tuned.model, len(rows), tuned.chosen.rate)
        carried = control and control.carried_to(tuned.model)
        return Condition(tuned.model, self.tokenizer, carried, summary)

    def _paired(
        self, alone: str, control: str, rivals: Mapping[str, Condition | None]
    ) -> Condition | None:
        """A rival that works with a control."""
        feedback, folder = self.controls[control], self.runs / self.trial.choice
        if alone == IN_LOOP:
            rival = self._alone("fine-tuned", folder / f"{IN_LOOP} {control}", feedback)
        else:
            rival = rivals[alone] if alone in rivals else self._alone(alone)
            if rival is not None and rival.model is not self.model:
                pair = self.estimators[control]
                folder = folder / f"{alone} {' '.join(pair)}"
                feedback = self._estimating(pair, rival.model, folder)
        if rival is None or feedback is None:
            return None
        summary = f"{rival.summary}; {feedback.summary()}"
        return replace(rival, control=rival.control or feedback, summary=summary)


def tuned_summary(model: Any, rows: int, rate: float) -> str:
    """What tells one fine-tuned copy from another."""
    return f"fine-tuned on {rows} rows, rate {rate:g}, {victim_sha256(model)[:8]}"


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
