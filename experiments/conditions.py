"""The line-up of a trial: its model, its controls, what replaces them, and their rivals."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.rivals import ESTIMATED_ON, IN_LOOP, TUNED_ON, Contender, estimating, rival
from experiments.trial import WITH, Trial, fit_rows, held_rows
from pidlib.attacks.attacker import weights_sha256
from pidlib.attacks.synonyms import words_for
from pidlib.controller import Controller
from pidlib.estimation.estimator import Estimator
from pidlib.evaluation.placebos import Placebo
from pidlib.evaluation.trial_results import control_name
from pidlib.models import load_model
from pidlib.pid import PIDController

PLACEBOS = (("noise", 0), ("noise", 1), ("rotation", 0), ("rotation", 1), ("negative", 0))


class LineUp:
    """All that stands trial, made when it is first needed; choices are made once and kept."""

    def __init__(self, trial: Trial, runs: Path, report: Callable[[str], None] = print) -> None:
        self.trial, self.runs, self.report = trial, runs, report
        self.model, self.tokenizer = load_model(trial.model)

    @cached_property
    def controls(self) -> dict[str, Controller]:
        """Controls by name; one fit serves every scheme and threshold."""
        chosen = fit_rows(self.trial.data, self.trial.fitted_on)
        fitted = PIDController.fit(self.model, self.tokenizer, chosen, scheme="PID", c=self.trial.c)
        made: dict[str, Controller] = {
            control_name(scheme, variance): fitted.retune(scheme=scheme, variance=variance)
            for scheme, variance in self.trial.controls
        }
        for pair in self.trial.estimators:
            chosen = self._estimating(pair, self.model, self._chosen(pair))
            if chosen is not None:
                made[control_name(*pair)] = chosen
        return made

    @cached_property
    def rivals(self) -> dict[str, Contender]:
        """Rivals by name."""
        made: dict[str, Contender | None] = {}
        for name in self.trial.rivals:
            alone, _, control = name.partition(WITH)
            if control and control not in self.controls:  # no setting of it was good enough
                continue
            if control:
                made[name] = self._paired(alone, control, made)
            else:
                made[name] = self._alone(alone)
        return {name: one for name, one in made.items() if one is not None}

    def contenders(self) -> dict[str, Contender]:
        """All that is attacked by itself: controls, then rivals."""
        wanted = [control_name(*pair) for pair in self.trial.adaptive]
        found = {
            name: Contender(
                self.model, self.tokenizer, self.controls[name], self.controls[name].summary()
            )
            for name in wanted
            if name in self.controls  # else no setting was good enough
        }
        return found | self.rivals

    def conditions(self) -> dict[str, Contender]:
        """All that is judged on every set; placebos and rivals are."""
        found: dict[str, Any] = {"none": None, **self.controls}
        wanted = [control_name(*pair) for pair in self.trial.placebos]
        for control in [name for name in wanted if name in self.controls]:
            for kind, seed in PLACEBOS:
                placebo = Placebo(self.controls[control], kind, seed)
                found[f"{control}: {placebo.name}"] = placebo
        made = {}
        for name, control in found.items():
            settings = getattr(control, "controller", control)
            told = settings.summary() if settings else None
            made[name] = Contender(self.model, self.tokenizer, control, told)
        return made | self.rivals

    @property
    def learnt_on(self) -> str:
        """Text that estimating controls and rivals learn from."""
        return self.trial.estimated_on or self.trial.data

    @cached_property
    def weights(self) -> str:
        """Hash of the model's weights."""
        return weights_sha256(self.model)

    def selection(self) -> dict[str, list]:
        """What was tried for each estimating control."""
        found = {}
        for pair in self.trial.estimators:
            kept = (self._chosen(pair) / "selection.json").read_text(encoding="utf-8")
            found[control_name(*pair)] = json.loads(kept)["tried"]
        return found

    def _paired(
        self, alone: str, control: str, made: Mapping[str, Contender | None]
    ) -> Contender | None:
        """A rival that works with a control."""
        feedback, place = self.controls[control], self.runs / self.trial.choice
        if alone == IN_LOOP:
            one = self._alone("fine-tuned", place / f"{IN_LOOP} {control}", feedback)
        else:
            one = made[alone] if alone in made else self._alone(alone)
            if one is not None and one.model is not self.model:
                pair = next(p for p in self.trial.estimators if control_name(*p) == control)
                folder = place / f"{alone} {' '.join(pair)}"
                feedback = self._estimating(pair, one.model, folder)
        if one is None or feedback is None:
            return None
        told = f"{one.told}; {feedback.summary()}"
        return replace(one, control=one.control or feedback, told=told)  # in the loop: has its own

    def _alone(
        self, name: str, folder: Path | None = None, control: Estimator | None = None
    ) -> Contender | None:
        data = self.learnt_on
        return rival(
            name,
            self.model,
            self.tokenizer,
            fit_rows(data, TUNED_ON),
            held_rows(data),
            words_for("both", self._words),
            folder or self.runs / self.trial.choice / name,
            self.trial.seed,
            control,
            self.report,
        )

    def _estimating(self, pair: tuple[str, str], model: Any, folder: Path) -> Estimator | None:
        data = self.learnt_on
        found = estimating(
            *pair,
            model,
            self.tokenizer,
            fit_rows(data, ESTIMATED_ON[pair[0]]),
            held_rows(data),
            words_for(pair[1], self._words),
            folder,
            {
                "weights": self.weights if model is self.model else weights_sha256(model),
                "seed": self.trial.seed,
                "resources": self._words,
            },
            self.report,
        )
        if found is None:
            self.report(f"no setting of {control_name(*pair)!r} keeps its clean loss small")
        return found

    @property
    def _words(self) -> str:
        """Source of the words of their random edits."""
        return self.trial.words_from or self.trial.resources

    def _chosen(self, pair: tuple[str, str]) -> Path:
        return self.runs / self.trial.choice / " ".join(pair)
