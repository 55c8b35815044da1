"""A trial under way: attack, judge under every condition, count; it goes on where it stopped."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from experiments.adapters import adapter_record
from experiments.conditions import Condition, Conditions
from experiments.experiment import cached_json, config_path
from experiments.trial import JUDGE, Cell, Trial, all_known
from pidbook.evaluation.results import write_result
from pidbook.evaluation.trial_results import log_name, pack, unpack
from pidlib.attacks.attacker import victim_sha256
from pidlib.attacks.outcomes import Outcome, attack_table, read_outcomes, transfer_rows
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.accuracy import right_answers
from pidlib.io.files import whole, write_json
from pidlib.models import load_model

Report = Callable[[str], None]  # gets a line of progress


class RunningTrial:
    """A trial under way: its conditions, its rows, its attacks, its verdict."""

    def __init__(self, trial: Trial, results: Path, runs: Path, report: Report = print) -> None:
        self.trial, self.results, self.runs, self.report = trial, results, runs, report
        self.conditions = Conditions(trial)
        self._weights = cache(victim_sha256)
        self._spent: dict[tuple[str, str], float] = {}

    def run(self, only: str | None = None) -> dict[str, Any] | None:
        """Attack, then judge; or one part: an attack, of one condition if a comma names it."""
        part, _, condition = (only or "").partition(", ")
        if condition:
            all_known("condition", (condition,), self.trial.attacked_controls)
        for cell in self.trial.cells:
            if only is None or cell.name == part:
                self.attack(cell, condition or None)
        return self.judge() if only in (None, JUDGE) else None

    @cached_property
    def rows(self) -> Dataset:
        """Rows judged."""
        trial = self.trial
        split = "test" if trial.data == "captions" else None
        rows = load_nli(trial.data, split=split, n=trial.clean)
        if len(rows) < trial.n:
            raise ValueError(f"{trial.data} has {len(rows)} rows; n = {trial.n} needs {trial.n}")
        return rows

    def log(self, cell: Cell, name: str = "") -> str:
        """Name of the file of an attack's outcomes, against no control or a named condition."""
        return log_name(f"{self.trial.data}-{self.trial.model}", cell.name, name)

    def attack(self, cell: Cell, only: str | None = None) -> None:
        """Run one attack, or go on with it; keep its outcomes when it is whole."""
        for name, condition in self._attacked(cell).items():
            if only not in (None, name):
                continue
            ids = list(range(self.trial.attacked(cell)))
            log = self.runs / self.log(cell, name)
            with _timed(log):
                outcomes = condition.attack(
                    self.rows.select(ids),
                    cell.recipe,
                    resources=self.trial.resources,
                    seed=self.trial.seed,
                    ids=ids,
                    log=log,
                    data=self.trial.data,
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
        plain = next(iter(trial.attacked_controls), "")  # its adaptive attacks bear no name
        for cell in [cell for cell in trial.cells if cell.chance]:
            for name, condition in self._attacked(cell).items():
                key = cell.name if name == plain else f"{cell.name}, {name}"
                rows, attacks[key] = self._attacked_rows(cell, name)
                right[name][cell.name] = self._judged(name, condition, cell.name, rows)
        return self._fields(right, attacks)

    def _attacked(self, cell: Cell) -> dict[str, Condition]:
        """What an attack is made against; the empty name is no control."""
        return self.conditions.attacked() if cell.chance else {"": self.conditions.bare}

    def _attacked_rows(self, cell: Cell, name: str = "") -> tuple[list[dict], dict]:
        """Attacked rows, and what the attack did."""
        outcomes = {o.id: o for o in self._outcomes(cell, name)}
        wanted = range(self.trial.attacked(cell))
        if lacking := [k for k in wanted if k not in outcomes]:
            raise ValueError(
                f"{self.log(cell, name)} holds {len(wanted) - len(lacking)} of {len(wanted)} "
                "outcomes; attack first"
            )
        chosen = [outcomes[k] for k in wanted]
        timer = (self.runs / self.log(cell, name)).with_suffix(".seconds")
        seconds = json.loads(timer.read_text()) if timer.is_file() else None
        did = attack_table(chosen)._asdict() | {"seconds": seconds}
        return transfer_rows(self.rows, chosen), did

    def _outcomes(self, cell: Cell, name: str) -> list[Outcome]:
        """Outcomes that were stored, of this very attack."""
        path = self.results / "attacks" / self.log(cell, name)
        file = read_outcomes(path)
        wanted = {
            "weights_sha256": self._weights(self.conditions.model),
            "recipe": cell.recipe,
            "seed": self.trial.seed,
            "data": self.trial.data,
            "about": self._attacked(cell)[name].about,
        }
        there = file.header["configuration"]
        if changed := [key for key in wanted if there.get(key) != wanted[key]]:
            how = "; ".join(f"{k}: {there.get(k)!r} there, {wanted[k]!r} here" for k in changed)
            raise ValueError(f"{path.name} holds another attack ({how}); attack again")
        return file.outcomes

    def _judged(self, name: str, condition: Condition, key: str, rows: list[dict]) -> np.ndarray:
        """Right answers of one condition on one set, computed once and kept in `runs`."""
        settings = {
            "weights": self._weights(condition.model),
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

    def _fields(
        self, right: dict[str, dict[str, np.ndarray]], attacks: dict[str, dict]
    ) -> dict[str, Any]:
        """Fields of the result: its rows, its model, counts, every answer, and the seconds."""
        trial, clean = self.trial, len(self.rows)
        judging = sum(self._spent.values())
        attacking = [attacked["seconds"] for attacked in attacks.values()]
        counts, answers = {}, {}
        for name, of in right.items():
            counts[name] = {k: {"right": int(bits.sum()), "n": len(bits)} for k, bits in of.items()}
            answers[name] = {key: pack(bits) for key, bits in of.items()}
        return {
            "data": {
                "name": trial.data,
                "n": trial.n if trial.recipes else clean,
                "clean": clean,
                "sha256": fingerprint(self.rows),
            },
            "model": adapter_record(trial.model),
            "counts": counts,
            "examples": answers,
            "attacks": attacks,
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


def record(
    trial: Trial,
    results: str | Path,
    runs: str | Path = "runs",
    report: Report = print,
    config: str | Path | None = None,
    only: str | None = None,
) -> dict[str, Any]:
    """Run a trial, or one part of it, and write its result file."""
    if only is not None and only.partition(", ")[0] not in trial.parts:
        raise ValueError(f"no part {only!r} of {trial.name}; known: {list(trial.parts)}")
    results, config = Path(results), config or trial.name
    fields = RunningTrial(trial, results, Path(runs), report).run(only)
    if fields is None:  # a part that comes before the result
        return {}
    return write_result(
        results / f"{trial.name}.json",
        command=f"python -m experiments run {config}",
        config=config_path(config).name,
        configuration=trial.configuration,
        seed=trial.seed,
        **fields,
    )
