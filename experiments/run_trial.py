"""A trial under way: attack, judge under every condition, count; it goes on where it stopped."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from experiments.conditions import Condition, Conditions
from experiments.experiment import Report, all_known, cached_json
from experiments.fields import answered
from experiments.rows import held_rows
from experiments.trial import JUDGE, Cell, Trial
from pidbook.estimation.detection import Detector, auroc, doubt
from pidbook.evaluation.trial_results import ADAPTIVE, RESTARTED, WIDENED, pack, unpack
from pidlib.attacks.outcomes import Outcome, attack_table, read_outcomes, transfer_rows
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.accuracy import right_answers
from pidlib.io.files import whole, write_json
from pidlib.models import load_model


@dataclass(frozen=True)
class TrialRun(Trial):
    """A trial that can be run."""

    def run(
        self, results: Path, runs: Path, report: Report, only: str | None = None
    ) -> dict[str, Any] | None:
        """Attack, then judge; or one part: an attack, of one condition if a comma names it."""
        running = RunningTrial(self, results, runs, report)
        part, _, condition = (only or "").partition(", ")
        if condition:
            all_known("condition", (condition,), running.conditions.attacked())
        for cell in self.cells:
            if only is None or cell.name == part:
                running.attack(cell, condition or None)
        return running.judge() if only in (None, JUDGE) else None


class RunningTrial:
    """A trial under way: its conditions, its rows, its attacks, its verdict."""

    def __init__(self, trial: Trial, results: Path, runs: Path, report: Report = print) -> None:
        self.trial, self.results, self.runs, self.report = trial, results, runs, report
        self.conditions = Conditions(trial, runs, report)
        self._spent: dict[tuple[str, str], float] = {}

    @cached_property
    def rows(self) -> Dataset:
        """Rows judged."""
        trial = self.trial
        split = "test" if trial.data == "captions" else None
        rows = load_nli(trial.data, split=split, n=trial.after + trial.clean)
        if len(rows) < trial.after + trial.n:
            raise ValueError(
                f"{trial.data} has {len(rows)} rows; after = {trial.after} and n = {trial.n} "
                f"need {trial.after + trial.n}"
            )
        return rows.select(range(trial.after, len(rows)))

    def log(self, cell: Cell, name: str = "") -> str:
        """Name of the file of an attack's outcomes, against no control or a named condition."""
        parts = [self.trial.rows, self.trial.model, *cell.name.split()]
        parts += re.findall(r"[\w-]+", name)
        return "-".join(parts) + (self.trial.origin if name else "") + ".jsonl"

    def attack(self, cell: Cell, only: str | None = None) -> None:
        """Run one attack, or go on with it; keep its outcomes when it is whole."""
        for name, condition in self._attacked(cell).items():
            if only not in (None, name):
                continue
            ids = list(range(self.trial.attacked(cell)))
            if cell.again:
                ids = [o.id for o in self._first(cell, name) if o.status == "failed"]
                if not ids:
                    continue
            log = self.runs / self.log(cell, name)
            with _timed(log):
                outcomes = condition.attack(
                    self.rows.select(ids),
                    cell.recipe,
                    resources=self.trial.resources + ("-wide" if cell.chance == WIDENED else ""),
                    seed=self._seed(cell),
                    ids=ids,
                    log=log,
                    data=self.trial.rows,
                )
            stored = self.results / "attacks" / log.name
            with whole(stored) as copy:
                shutil.copyfile(log, copy)
            self.report(f"{log.stem}: {attack_table(outcomes)}")

    def judge(self) -> dict[str, Any]:
        """Judge every condition on every set; the fields of the result file."""
        trial = self.trial
        sets, attacks = {"clean": [dict(row) for row in self.rows]}, {}
        for recipe in trial.recipes:
            sets[recipe], attacks[recipe] = self._attacked_rows(Cell("", recipe))
        right: dict[str, dict[str, np.ndarray]] = {}
        judged = self.conditions.judged()
        if trial.second:
            judged["second"] = Condition(*load_model(trial.second))
        for name, condition in judged.items():
            right[name] = {
                key: self._judged(name, condition, key, rows) for key, rows in sets.items()
            }
            shares = {key: round(float(bits.mean()), 4) for key, bits in right[name].items()}
            self.report(f"{name}: {shares}")
        plain = next(iter(self.conditions.attacked()), "")  # its adaptive attacks bear no name
        for cell in [cell for cell in trial.cells if cell.chance]:
            for name, condition in self._attacked(cell).items():
                key = cell.name
                if cell.again or name != plain:
                    key = f"{key}, {name or 'none'}"
                rows, attacks[key] = self._attacked_rows(cell, name)
                bits = self._judged(name or "none", condition, cell.name, rows)
                right[name or "none"][cell.name] = bits
        return self._fields(right, attacks)

    def _attacked(self, cell: Cell) -> dict[str, Condition]:
        """What an attack is made against; the empty name is no control."""
        bare = {"": self.conditions.bare}
        if not cell.chance:
            return bare
        return (bare if cell.again else {}) | self.conditions.attacked()

    def _seed(self, cell: Cell) -> int:
        return self.trial.seed + (cell.chance == RESTARTED)

    def _first(self, cell: Cell, name: str) -> list[Outcome]:
        """Outcomes of the attack before one of what withstood it."""
        n, before = self.trial.attacked(cell), Cell(ADAPTIVE if name else "", cell.recipe)
        return [o for o in self._outcomes(before, name) if o.id < n]

    def _attacked_rows(self, cell: Cell, name: str = "") -> tuple[list[dict], dict]:
        """Attacked rows, those that withstood it attacked again; and what the attack did."""
        outcomes, wanted = {}, range(self.trial.attacked(cell))
        if cell.again:
            outcomes = {o.id: o for o in self._first(cell, name)}
            wanted = [k for k, o in outcomes.items() if o.status == "failed"]
        if wanted:
            own = {o.id: o for o in self._outcomes(cell, name)}
            if lacking := [k for k in wanted if k not in own]:
                raise ValueError(
                    f"{self.log(cell, name)} holds {len(wanted) - len(lacking)} of {len(wanted)} "
                    "outcomes; attack first"
                )
            outcomes |= {k: own[k] for k in wanted}
        chosen = [outcomes[k] for k in range(self.trial.attacked(cell))]
        timer = (self.runs / self.log(cell, name)).with_suffix(".seconds")
        seconds = json.loads(timer.read_text()) if timer.is_file() else None
        did = attack_table(chosen)._asdict() | {"seconds": seconds}
        return transfer_rows(self.rows, chosen), did

    def _outcomes(self, cell: Cell, name: str) -> list[Outcome]:
        """Outcomes that were stored, of this very attack."""
        path = self.results / "attacks" / self.log(cell, name)
        file = read_outcomes(path)
        condition = self._attacked(cell)[name]
        wanted = {
            "weights_sha256": self.conditions.weights(condition.model),
            "recipe": cell.recipe,
            "seed": self._seed(cell),
            "data": self.trial.rows,
            "about": condition.about,
        }
        there = file.header["configuration"]
        if changed := [key for key in wanted if there.get(key) != wanted[key]]:
            how = "; ".join(f"{k}: {there.get(k)!r} there, {wanted[k]!r} here" for k in changed)
            raise ValueError(f"{path.name} holds another attack ({how}); attack again")
        return file.outcomes

    def _judged(self, name: str, condition: Condition, key: str, rows: list[dict]) -> np.ndarray:
        """Right answers of one condition on one set, computed once and kept in `runs`."""
        settings = {
            "weights": self.conditions.weights(condition.model),
            "condition": [name, condition.summary],
            "rows": fingerprint(rows),
        }
        path = self.runs / "judged" / self.trial.name / f"{name} {key}.json"

        def judge() -> dict[str, Any]:
            started = time.perf_counter()
            with condition.attached():
                bits = right_answers(condition.model, condition.tokenizer, rows)
            return {"right": pack(bits), "seconds": round(time.perf_counter() - started, 2)}

        stored = cached_json(path, settings, judge)
        self._spent[name, key] = stored["seconds"]
        return unpack(stored["right"], len(rows))

    def _detection(self) -> dict[str, dict[str, list[float]]]:
        """How well scores tell texts that fooled the model from the same before the attack.

        By recipe and detector: area under the curve and its interval, then the texts. What is
        usual is learnt from held-out rows.
        """
        held = held_rows(self.conditions.learnt_on)
        model = self.conditions.model, self.conditions.tokenizer
        detectors = {"doubt": partial(doubt, *model)}
        for name, control in self.conditions.controls.items():
            detectors[name] = partial(Detector.fit(*model, held, control).score, *model)
        areas: dict[str, dict[str, list[float]]] = {}
        for recipe in self.trial.recipes:
            rows, _ = self._attacked_rows(Cell("", recipe))
            fooled = [row for row in rows if row["kind"] == "succeeded"]
            if not fooled:
                continue
            clean = [self.rows[row["id"]] for row in fooled]
            areas[recipe] = {
                name: [*auroc(score(clean), score(fooled), seed=self.trial.seed), len(fooled)]
                for name, score in detectors.items()
            }
            self.report(f"{recipe}: {areas[recipe]}")
        return areas

    def _fields(self, right: Mapping, attacks: Mapping) -> dict[str, Any]:
        trial = self.trial
        judging = sum(self._spent.values())
        attacking = [attacked["seconds"] for attacked in attacks.values()]
        n = trial.n if trial.recipes else len(self.rows)
        about = {"name": trial.rows, "n": n, "clean": len(self.rows)}
        return answered(trial, self.rows, right, **about) | {
            "attacks": attacks,
            "selection": self.conditions.selection(),
            "detection": self._detection() if trial.estimators else {},
            "judging_seconds": round(judging, 1),
            "seconds_complete": None not in attacking,  # False: an attack was timed elsewhere
            "seconds": judging + sum(seconds or 0 for seconds in attacking),
        }


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
