"""Recorded trial of fairness: what a swap of persons does to answers, and what undoes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.adapters import adapter_model
from experiments.beyond.augmentation import augmented, weights_of
from experiments.beyond.erasure import erased, fit_leace, probed, turned
from experiments.beyond.swapped import Rows, counted, one_sided, said
from experiments.experiment import Report, TextExperiment, once
from pidbook.data.groups import GroupSwap
from pidbook.estimation.invariance import SwapFeedback
from pidbook.evaluation.contrast_rows import contrasts, edited
from pidbook.evaluation.results import configuration_hash
from pidlib.data.nli import fingerprint, load_nli
from pidlib.estimation.estimator import Estimator
from pidlib.evaluation.accuracy import scores
from pidlib.hooks import find_blocks
from pidlib.models import load_model

FITTED = "gender, adults"  # the words of the fit; those of "gender, others" are new to the controls
RANKS = (1, 2, 4, 8)
SPARE = 350  # rows between those of the fit, so that they spread over the file
ENERGY = 0.95  # of the swap at x_0; the fewest directions that hold it are the rank of the verdict
PLACES = {
    "all": "word by word", "marked": "marked words", "shared": "shared part", "agreed": "if all agree",
}  # fmt: skip
FAMILIES = ("if all agree", "shared part", "word by word", "LEACE", "estimate", "fine-tuned")
AVERAGE, CANONICAL = "average of both versions", "one canonical version"
Attach = Callable[[Any], AbstractContextManager]


@dataclass(frozen=True)
class Fairness(TextExperiment):
    """One model and its conditions on pairs, the same pairs with all persons swapped, and contrasts."""

    fitted: str = "snli-validation"
    after: int = 3000
    fit: int = 300
    pairs: int = 400
    probe: int = 120
    others: int = 200
    tuned: int = 1200  # rows of the fine-tuning, each as written and swapped
    without: tuple[str, ...] = ()
    seed: int = 0
    stem, split = "fairness", False

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Fit, judge, count."""
        running = RunningFairness(self, runs, report)
        answers = {name: running.judged(name) for name in running.conditions}
        main = running.main
        for name in ("none", *main.values()):
            answers[name] |= running.judged(name, more=True)
        return {
            "data": {
                "name": self.data,
                "n": len(running.sets["adults"]),
                "sha256": configuration_hash(
                    {key: fingerprint(rows) for key, rows in running.all_sets.items()}
                ),
                "rows": {key: len(rows) for key, rows in running.all_sets.items()},
                "qualify": running.qualify,
            },
            "model": adapter_model(self.model),
            "counts": {name: counted(of, running.all_sets) for name, of in answers.items()},
            "answers": answers,
            "rules": running.rules(),
            "chosen": main,
            "size": running.size(),
            "probe": running.probes(["none", *main.values()] if self.probe else []),
            "fit": running.about_fit(),
            "tuning": running.tuning,
        }


class RunningFairness:
    """A trial under way: its rows, its conditions, its answers."""

    def __init__(self, trial: Fairness, runs: Path, report: Report) -> None:
        self.trial, self.report, self.folder = trial, report, runs / trial.name
        self.model, self.tokenizer = load_model(trial.model)
        self.whole = [dict(row) for row in load_nli(trial.data)]
        known = one_sided(load_nli(trial.fitted), FITTED)
        spread = known[:: max(len(known) // (trial.fit + SPARE), 1)]
        self.fit_rows, self.probe_rows = spread[: trial.fit], spread[trial.fit :][: trial.probe]
        self.known = [row for row in known if row not in self.probe_rows]
        self.swap = GroupSwap(FITTED)

    @cached_property
    def sets(self) -> dict[str, Rows]:
        """What every condition is judged on; a set of swaps is followed by its swapped form."""
        adults = one_sided(self.whole[self.trial.after :], FITTED)[: self.trial.pairs]
        sets = {"adults": adults, "adults, swapped": [self.swap.apply(row) for row in adults]}
        ids = range(self.trial.after, len(self.whole))
        edits = [e for e in contrasts(self.whole, ids, None, self.trial.seed) if e.kind == "sex"]
        edits = edits[:: max(4 * len(edits) // (3 * self.trial.pairs), 1)]
        return sets | {"contrast": edited(self.whole, edits)}

    @cached_property
    def more(self) -> dict[str, Rows]:
        """What only the chosen conditions are judged on."""
        others = one_sided(self.whole[self.trial.after :], "gender, others")[: self.trial.others]
        if not others:
            return {}
        swap = GroupSwap("gender, others")
        return {"others": others, "others, swapped": list(map(swap.apply, others))}

    @cached_property
    def kinds(self) -> dict[str, Rows]:
        """Swaps of other kinds, for the model as it is; colours are the placebo."""
        sets: dict[str, Rows] = {}
        for kind in ("age", "origin", "colour"):
            swap = GroupSwap(kind)
            rows = [row for row in self.whole if swap.holds(row)][: self.trial.others]
            if rows:
                sets |= {kind: rows, f"{kind}, swapped": list(map(swap.apply, rows))}
        return sets

    @property
    def all_sets(self) -> dict[str, Rows]:
        """All of them."""
        return self.sets | self.more | self.kinds

    @cached_property
    def qualify(self) -> dict[str, dict[str, int]]:
        """Of the rows of the file: how many hold a listed word, can be swapped, name one group."""
        counts = {}
        for kind in ("gender", FITTED, "gender, others", "age", "origin", "colour"):
            swap = GroupSwap(kind)
            some = [row for row in self.whole if swap(row)]
            holds = [row for row in some if swap.holds(row)]
            one = sum(min(swap.sides(row)) == 0 for row in holds)
            counts[kind] = {"rows": len(self.whole), "some": len(some), "holds": len(holds)}
            counts[kind]["one group"] = one
        return counts

    @cached_property
    def feedback(self) -> SwapFeedback:
        """The directions of the swap at x_0."""
        return SwapFeedback.fit(self.model, self.tokenizer, self.fit_rows, self.swap)

    @cached_property
    def deep(self) -> SwapFeedback:
        """The same at every state."""
        layers, rows = range(find_blocks(self.model).depth), self.fit_rows
        return SwapFeedback.fit(self.model, self.tokenizer, rows, self.swap, layers, places="all")

    @cached_property
    def conditions(self) -> dict[str, tuple[str, Attach]]:
        """All that is compared: family, and what is attached to the model."""
        first = self.feedback
        made: dict[str, tuple[str, Any]] = {"none": ("none", lambda _: nullcontext())}
        for places, name in PLACES.items():
            for rank in RANKS if places != "marked" else (1, 4):  # differs little from "all"
                control = replace(first, rank=rank, places=places)
                made[f"{name}, rank {rank}"] = (name, control.attached)
        made[f"{PLACES['all']}, rank 4, all states"] = (
            PLACES["all"],
            lambda model: self.deep.attached(model),
        )
        made["LEACE, x_0"] = ("LEACE", partial(erased, fit=lambda: self._leace))
        made["estimate, x_0"] = ("estimate", lambda model: self._estimate.attached(model))
        made["fine-tuned"] = ("fine-tuned", lambda model: weights_of(model, self.tuned[0]))
        agreed = replace(first, rank=4, places="agreed")
        source, d = torch.Generator().manual_seed(self.trial.seed), len(agreed.means[0])
        frame = torch.linalg.qr(torch.randn(d, 4, generator=source).double())[0]
        made["placebo: random directions"] = ("placebo", partial(turned, agreed, frame=frame))
        made["placebo: turned"] = ("placebo", partial(turned, agreed, seed=self.trial.seed))
        return {name: of for name, of in made.items() if name not in self.trial.without}

    @cached_property
    def _leace(self) -> Any:
        return fit_leace(self.model, self.tokenizer, self.fit_rows, self.swap)

    @cached_property
    def _estimate(self) -> Estimator:
        """The best linear guess of x_0 from its swapped form, each version taken for clean once."""
        rows = self.fit_rows + [self.swap.apply(row) for row in self.fit_rows]
        return Estimator.fit(self.model, self.tokenizer, rows, self.swap, layers=[0], rho=1.0)

    @cached_property
    def tuned(self) -> tuple[Any, list[dict[str, float]], float]:
        """The model fine-tuned on both versions; the held-out rows are those of the probe."""
        rows, out = self.known[: self.trial.tuned], self.folder / "fine-tuned"
        return augmented(
            self.model, self.tokenizer, rows, self.probe_rows, self.swap, out, self.trial.seed,
            self.report,
        )  # fmt: skip

    def about(self, name: str) -> dict[str, Any]:
        """What decides the answers of a condition, besides the rows."""
        trial = self.trial
        about = {"condition": name, "model": trial.model, "seed": trial.seed}
        return about | {
            "fit": fingerprint(self.known[: trial.tuned] if name == "fine-tuned" else self.fit_rows)
        }

    def _answers(self, name: str, sets: Mapping[str, Rows], kept: str) -> dict[str, Any]:
        """Logits by set, rounded, computed once and kept."""
        sums = {key: fingerprint(rows) for key, rows in sets.items()}
        about = {"sets": sums} | self.about(name)

        def compute() -> dict[str, Any]:
            started = time.perf_counter()
            model = self.model
            with self.conditions[name][1](model):
                logits = {
                    key: scores(model, self.tokenizer, rows).round(3).tolist()
                    for key, rows in sets.items()
                }
            self.report(f"{name}, {kept}: {time.perf_counter() - started:.0f} s")
            return {"logits": logits}

        place = self.folder / kept / f"{name.replace(':', '')}.json"
        return {key: np.array(of) for key, of in once(place, about, compute)["logits"].items()}

    def judged(self, name: str, more: bool = False) -> dict[str, Any]:
        """Answers as digits, and for each swap the distance between the two rows of chances."""
        sets = self.sets if not more else self.more
        if more and name == "none":
            sets = self.more | self.kinds
        return said(self._answers(name, sets, "more" if more else "sets"))

    @cached_property
    def main(self) -> dict[str, str]:
        """Of each family the setting of the verdict: the rank was fixed by the energy at x_0."""
        held = self.feedback.energies[0].cumsum(0)[[rank - 1 for rank in RANKS]]
        rank = RANKS[int((held < ENERGY).sum())]
        names = {"LEACE": "LEACE, x_0", "estimate": "estimate, x_0", "fine-tuned": "fine-tuned"}
        main = {family: names.get(family, f"{family}, rank {rank}") for family in FAMILIES}
        return {family: name for family, name in main.items() if name in self.conditions}

    def rules(self) -> dict[str, Any]:
        """The two plain rivals, from the answers of the model as it is to both versions."""
        bare = self._answers("none", self.sets, "sets")
        swap, rows = GroupSwap("gender"), self.sets["contrast"]
        other = {"contrast": list(map(swap.apply, rows))}
        turned = self._answers("none", other, "turned")["contrast"]
        first = np.array([swap.sides(row)[0] >= swap.sides(row)[1] for row in rows])
        mean = (bare["adults"] + bare["adults, swapped"]) / 2
        male = np.array([self.swap.sides(row)[0] > 0 for row in self.sets["adults"]])
        one = np.where(male[:, None], bare["adults"], bare["adults, swapped"])
        both = {
            AVERAGE: {"adults": mean, "contrast": (bare["contrast"] + turned) / 2},
            CANONICAL: {
                "adults": one,
                "contrast": np.where(first[:, None], bare["contrast"], turned),
            },
        }
        return {
            name: said(of | {"adults, swapped": of["adults"]})
            | {"forwards": 2 if name == AVERAGE else 1}
            for name, of in both.items()
        }

    def size(self) -> dict[str, Any]:
        """Labels of the sets, and which rows name the first group as written."""
        labels = {
            key: "".join(str(row["label"]) for row in rows)
            for key, rows in self.all_sets.items()
            if key != "contrast" and "swapped" not in key
        }
        first = "".join(str(int(self.swap.sides(row)[0] > 0)) for row in self.sets["adults"])
        others = GroupSwap("gender, others")
        known = "".join(str(int(not others(row))) for row in self.sets["contrast"])
        return {"labels": labels, "first": first, "contrast, known": known}

    @property
    def tuning(self) -> dict[str, Any]:
        """What the search for a rate of fine-tuning tried on held-out rows."""
        if "fine-tuned" in self.trial.without:
            return {}
        about = {"rows": fingerprint(self.known[: self.trial.tuned])} | self.about("fine-tuned")
        tuned = lambda: {"tried": self.tuned[1], "rate": self.tuned[2]}  # noqa: E731
        return {"of": about} | once(self.folder / "tuning.json", about, tuned)

    def probes(self, names: Sequence[str]) -> dict[str, Any]:
        """How well the last state tells the group, under each condition."""
        found = {}
        for name in names:
            attach = self.conditions[name][1]
            parts = [self.probe_rows, self.sets["adults"][: self.trial.probe]]
            about = {"rows": list(map(fingerprint, parts))} | self.about(name)
            compute = partial(
                probed, self.model, self.tokenizer, attach, parts, self.swap, self.trial.seed
            )
            path = self.folder / "probe" / f"{name.replace(':', '')}.json"
            found[name] = once(path, about, compute)
            self.report(f"probe, {name}: {found[name]}")
        return found

    def about_fit(self) -> dict[str, Any]:
        """The spectrum of the swap at each state, and how well words are marked."""
        energies = {
            str(t): [round(float(v), 4) for v in of[:16]]
            for t, of in self.feedback.energies.items()
        }
        return {"rows": len(self.fit_rows), "energies": energies,
                "threshold": round(self.feedback.threshold, 3)}  # fmt: skip
