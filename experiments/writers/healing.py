"""Recorded trial of a language model: what follows a prompt with slips, with and without control."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from experiments.experiment import Experiment, Report, once
from experiments.writers.slips import SLIPS, Slips
from pidbook.estimation.spelling import SpellingNormaliser
from pidbook.evaluation.results import configuration_hash
from pidlib.data.batches import continued
from pidlib.data.nli import load_nli
from pidlib.data.perturbations import perturbed_rows
from pidlib.estimation.estimator import TERMINAL, Estimator
from pidlib.evaluation.accuracy import under
from pidlib.evaluation.placebos import Placebo
from pidlib.io.checkpoints import Checkpoint
from pidlib.io.embedded import SMOLLM2
from pidlib.models import load_model
from pidlib.pid import PIDController

SHORTEST, LONGEST = 9, 20  # words of a text
CORRECTOR, FOREIGN = "spelling corrector", "push of another text"
TIMED = ("none", "P 99.9 %", "terminal")
WRITTEN, ROUNDS = 32, 7  # tokens, and times that each condition writes them
BATCH = 16
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Heal(NamedTuple):
    """What stands before a model and what hangs on it."""

    control: Any = None
    mend: Callable[[str], str] | None = None
    foreign: bool = False


_BARE = Heal()


@dataclass(frozen=True)
class Healing(Experiment):
    """A language model under controls, on prompts that are clean and with each kind of slip.

    Two thirds of a text are the prompt, the rest its continuation, which never changes. Controls
    are fitted on texts of `sources`; those of `data` are judged.
    """

    data: str = "snli-test"
    sources: tuple[str, ...] = ("snli-validation", "sick-train", "anli-r1-dev", "anli-r2-dev")
    n: int = 200
    fitted_on: int = 2400
    closed_on: int = 600
    epochs: int = 1
    rate: float = 1e-3
    rank: int = 16
    states: tuple[int, ...] = tuple(range(1, 16))
    label: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.data in self.sources:
            raise ValueError(f"{self.data!r} is judged; fit on other sources than {self.sources}")

    @property
    def name(self) -> str:
        """Stem of the result file."""
        return f"healing-{self.data}-smollm2" + (f"-{self.label}" if self.label else "")

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Fit what is not yet fitted, then score every condition on every set."""
        running = RunningHealing(self, runs, report)
        scores = {name: running.scored(name, heal) for name, heal in running.conditions.items()}
        sums = {key: configuration_hash(rows) for key, rows in running.sets.items()}
        return {
            "data": {"name": self.data, "n": len(running.rows), "sha256": sums["clean"]},
            "counts": {"texts": len(running.rows), "tokens": sum(running.tokens)},
            "sets": sums,
            "model": {"name": "smollm2", "sha256": SMOLLM2.packages[0][2]},
            "tokens": running.tokens,
            "controls": {n: h.control.summary() for n, h in running.conditions.items()
                         if hasattr(h.control, "summary")},
            "writing": running.writing(),
            "examples": {name: stored["scores"] for name, stored in scores.items()},
            "seconds": sum(stored["seconds"] for stored in scores.values()),
        }  # fmt: skip


def prompts(names: Sequence[str], n: int) -> list[dict[str, str]]:
    """Prompts with their continuations, of the first sentences of some data, as many of each."""
    rows: list[dict[str, str]] = []
    for name in names:
        first = (_SENTENCE.split(row["premise"].strip())[0] for row in load_nli(name))
        words = [text.split() for text in dict.fromkeys(first)]
        fit = [of for of in words if SHORTEST <= len(of) <= LONGEST][: -(-n // len(names))]
        for of in fit:
            cut = 2 * len(of) // 3
            rows.append({"premise": " ".join(of[:cut]), "hypothesis": " " + " ".join(of[cut:])})
    return rows


class RunningHealing:
    """A trial under way: its model, its prompts, its controls, its scores."""

    def __init__(self, trial: Healing, runs: Path, report: Report) -> None:
        self.trial, self.report = trial, report
        self.folder, self.fits = runs / trial.name, runs / "healing-fits"  # all trials share them
        self.model, self.tokenizer = load_model("smollm2")
        self.rows = prompts([trial.data], trial.n)
        self.fit_rows = prompts(trial.sources, trial.fitted_on)

    @cached_property
    def sets(self) -> dict[str, list[dict[str, str]]]:
        """The prompts, clean and with each kind of slip."""
        sets = {"clean": self.rows}
        for kind in SLIPS:
            changed = perturbed_rows(self.rows, Slips(kind), self.trial.seed + 1)
            sets[kind] = [row | {"premise": " ".join(row["premise"].split())} for row, _ in changed]
        return sets

    @cached_property
    def tokens(self) -> list[int]:
        """Tokens of each continuation."""
        return [int(continued(self.tokenizer, [row])[1].sum()) for row in self.rows]

    @cached_property
    def answers(self) -> list[Tensor]:
        """Log-probabilities (tokens, vocabulary) after each clean prompt, without control."""
        kept: dict[int, Tensor] = {}
        for part in _parts(self.rows):
            of = self._predicted([self.rows[k] for k in part])
            kept |= dict(zip(part, (seen for seen, _ in of), strict=True))
        return [kept[k] for k in range(len(self.rows))]

    @cached_property
    def conditions(self) -> dict[str, Heal]:
        """All that is compared, by name."""
        mend = SpellingNormaliser()
        controls = self.paper | self.estimates | {"terminal": self.terminal}
        placebos = {f"terminal: {kind}": Placebo(self.terminal, kind) for kind in
                    ("noise", "rotation", "negative")}  # fmt: skip
        return (
            {"none": Heal()}
            | {name: Heal(control) for name, control in (controls | placebos).items()}
            | {
                f"terminal: {FOREIGN}": Heal(self.terminal, foreign=True),
                CORRECTOR: Heal(mend=mend),
                f"{CORRECTOR} + terminal": Heal(self.terminal, mend),
            }
        )

    @cached_property
    def paper(self) -> dict[str, PIDController]:
        """The paper's subspaces, with and without the first position."""
        rows = [{"text": r["premise"] + r["hypothesis"]} for r in self.fit_rows]
        settings = {"variance": 0.99, "correct_only": False, "scheme": "PID"}
        whole = PIDController.fit(self.model, self.tokenizer, rows, **settings)
        later = PIDController.fit(self.model, self.tokenizer, rows, skip_first=1, **settings)
        return {
            "P 99 %, first position too": whole.retune(scheme="P"),
            "P 99 %": later.retune(scheme="P"),
            "P 99.9 %": later.retune(scheme="P", variance=0.999),
            "P-D 99.9 %": later.retune(scheme="PD", variance=0.999),
            "P-D 99.9 %, residual": later.retune(scheme="PD", variance=0.999, law="residual"),
        }

    @cached_property
    def estimates(self) -> dict[str, Estimator]:
        """Closed-form maps of one state and of twelve."""
        rows = self.fit_rows[:: max(len(self.fit_rows) // self.trial.closed_on, 1)]
        of = self._kept(
            "closed", rows, layers=list(range(12)), rule="regression", rho=0.5, skip_first=1
        )
        return {"closed form, 1 state": of.up_to(0), "closed form, 12 states": of}

    @cached_property
    def terminal(self) -> Estimator:
        """Maps that bring the terminal cost down."""
        trial = self.trial
        return self._kept(
            "terminal", self.fit_rows, layers=list(trial.states), rule=TERMINAL, skip_first=1,
            rank=trial.rank, epochs=trial.epochs, rate=trial.rate,
        )  # fmt: skip

    def _kept(self, name: str, rows: Sequence[Mapping[str, Any]], **settings: Any) -> Estimator:
        """A fit, made once and kept in a folder."""
        folder = self.fits / name
        about = {"rows": configuration_hash(rows), "seed": self.trial.seed, **settings}

        def fit() -> dict[str, Any]:
            self.model.requires_grad_(False)
            unfinished = Checkpoint(self.fits / f"{name}-unfinished", {}, every=60)
            Estimator.fit(
                self.model, self.tokenizer, rows, Slips("mixed"), seed=self.trial.seed,
                report=self.report, checkpoint=unfinished, **settings,
            ).save_pretrained(folder)  # fmt: skip
            return {"fitted": True}

        once(self.fits / f"{name}.json", about, fit)
        return Estimator.from_pretrained(folder)

    def scored(self, name: str, heal: Heal) -> dict[str, Any]:
        """Loss and divergence of every text's continuation, by set, computed once and kept."""
        about = heal.control.summary() if hasattr(heal.control, "summary") else name
        settings = {
            "condition": about,
            "rows": configuration_hash(self.rows),
            "seed": self.trial.seed,
        }
        settings["sha256"] = getattr(heal.control, "sha256", "")

        def score() -> dict[str, Any]:
            started = time.perf_counter()
            scores = {key: self._scores(heal, rows) for key, rows in self.sets.items()}
            return {"scores": scores, "seconds": round(time.perf_counter() - started, 1)}

        stored = once(self.folder / "scores" / f"{name}.json", settings, score)
        shares = {k: round(sum(of["divergence"]) / sum(self.tokens), 3)
                  for k, of in stored["scores"].items()}  # fmt: skip
        self.report(f"{name}: divergence a token {shares}")
        return stored

    def writing(self) -> dict[str, list[float]]:
        """Seconds that some conditions take to write with a cache, in turns."""
        inputs = self.tokenizer([row["premise"] for row in self.rows[:1]], return_tensors="pt")
        how = {"max_new_tokens": WRITTEN, "min_new_tokens": WRITTEN, "do_sample": False}
        seconds: dict[str, list[float]] = {name: [] for name in TIMED}
        for _ in range(ROUNDS):
            for name, of in seconds.items():
                with torch.inference_mode(), _under(self.conditions[name], self.model):
                    started = time.perf_counter()
                    self.model.generate(**inputs, **how)
                    of.append(round(time.perf_counter() - started, 3))
        return seconds

    def _scores(self, heal: Heal, rows: Sequence[Mapping[str, str]]) -> dict[str, list[float]]:
        """Sums over a continuation's tokens: its loss, and KL from the clean prompt's predictions."""
        loss, gap = np.zeros(len(rows)), np.zeros(len(rows))
        for part in _parts(rows):
            given = [dict(rows[k]) for k in part]
            if heal.mend:
                given = [row | {"premise": heal.mend(row["premise"])} for row in given]
            for k, (seen, ids) in zip(part, self._predicted(given, heal), strict=True):
                wanted = self.answers[k]
                loss[k] = -float(seen.gather(1, ids[:, None]).sum())
                gap[k] = float((wanted.exp() * (wanted - seen)).sum())
        return {"loss": loss.round(3).tolist(), "divergence": gap.round(3).tolist()}

    def _predicted(
        self, rows: Sequence[Mapping[str, str]], heal: Heal = _BARE
    ) -> list[tuple[Tensor, Tensor]]:
        """Log-probabilities (tokens, vocabulary) of each row's continuation, and its tokens."""
        inputs, follows = continued(self.tokenizer, rows)
        with torch.inference_mode(), _under(heal, self.model):
            if heal.foreign:  # the first half moves by itself, the second by its neighbour's push
                inputs = {key: torch.cat([value, value]) for key, value in inputs.items()}
            logits = self.model(**inputs).logits[-len(rows) :]
        places = [torch.nonzero(row)[:, 0] for row in follows]
        ids = inputs["input_ids"][-len(rows) :]
        return [(logits[b, at - 1].log_softmax(-1), ids[b, at]) for b, at in enumerate(places)]


def _parts(rows: Sequence[Mapping[str, str]]) -> Iterator[list[int]]:
    """Places of rows of like length, a batch at a time."""
    order = sorted(range(len(rows)), key=lambda k: len(rows[k]["premise"]))
    for start in range(0, len(order), BATCH):
        yield order[start : start + BATCH]


@contextmanager
def _foreign(control: Estimator, model: Any) -> Iterator[Any]:
    """The control of a text, which moves by itself in the batch's first half, on the one after it."""

    def instead(_t: int, u: Tensor, _mask: Tensor | None) -> Tensor:
        own = u[: len(u) // 2]
        return torch.cat([own, own.roll(1, 0)])

    with control.attached(model, instead=instead):
        yield model


def _under(heal: Heal, model: Any) -> AbstractContextManager:
    return _foreign(heal.control, model) if heal.foreign else under(heal.control, model)
