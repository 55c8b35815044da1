"""The fair trial of a control: clean, transfer, placebo, second model, adaptive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pidlib.attacks.attack import attack
from pidlib.attacks.outcomes import transfer_rows
from pidlib.data.perturbations import Candidates
from pidlib.evaluation.accuracy import (
    Paired,
    Proportion,
    bootstrap,
    compare,
    right_answers,
    transfer,
)
from pidlib.evaluation.placebos import PLACEBO_KINDS, Placebo
from pidlib.evaluation.trial_results import ADAPTIVE, answers
from pidlib.pid import PIDController

SETS = ("clean", "transfer", "adaptive")


@dataclass(frozen=True)
class FairTrial:
    """What a trial found; `print` it for the table and the answers.

    Attributes
    ----------
    recipe : str
    right : dict of str to dict of str to (N,) bool array, `right[condition][set]`
        Conditions: `"none"`, `"control"`, placebos such as `"noise 0"`, perhaps `"second"`. Sets:
        `"clean"`; `"transfer"`, attacked without control; `"adaptive"`, attacked under it.
    """

    recipe: str
    right: Mapping[str, Mapping[str, np.ndarray]]

    @classmethod
    def from_result(
        cls, result: Mapping[str, Any], recipe: str, control: str = "P-D 99 %"
    ) -> FairTrial:
        """Take one recipe and one control out of a recorded trial."""
        n = len(answers(result, "none", recipe))
        adaptive = ADAPTIVE + recipe
        right = {}
        for condition in result["examples"]:
            name = "control" if condition == control else condition.removeprefix(f"{control}: ")
            if condition not in ("none", "second", control) and name == condition:
                continue
            right[name] = {
                "clean": answers(result, condition, "clean")[:n],
                "transfer": answers(result, condition, recipe),
            }
        if "control" not in right:
            raise ValueError(f"no control {control!r}; there are {sorted(result['examples'])}")
        if adaptive in result["examples"][control]:
            right["control"]["adaptive"] = bits = answers(result, control, adaptive)
            right["none"]["adaptive"] = right["none"]["transfer"][: len(bits)]
        return cls(recipe, right)

    @property
    def has_adaptive(self) -> bool:
        """Whether the control itself was attacked."""
        return "adaptive" in self.right["control"]

    def accuracy(self, condition: str, key: str) -> float:
        """Share of right answers, from 0 to 1; of a kind of placebo ("noise"), the mean over its seeds."""
        return float(np.mean(self._share(condition, key)))

    def gain(self, key: str, over: str = "none") -> Paired:
        """Control against another condition on one set, row by row."""
        return compare(self.right[over][key], self.right["control"][key])

    def beyond(self, kind: str, key: str = "transfer") -> tuple[float, float, float]:
        """Control less a kind of placebo, or "second": mean, and 95 % interval by resampling rows."""
        steps = self.right["control"][key] - self._share(kind, key)
        return (float(steps.mean()), *bootstrap(steps))

    def _share(self, condition: str, key: str) -> np.ndarray:
        """Share (N,) of the runs of a condition that answer each row rightly."""
        names = [c for c in self.right if c == condition or c.split()[0] == condition]
        if not names:
            raise ValueError(f"no condition {condition!r}; there are {list(self.right)}")
        return np.mean([self.right[name][key] for name in names], axis=0)

    @property
    def kinds(self) -> list[str]:
        """Kinds of placebo in the trial."""
        return [kind for kind in PLACEBO_KINDS if any(c.split()[0] == kind for c in self.right)]

    def table(self) -> list[dict[str, str]]:
        """One row a condition: accuracy in percent on each set, with Wilson's interval."""
        rows, sets = [], SETS if self.has_adaptive else SETS[:2]
        for condition in ("none", "control", *self.kinds, "second"):
            if condition in self.right or condition in self.kinds:
                cells = {key: self._cell(condition, key) for key in sets}
                rows.append({"condition": condition} | cells)
        return rows

    def proportion(self, condition: str, key: str) -> Proportion:
        """Right answers of one condition ("none", "noise 0") on one set, as counts."""
        bits = self.right[condition][key]
        return Proportion(int(bits.sum()), len(bits))

    def _cell(self, condition: str, key: str) -> str:
        if condition in self.kinds:
            return f"{100 * self.accuracy(condition, key):.1f}" if key != "adaptive" else "-"
        if key not in self.right[condition]:
            return "-"
        return str(self.proportion(condition, key)).replace(" %", "").partition(" (")[0]

    def answers(self) -> list[tuple[str, str, str]]:
        """Questions, what the intervals answer (yes, no or not shown), and the numbers."""
        cost, gain = self.gain("clean"), self.gain("transfer")
        lines = [
            ("Does it cost clean accuracy?", _read(*cost.interval(), -1), str(cost)),
            ("Does it help against transfer?", _read(*gain.interval()), str(gain)),
        ]
        for kind in [*self.kinds, *(["second"] if "second" in self.right else [])]:
            mean, low, high = self.beyond(kind)
            numbers = f"{100 * mean:+.1f} points [{_end(low)}, {_end(high)}]"
            name = "a second model" if kind == "second" else f"the placebo {kind}"
            lines.append((f"More than {name}?", _read(low, high), numbers))
        if self.has_adaptive:
            gain = self.gain("adaptive")
            question = "Does it help if the attacker sees it?"
            lines.append((question, _read(*gain.interval()), str(gain)))
        return lines

    def card(self, title: str) -> str:
        """Markdown of the answers under a title, to copy: what any report of a defence should say."""
        n = len(self.right["none"]["transfer"])
        head = f"| {title} | {self.recipe}, n = {n} | good or bad | points, 95 % interval |"
        lines = [head, "|---|---|---|---|"]
        for question, answer, numbers in self.answers():
            wanted = "no" if question.startswith("Does it cost") else "yes"
            side = "open" if answer == "not shown" else "good" if answer == wanted else "bad"
            lines.append(f"| {question} | {answer} | {side} | {numbers.partition(' (')[0]} |")
        return "\n".join([*lines, "| Does it miss more words that change the meaning? | | | |"])

    def __str__(self) -> str:
        n = len(self.right["none"]["transfer"])
        lines = [f"{self.recipe}, n = {n}; accuracy in %, 95 % intervals", *_columns(self.table())]
        answers = self.answers()
        width = max(len(question) for question, _, _ in answers)
        lines.append("")
        for question, answer, numbers in answers:
            gain, *counts = numbers.split(" (", 1)  # won, lost and p stand on their own line
            lines.append(f"{question:{width}}  {answer:9}  {gain}")
            lines += [f"{'':{width}}  ({rest}" for rest in counts]
        return "\n".join(lines)


def fair_trial(
    model: Any,
    tokenizer: Any,
    controller: PIDController,
    rows: Sequence[Mapping[str, Any]],
    recipe: str = "textfooler",
    resources: str | Candidates = "lexicon",
    *,
    second: tuple[Any, Any] | None = None,
    seeds: Sequence[int] = (0, 1, 2),
    seed: int = 0,
    folder: str | Path | None = None,
    progress: bool = False,
) -> FairTrial:
    """Put a control on trial: transfer, placebos, a second model, and its own attacker.

    Parameters
    ----------
    model, tokenizer, controller
        As `load_model` returns them, and a controller that was fitted on them.
    rows, recipe, resources, seed, progress
        As for `pidlib.attacks.attack`; 500 rows or more, or the intervals are wide.
    second : (model, tokenizer), optional, another model of the same task
    seeds : sequence of int, of the placebos noise and rotation
    folder : path, optional
        Keeps the outcomes of both attacks; a broken-off trial goes on where it stopped.

    Returns
    -------
    FairTrial

    Source: after Athalye et al. 2018 and Tramèr et al. 2020 (adaptive attacks).
    """
    if not seeds:
        raise ValueError("there are no seeds for the placebos: give at least one")
    clean = [rows[k] for k in range(len(rows))]  # a data set's slice is no list of rows
    conditions: dict[str, Any] = {"none": None, "control": controller}
    for kind in PLACEBO_KINDS:
        for k in seeds if kind != "negative" else [0]:
            placebo = Placebo(controller, kind, k)
            conditions[placebo.name] = placebo
    if second is not None:
        model_two, tokenizer_two = second  # fails here, not after hours
        right_answers(model_two, tokenizer_two, clean[:1])
    transfer(model, tokenizer, {"clean": clean[:1]}, conditions)
    settings = dict(recipe=recipe, resources=resources, seed=seed, progress=progress)
    logs = {key: Path(folder) / f"{recipe}-{key}.jsonl" if folder else None for key in SETS}
    unseen = attack(model, tokenizer, rows, log=logs["transfer"], **settings)
    with controller.attached(model):
        about = {"control": controller.summary()}
        adaptive = attack(model, tokenizer, rows, log=logs["adaptive"], about=about, **settings)
    names = [*conditions, *(["second"] if second else [])]
    right: dict[str, dict[str, np.ndarray]] = {name: {} for name in names}
    for key, judged in (("clean", clean), ("transfer", transfer_rows(rows, unseen))):
        # one set at a time: the directions of a placebo start anew whenever it is attached
        for name, bits in transfer(model, tokenizer, {key: judged}, conditions).items():
            right[name] |= bits
        if second is not None:
            right["second"][key] = right_answers(*second, judged)
    right["none"]["adaptive"] = right["none"]["transfer"]
    with controller.attached(model):
        against = transfer_rows(rows, adaptive)
        right["control"]["adaptive"] = right_answers(model, tokenizer, against)
    return FairTrial(recipe, right)


def _read(low: float, high: float, sign: int = 1) -> str:
    """Yes or no where the interval leaves 0 out, else not shown."""
    low, high = (low, high) if sign > 0 else (-high, -low)
    return "yes" if low > 0 else "no" if high < 0 else "not shown"


def _end(share: float) -> str:
    """An end of an interval in points, with a second decimal where the first would make it 0."""
    return f"{100 * share:+.{1 + (abs(share) < 5e-4)}f}"


def _columns(rows: Sequence[Mapping[str, str]]) -> list[str]:
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    pairs = [zip(line, widths, strict=True) for line in lines]
    return ["  ".join(f"{text:{width}}" for text, width in line).rstrip() for line in pairs]
