"""Recorded trials: attack, judge under every control and placebo, write one result file."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from experiments.conditions import LineUp
from experiments.rivals import Contender
from experiments.trial import RANDOM, Trial, fit_rows, held_rows
from pidlib.attacks.attack import attack
from pidlib.attacks.attacker import weights_sha256
from pidlib.attacks.outcomes import Outcome, attack_table, read_outcomes, transfer_rows
from pidlib.data.nli import fingerprint, load_nli
from pidlib.estimation.detection import Detector, auroc, doubt
from pidlib.evaluation.accuracy import right_answers
from pidlib.evaluation.results import write_result
from pidlib.evaluation.trial_results import (
    ADAPTIVE,
    CONTROLS,
    RESTARTED,
    WIDENED,
    answers,
    control_name,
    gains_over_none,
    pack,
    proportions,
    stored_rows,
    unpack,
)
from pidlib.io.files import write_json
from pidlib.models import BASE, BASE_SHA256, load_model, training_record

__all__ = [
    "ADAPTIVE", "CONTROLS", "RANDOM", "RESTARTED", "WIDENED", "Running", "Trial", "answers",
    "control_name", "fit_rows", "gains_over_none", "held_rows", "pack", "proportions", "run_trial",
    "stored_rows", "unpack",
]  # fmt: skip
AGAIN = (RESTARTED, WIDENED)  # attacks of what withstood an attack


class Running(LineUp):
    """A trial under way: its line-up, its rows, its attacks, its verdict."""

    def __init__(
        self, trial: Trial, results: Path, runs: Path, report: Callable[[str], None] = print
    ) -> None:
        super().__init__(trial, runs, report)
        self.results = results
        self._spent: dict[tuple[str, str], float] = {}

    @cached_property
    def rows(self) -> Dataset:
        """Rows judged."""
        split = "test" if self.trial.data == "captions" else None
        trial = self.trial
        found = load_nli(trial.data, split=split, n=trial.after + trial.clean)
        if len(found) < trial.after + trial.n:
            raise ValueError(
                f"{trial.data} has {len(found)} rows; after = {trial.after} and n = {trial.n} "
                f"need {trial.after + trial.n}"
            )
        return found.select(range(trial.after, len(found)))

    def log(self, cell: str, control: str = "") -> str:
        """Name of the file of an attack's outcomes."""
        named = [part for part in control.split() if part not in "+%"]
        parts = [self.trial.rows, self.trial.model, *cell.split(), *named]
        return "-".join(parts) + (self.trial.origin if control else "") + ".jsonl"

    def attack(self, cell: str, only: str | None = None) -> None:
        """Run one attack, or go on with it; keep its outcomes when it is whole."""
        trial, recipe = self.trial, cell.split()[-1]
        plain = {"": Contender(self.model, self.tokenizer)}
        asked = plain if cell in trial.recipes else self.contenders()
        for name, one in ((plain | asked) if cell.startswith(AGAIN) else asked).items():
            if only not in (None, name):
                continue
            log = self.runs / self.log(cell, name)
            ids = range(trial.attacked(cell))
            if cell.startswith(AGAIN):
                ids = [
                    o.id for o in self._outcomes(_first(cell, name), name) if o.status == "failed"
                ]
                ids = [k for k in ids if k < trial.attacked(cell)]
                if not ids:
                    continue
            chosen = self.rows.select(ids)
            with one.on(), _timed(log):
                outcomes = attack(
                    one.model,
                    one.tokenizer,
                    chosen,
                    recipe=recipe,
                    resources=self._resources(cell),
                    seed=trial.seed + cell.startswith(RESTARTED),
                    ids=list(ids),
                    log=log,
                    data=trial.rows,
                    about={"control": one.told} if one.told else None,
                )
            stored = self.results / "attacks" / log.name
            stored.parent.mkdir(parents=True, exist_ok=True)
            partial = stored.with_suffix(".partial")
            shutil.copyfile(log, partial)
            os.replace(partial, stored)
            self.report(f"{log.stem}: {attack_table(outcomes)}")

    def judge(self) -> dict[str, Any]:
        """Judge every condition on every set and write the result file."""
        trial = self.trial
        sets = {"clean": [self.rows[k] for k in range(len(self.rows))]}
        told = {}
        for recipe in trial.recipes:
            sets[recipe], told[recipe] = self._attacked_rows(recipe, trial.attacked(recipe))
        weights = training_record(trial.model)["adapter"]["sha256"]
        right: dict[str, dict[str, np.ndarray]] = {}
        for name, condition in self.conditions().items():
            right[name] = {
                key: self._judged(name, condition, key, rows) for key, rows in sets.items()
            }
            self.report(
                f"{name}: { {key: round(float(b.mean()), 4) for key, b in right[name].items()} }"
            )
        if trial.second:
            other = Contender(*load_model(trial.second))
            right["second"] = {
                key: self._judged("second", other, key, rows) for key, rows in sets.items()
            }
        seen = self.contenders() if trial.adaptive or trial.rivals else {}
        for place, (name, one) in enumerate(seen.items()):
            for recipe in trial.recipes:
                cell = ADAPTIVE + recipe
                key = f"{cell}, {name}" if place else cell
                rows, told[key] = self._attacked_rows(cell, trial.attacked(cell), name)
                right[name][cell] = self._judged(name, one, cell, rows)
        for cell in [cell for cell in trial.cells if cell.startswith(AGAIN)]:
            for name, one in {"": self.conditions()["none"], **seen}.items():
                rows, told[f"{cell}, {name or 'none'}"] = self._again_rows(cell, name)
                right[name or "none"][cell] = self._judged(name or "none", one, cell, rows)
        return self._write(right, told, weights)

    def _attacked_rows(self, cell: str, n: int, control: str = "") -> tuple[list[dict], dict]:
        """Attacked rows of a whole attack, and what it did."""
        outcomes = {o.id: o for o in self._outcomes(cell, control)}
        missing = [k for k in range(n) if k not in outcomes]
        if missing:
            log = self.log(cell, control)
            raise ValueError(f"{log} holds {len(outcomes)} of {n} outcomes; attack first")
        chosen = [outcomes[k] for k in range(n)]
        return transfer_rows(self.rows, chosen), self._counted(chosen, cell, control)

    def _again_rows(self, cell: str, control: str) -> tuple[list[dict], dict]:
        """Rows of an attack with those that withstood it attacked again; what both did."""
        n, first = self.trial.attacked(cell), _first(cell, control)
        outcomes = {o.id: o for o in self._outcomes(first, control) if o.id < n}
        again = [k for k, o in outcomes.items() if o.status == "failed"]
        if again:
            more = {o.id: o for o in self._outcomes(cell, control)}
            if missing := [k for k in again if k not in more]:
                raise ValueError(f"{self.log(cell, control)} lacks row {missing[0]}; attack first")
            outcomes |= {k: more[k] for k in again}
        chosen = [outcomes[k] for k in range(n)]
        return transfer_rows(self.rows, chosen), self._counted(chosen, cell, control)

    def _counted(self, outcomes: list[Outcome], cell: str, control: str) -> dict[str, Any]:
        timer = (self.runs / self.log(cell, control)).with_suffix(".seconds")
        seconds = json.loads(timer.read_text()) if timer.is_file() else None
        return attack_table(outcomes)._asdict() | {"seconds": seconds}

    def _outcomes(self, cell: str, control: str) -> tuple[Outcome, ...]:
        """Outcomes that were stored, of this very attack."""
        path = self.results / "attacks" / self.log(cell, control)
        file = read_outcomes(path)
        _refuse_foreign(path, file.header["configuration"], self._expected(cell, control))
        return tuple(file.outcomes)

    def _expected(self, cell: str, control: str) -> dict[str, Any]:
        """What the header of an attack's log has to say."""
        one = self.contenders()[control] if control else Contender(self.model, self.tokenizer)
        about = {"control": one.told} if one.told else {}
        return {
            "weights_sha256": self.weights
            if one.model is self.model
            else weights_sha256(one.model),
            "recipe": cell.split()[-1],
            "seed": self.trial.seed + cell.startswith(RESTARTED),
            "data": self.trial.rows,
            "about": about,
        }

    def _resources(self, cell: str) -> str:
        return self.trial.resources + ("-wide" if cell.startswith(WIDENED) else "")

    def _judged(self, name: str, one: Contender, key: str, rows: list[dict]) -> np.ndarray:
        """Right answers of one condition on one set, computed once and kept in `runs`."""
        own = one.model is self.model
        want = {
            "weights": self.weights if own else weights_sha256(one.model),
            "condition": [name, one.told],
            "rows": fingerprint(rows),
        }
        place = self.runs / "judged" / self.trial.name / f"{name} {key}.json"
        if place.is_file():
            seen = json.loads(place.read_text(encoding="utf-8"))
            if seen["of"] == want:
                self._spent[name, key] = seen["seconds"]
                return unpack(seen["right"], len(rows))
        started = time.perf_counter()
        with one.on():
            bits = right_answers(one.model, one.tokenizer, rows)
        seconds = round(time.perf_counter() - started, 2)
        write_json(place, {"of": want, "right": pack(bits), "seconds": seconds})
        self._spent[name, key] = seconds
        return bits

    def _detection(self) -> dict[str, dict[str, list[float]]]:
        """How well scores tell texts that fooled the model from the same before the attack.

        By recipe and detector: area under the curve and its interval, then the texts. What is
        usual is learnt from held-out rows.
        """
        held = held_rows(self.learnt_on)
        model = self.model, self.tokenizer
        detectors = {"doubt": partial(doubt, *model)}
        for name, control in self.controls.items():
            found = Detector.fit(*model, held, control)
            detectors[name] = partial(found.score, *model)
        told: dict[str, dict[str, list[float]]] = {}
        for recipe in self.trial.recipes:
            rows, _ = self._attacked_rows(recipe, self.trial.attacked(recipe))
            fooled = [row for row in rows if row["kind"] == "succeeded"]
            if not fooled:
                continue
            clean = [self.rows[row["id"]] for row in fooled]
            told[recipe] = {}
            for name, score in detectors.items():
                area = auroc(score(clean), score(fooled), seed=self.trial.seed)
                told[recipe][name] = [*area, len(fooled)]
            self.report(f"{recipe}: {told[recipe]}")
        return told

    def _write(self, right: dict, told: dict, weights: str) -> dict[str, Any]:
        trial = self.trial
        judging = sum(self._spent.values())
        attacking = [part["seconds"] for part in told.values()]
        return write_result(
            self.results / f"{trial.name}.json",
            command=trial.command,
            configuration=json.loads(json.dumps(asdict(trial))),
            data={
                "name": trial.rows,
                "n": trial.n if trial.recipes else len(self.rows),
                "clean": len(self.rows),
                "sha256": fingerprint(self.rows),
            },
            model={
                "name": trial.model,
                "sha256": weights,
                "base": {"name": BASE, "sha256": BASE_SHA256},
            },
            seed=trial.seed,
            counts={
                name: {key: {"right": int(bits.sum()), "n": len(bits)} for key, bits in s.items()}
                for name, s in right.items()
            },
            attacks=told,
            examples={
                name: {key: pack(bits) for key, bits in s.items()} for name, s in right.items()
            },
            selection=self.selection(),
            detection=self._detection() if trial.estimators else {},
            judging_seconds=round(judging, 1),
            seconds_complete=None not in attacking,  # False: an attack was timed elsewhere
            seconds=judging + sum(part or 0 for part in attacking),
        )


def run_trial(
    trial: Trial, results: Path, runs: Path, report: Callable[[str], None] = print
) -> dict[str, Any]:
    """Run a trial from its attacks to its result file; go on where it stopped."""
    running = Running(trial, results, runs, report)
    for cell in trial.cells:
        running.attack(cell)
    return running.judge()


def _first(cell: str, control: str) -> str:
    """The attack that the rows withstood which are attacked again."""
    return (ADAPTIVE if control else "") + cell.split()[-1]


def _refuse_foreign(path: Path, seen: Mapping[str, Any], want: Mapping[str, Any]) -> None:
    """Refuse outcomes of another model, control, recipe, seed or data."""
    changed = [key for key in want if seen.get(key) != want[key]]
    if changed:
        told = "; ".join(f"{k}: {seen.get(k)!r} there, {want[k]!r} here" for k in changed)
        raise ValueError(f"{path.name} holds another attack ({told}); attack again")


@contextmanager
def _timed(log: Path) -> Iterator[None]:
    """Add the seconds spent on a log to those in the file beside it."""
    path = log.with_suffix(".seconds")
    before = json.loads(path.read_text()) if path.is_file() and log.is_file() else 0.0
    started = time.perf_counter()
    try:
        yield
    finally:
        if log.is_file():
            write_json(path, round(before + time.perf_counter() - started, 1))
