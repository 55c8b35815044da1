"""The fair trial of a control: clean, contrast, transfer, placebo, second model, adaptive, exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate
from tqdm.auto import tqdm

from pidlib.attacks.attack import attack
from pidlib.attacks.outcomes import transfer_rows
from pidlib.attacks.synonyms import candidates
from pidlib.data.labels import label_names
from pidlib.data.perturbations import Candidates
from pidlib.data.rows import as_rows
from pidlib.evaluation.accuracy import right_answers, transfer, under
from pidlib.evaluation.exact import exact_robustness
from pidlib.evaluation.placebos import PLACEBO_KINDS, Placebo
from pidlib.evaluation.statistics import (
    Paired,
    Proportion,
    bootstrap,
    compare,
    conclude,
    points_of,
    unshown,
)

NONE = unshown(0, 0)  # "none within 2"
SETS = ("clean", "transfer", "adaptive", "contrast", "exact")
MISSES = "Does it miss changes of meaning?"
RELIABLE = (
    "Do texts made for it break it more?"  # a gain: unreliable, the search that sees it is weak
)
COST = "Does it cost clean accuracy?"
LAST = (
    ("adaptive", "Does it help if the attacker sees it?"),
    ("exact", "Does it help under every swap?"),
    ("contrast", MISSES),
)


@dataclass(frozen=True)
class FairTrial:
    """What a trial found; `print` it for the table and the answers.

    Attributes
    ----------
    recipe : str
    right : dict of str to dict of str to (N,) bool array, `right[condition][set]`
        Conditions: `"none"`, `"control"`, placebos such as `"noise 0"`, perhaps `"second"`. Sets:
        `"clean"`; `"transfer"`, attacked without control; `"adaptive"`, attacked under it; and if
        asked for, `"contrast"`, pairs whose answer must change, and `"exact"`, right under every
        swap of one or two words.
    beside : tuple of FairTrial
        Of the same control under other recipes: `answers` corrects for having asked them, too.
    """

    recipe: str
    right: Mapping[str, Mapping[str, np.ndarray]]
    beside: tuple[FairTrial, ...] = ()

    def accuracy(self, condition: str, key: str) -> float:
        """Share of right answers, from 0 to 1; of a kind of placebo ("noise"), the mean over its seeds."""
        return float(np.mean(self._share(condition, key)))

    def gain(self, key: str, over: str = "none") -> Paired:
        """Control against another condition on one set, row by row."""
        return compare(self.right[over][key], self.right["control"][key])

    def beyond(self, kind: str, key: str = "transfer") -> tuple[float, float, float]:
        """Control less the mean of a kind of placebo: mean, and 95 % interval by resampling rows."""
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
        rows, sets = [], [key for key in SETS if key in self.right["control"]]
        for condition in ("none", "control", *self.kinds, "second"):
            if condition in self.right or condition in self.kinds:
                cells = {key: self._cell(condition, key) for key in sets}
                rows.append({"condition": condition} | cells)
        return rows

    def _cell(self, condition: str, key: str) -> str:
        if condition in self.kinds:
            absent = key in ("adaptive", "exact")
            return "-" if absent else f"{100 * self.accuracy(condition, key):.1f}"
        if key not in self.right[condition]:
            return "-"
        bits = self.right[condition][key]
        return str(Proportion(int(bits.sum()), len(bits))).replace(" %", "").partition(" (")[0]

    def answers(self) -> list[tuple[str, str, str]]:
        """Questions, the word for what is found, and the numbers.

        The word is that of `conclude`, over the recipes; for placebos, of which a mean over seeds
        stands beside the control, that of the interval.

        A gain is in favour of the control, a loss against it; of the last question, a loss says that
        the attacker who sees the control is the stronger one, as he should be.
        """
        cost = self.gain("clean")  # the same rows for each recipe: one test
        lines = [
            (COST, conclude({"": cost})[""], str(cost)),
            self._answer("Does it help against transfer?", lambda of: of.gain("transfer")),
        ]
        for kind in self.kinds:
            mean, low, high = self.beyond(kind)
            word = "gain" if low > 0 else "loss" if high < 0 else unshown(low, high)
            numbers = f"{100 * mean:+.1f} points [{points_of(low)}, {points_of(high)}]"
            lines.append((f"More than the placebo {kind}?", word, numbers))
        if "second" in self.right:
            question = "More than a second model?"
            lines.append(self._answer(question, lambda of: of.gain("transfer", over="second")))
        for key, question in LAST:
            if key in self.right["control"]:
                lines.append(self._answer(question, lambda of, key=key: of.gain(key), key))
        if "adaptive" in self.right["control"]:
            lines.append(self._answer(RELIABLE, FairTrial._seen_less_unseen, "adaptive"))
        return lines

    def _answer(
        self, question: str, ask: Callable[[FairTrial], Paired], key: str = "transfer"
    ) -> tuple[str, str, str]:
        """The question, the word after Holm's correction over the recipes, and the numbers."""
        asked = [of for of in (self, *self.beside) if key in of.right["control"]]
        return question, conclude(dict(enumerate(map(ask, asked))))[0], str(ask(self))

    def _seen_less_unseen(self) -> Paired:
        """The control on texts that were made against it, less on those made without it."""
        own = self.right["control"]
        return compare(own["transfer"][: len(own["adaptive"])], own["adaptive"])

    def card(self, title: str) -> str:
        """Markdown of the answers under a title, to copy: what any report of a defence should say."""
        n = len(self.right["none"]["transfer"])
        head = f"| {title} | {self.recipe}, n = {n} | good or bad | points, 95 % interval |"
        lines = [head, "|---|---|---|---|"]
        for question, word, numbers in self.answers():
            good = {COST: ("gain", NONE), MISSES: ("gain", NONE), RELIABLE: ("loss",)}
            side = "good" if word in good.get(question, ("gain",)) else "bad"
            side = "open" if word == "open" else side
            lines.append(f"| {question} | {word} | {side} | {numbers.partition(' (')[0]} |")
        unasked = [] if "contrast" in self.right["control"] else [f"| {MISSES} | | | |"]
        return "\n".join([*lines, *unasked])

    def __str__(self) -> str:
        n = len(self.right["none"]["transfer"])
        lines = [f"{self.recipe}, n = {n}; accuracy in %, gains in points, 95 % intervals"]
        table, answers = self.table(), self.answers()
        for part in (SETS[:3], SETS[3:]):  # all five side by side are wider than a terminal
            if keys := [key for key in part if key in table[0]]:
                shown = [{k: row[k] for k in ("condition", *keys)} for row in table]
                lines += [tabulate(shown, "keys", "plain", disable_numparse=True), ""]
        width = max(len(question) for question, _, _ in answers)
        for question, answer, numbers in answers:
            # won, lost and p stand on their own line
            gain, *counts = numbers.replace(" points", "").split(" (", 1)
            lines.append(f"{question:{width}} {answer:13} {gain}")
            lines += [f"{'':{width}} ({rest}" for rest in counts]
        if self.beside:
            lines.append(f"The words are corrected for the {1 + len(self.beside)} recipes (Holm).")
        return "\n".join(lines)


def fair_trial(
    model: Any,
    tokenizer: Any,
    controller: Any,
    rows: Sequence[Mapping[str, Any]],
    recipe: str | Sequence[str] = "textfooler",
    resources: str | Candidates = "lexicon",
    *,
    contrast: Sequence[Mapping[str, Any]] = (),
    exact: int = 0,
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
        As `load_model` returns them, and a controller that was fitted on them; or a defence of your
        own with `summary` and `attached`, such as one that changes the text that a tokenizer reads.
    rows, resources, seed, progress
        As for `pidlib.attacks.attack`; 500 rows or more, or the intervals are wide.
    recipe : str or sequence of str
        Of several, a row counts as right when it is right under all: the worst case.
    contrast : sequence of mapping, optional
        Rows in which a change of words turned the answer, as `contrast_pairs` makes them: `label`
        is right now, or `was` is right no longer; either, not both.
    exact : int
        How many of the rows, the first, are asked under every swap of one or two words
        (`exact_robustness`): some hundred forward passes a row.
    second : (model, tokenizer), optional, another model of the same task
    seeds : sequence of int
        Of the placebos noise and rotation; none: no placebos, for what pushes no state.
    folder : path, optional
        Keeps the outcomes of both attacks; a broken-off trial goes on where it stopped.

    Returns
    -------
    FairTrial

    Source: after Athalye et al. 2018 and Tramèr et al. 2020 (adaptive attacks).
    """
    if exact < 0:
        raise ValueError(f"exact = {exact}: give a number of rows, 0 or more")
    recipes = (recipe,) if isinstance(recipe, str) else tuple(recipe)
    if not recipes:
        raise ValueError("recipe is empty: name at least one attack, such as 'textfooler'")
    names = label_names(model.config)
    clean = as_rows(rows, names)
    turned, wrong = _turned(contrast, names)
    placebos = [Placebo(controller, kind, k) for kind in PLACEBO_KINDS for k in seeds]
    conditions = {"none": None, "control": controller} | {of.name: of for of in placebos}
    if second is not None:
        model_two, tokenizer_two = second  # fails here, not after hours
        right_answers(model_two, tokenizer_two, clean[:1])
    transfer(model, tokenizer, {"clean": clean[:1] + turned[:1]}, conditions)
    source = candidates(resources) if exact and isinstance(resources, str) else resources
    right: dict[str, dict[str, np.ndarray]] = {name: {} for name in conditions}
    right |= {"second": {}} if second else {}
    sets, against = {"clean": clean, "contrast": turned}, []
    for name in recipes:
        settings = dict(recipe=name, resources=resources, seed=seed, progress=progress)
        texts = _attacked(model, tokenizer, controller, clean, folder, settings)
        sets[f"transfer {name}"] = texts[0]
        against.append(texts[1])
    for of, judged in sets.items():
        # one set at a time: the directions of a placebo start anew whenever it is attached
        answered = transfer(model, tokenizer, {of: judged}, conditions) if judged else {}
        if second is not None and judged:
            answered["second"] = {of: right_answers(*second, judged)}
        key = of.partition(" ")[0]
        for name, bits in answered.items():
            bits = bits[of] ^ wrong if key == "contrast" else bits[of]
            right[name][key] = bits & right[name].get(key, True)
    right["none"]["adaptive"] = right["none"]["transfer"]
    with controller.attached(model):
        bits = [right_answers(model, tokenizer, texts) for texts in against]
        right["control"]["adaptive"] = np.all(bits, axis=0)
    for name, control in list(conditions.items())[:2] if exact else ():
        with under(control, model):
            few = tqdm(clean[:exact], f"exact, {name}", unit="example", disable=not progress)
            verdicts = [exact_robustness(model, tokenizer, row, source, cap=0) for row in few]
            right[name]["exact"] = np.array([verdict.exact[1] for verdict in verdicts], bool)
    return FairTrial(", ".join(recipes), right)


def _attacked(
    model: Any, tokenizer: Any, controller: Any, rows: Sequence, folder: Any, settings: dict
) -> list[list[dict[str, Any]]]:
    """Texts of a recipe against the model as it is, and against it under the control."""
    texts = []
    for key, control in (("transfer", None), ("adaptive", controller)):
        log = Path(folder) / f"{settings['recipe']}-{key}.jsonl" if folder else None
        about = None if control is None else {"control": control.summary()}
        with under(control, model):
            outcomes = attack(model, tokenizer, rows, log=log, about=about, **settings)
        texts.append(transfer_rows(rows, outcomes))
    return texts


def _turned(contrast: Any, names: Sequence[str]) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Rows with a label each, and whether that label is the wrong answer."""
    rows = as_rows(contrast) if len(contrast) else []
    for k, row in enumerate(rows):
        if ("label" in row) == ("was" in row):
            raise ValueError(f"contrast row {k} has {sorted(row)}: give either 'label' or 'was'")
    wrong = np.array(["was" in row for row in rows], bool)
    rows = [{"label": row.get("was"), **row} for row in rows]
    return as_rows(rows, names) if rows else [], wrong
