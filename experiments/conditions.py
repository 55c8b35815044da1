"""The conditions of a trial: its model, its controls, and their placebos."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from experiments.rows import fit_rows
from experiments.trial import Trial
from pidbook.evaluation.trial_results import control_name
from pidlib.attacks.attack import attack
from pidlib.attacks.outcomes import Outcome
from pidlib.evaluation.accuracy import under
from pidlib.evaluation.placebos import Placebo
from pidlib.models import load_model
from pidlib.pid import PIDController

PLACEBOS = (("noise", 0), ("noise", 1), ("rotation", 0), ("rotation", 1), ("negative", 0))
# of decoders: first positions left out, whose states are tens of times as long as all others
SKIPPED = {"smollm2-nli": 1}


@dataclass(frozen=True)
class Condition:
    """One model on trial, and what hangs on it."""

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
        with self.attached():
            return attack(self.model, self.tokenizer, rows, recipe, about=self.about, **settings)


class Conditions:
    """All that stands trial, made when it is first needed."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.model, self.tokenizer = load_model(trial.model)
        self.bare = Condition(self.model, self.tokenizer)

    @cached_property
    def controls(self) -> dict[str, PIDController]:
        """Controls by name; one fit serves every scheme and threshold."""
        rows = fit_rows(self.trial.data, self.trial.fitted_on)
        settings = {"c": self.trial.c, "skip_first": SKIPPED.get(self.trial.model, 0)}
        fitted = PIDController.fit(self.model, self.tokenizer, rows, scheme="PID", **settings)
        return {
            control_name(scheme, variance): fitted.retune(scheme=scheme, variance=variance)
            for scheme, variance in self.trial.controls
        }

    def attacked(self) -> dict[str, Condition]:
        """Controls that are attacked by themselves."""
        return {name: self._under(name) for name in self.trial.attacked_controls}

    def judged(self) -> dict[str, Condition]:
        """All that is judged on every set, placebos too."""
        conditions = {"none": self.bare} | {name: self._under(name) for name in self.controls}
        for pair in self.trial.placebos:
            name = control_name(*pair)
            for kind, seed in PLACEBOS:
                placebo = Placebo(self.controls[name], kind, seed)
                conditions[f"{name}: {placebo.name}"] = self._under(name, placebo)
        return conditions

    def _under(self, name: str, placebo: Placebo | None = None) -> Condition:
        """The model under a control, or under a placebo of it."""
        control = self.controls[name]
        return Condition(self.model, self.tokenizer, placebo or control, control.summary())
