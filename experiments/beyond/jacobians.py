"""Recorded trial of gains from the model's own Jacobians, and of gains that were learnt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.adapters import adapter_model
from experiments.beyond.controls import ROADS, RUNNING, TERMINAL, WIENER, JacobianControls, under
from experiments.beyond.gains import LearntGains, answer_costs, learn
from experiments.experiment import Experiment, Report
from experiments.record import counted, packed
from pidlib.analysis import (
    explained_shares,
    predicted_errors,
)
from pidlib.attacks.attack import attack
from pidlib.attacks.outcomes import read_outcomes, transfer_rows
from pidlib.data.batches import encode
from pidlib.data.nli import fingerprint, load_nli
from pidlib.data.perturbations import perturbed_rows
from pidlib.estimation.estimator import Estimator
from pidlib.evaluation.accuracy import right_answers
from pidlib.evaluation.contrast import RESULT, edits_of
from pidlib.evaluation.contrast_rows import edited
from pidlib.evaluation.placebos import Placebo
from pidlib.evaluation.results import read_result
from pidlib.evaluation.trial_results import ADAPTIVE, answers, pack, unpack
from pidlib.hooks import find_blocks

LEARNT = "learnt gains"
GRID = ("P", "I", "D", "P-D", "P-I-D")  # at one half each
ORDINARY = "trial-snli-test-minilm-nli.json"
ESTIMATES = "wiener-snli-test-minilm-nli.json"
# what other results hold of the same rows: name, and where its answers are
ANCHORS = {
    "none": (ORDINARY, "none"),
    "P 99 %": (ORDINARY, "P 99 %"),
    "P-D 99 %": (ORDINARY, "P-D 99 %"),
    "recorded estimate": (ESTIMATES, "Wiener both"),
    "trained estimate": (ESTIMATES, "Terminal both"),
}


@dataclass(frozen=True)
class JacobianTrial(Experiment):
    """A model's blocks as matrices: what they predict, and gains made of them on trial."""

    data: str = "snli-test"
    model: str = "minilm-nli"
    n: int = 100
    recipe: str = "textfooler"
    resources: str = "ppdb"
    attacked: int = 0
    fitted_on: int = 600
    predicted: int = 200
    predicted_after: int = 3000
    linearised: int = 160
    weighed: int = 120
    estimated: int = 120
    held: int = 100
    learnt: int = 0
    epochs: int = 4
    rate: float = 0.1
    rho: float = 1.0
    terminal: tuple[float, ...] = ()
    roads: tuple[float, ...] = (1.0,)
    running: tuple[float, ...] = (0.001, 1.0)
    rhos: tuple[float, ...] = (0.5,)
    variance: float = 0.99
    seed: int = 0

    @property
    def name(self) -> str:
        """Stem of the result file."""
        return f"jacobians-{self.data}-{self.model}"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Linearise, predict, choose, learn, judge, attack."""
        running = RunningJacobians(self, results, runs, report)
        prediction = running.prediction()
        right = running.judged(running.solved)
        learnt = {}
        if self.learnt:
            learnt = running.learning()
            right |= running.judged(running.learnt_laws)
        if self.attacked:
            right[ROADS] |= running.attacked(ROADS)
        rows = running.rows
        return {
            "data": {"name": self.data, "n": len(rows), "sha256": fingerprint(rows)},
            "model": adapter_model(self.model),
            "sets": {key: {"n": len(of), "sha256": fingerprint(of)}
                     for key, of in running.sets.items()},
            "counts": counted(running.anchors() | right),
            "examples": packed(running.anchors() | right),
            "prediction": prediction,
            "learning": learnt,
            "selection": running.selection,
            "controls": running.sums,
        }  # fmt: skip


class RunningJacobians(JacobianControls):
    """A trial under way."""

    @cached_property
    def rows(self) -> list[dict]:
        """Rows judged."""
        return self._rows(0, self.trial.n)

    def _rows(self, start: int, n: int) -> list[dict]:
        return [dict(row) for row in load_nli(self.trial.data).select(range(start, start + n))]

    @cached_property
    def sets(self) -> dict[str, list[dict]]:
        """Clean rows, rows attacked without control, and rows whose meaning one word changes."""
        every = [dict(row) for row in load_nli(self.trial.data)]
        contrast = edits_of(read_result(self.results / RESULT))[: self.trial.n]
        return {
            "clean": self.rows,
            self.trial.recipe: self._moved(0, self.trial.n),
            "contrast": edited(every, contrast),
        }

    def _moved(self, start: int, n: int) -> list[dict]:
        """Rows as the recorded attack on the model without control left them."""
        trial = self.trial
        path = self.results / "attacks" / f"{trial.data}-{trial.model}-{trial.recipe}.jsonl"
        by_id = {o.id: o for o in read_outcomes(path).outcomes}
        return transfer_rows(
            self._rows(start, n), [replace(by_id[start + k], id=k) for k in range(n)]
        )

    def anchors(self) -> dict[str, dict[str, np.ndarray]]:
        """What recorded trials say of the same rows and the same attack."""
        trial, right = self.trial, {}
        seen, contrast = ADAPTIVE + trial.recipe, read_result(self.results / RESULT)
        for name, (file, condition) in ANCHORS.items():
            result = read_result(self.results / file)
            keys = {"clean", trial.recipe} | ({seen} if trial.attacked else set())
            keys &= set(result["examples"][condition])
            right[name] = {
                key: answers(result, condition, key)[: trial.attacked if key == seen else trial.n]
                for key in sorted(keys)
            }
            if condition in contrast["examples"]:
                right[name]["contrast"] = answers(contrast, condition, "edited")[: trial.n]
        if trial.attacked:
            right["none"][seen] = right["none"][trial.recipe][: trial.attacked]
        return right

    def prediction(self) -> dict[str, Any]:
        """Shares of the derivative explained; true and predicted errors of attacked rows."""
        trial = self.trial

        def compute() -> dict[str, Any]:
            fresh = encode(self.tokenizer, self.held[:32])
            own, diagonal = explained_shares(self.model, fresh, self.jacobians, 1, trial.seed)
            place = trial.predicted_after, trial.predicted
            rows, moved = self._rows(*place), self._moved(*place)
            length = [[len(self.tokenizer(r["premise"], r["hypothesis"])["input_ids"]) for r in of]
                      for of in (rows, moved)]  # fmt: skip
            text = [[(r["premise"], r["hypothesis"]) for r in of] for of in (rows, moved)]
            same = [
                k for k in range(trial.predicted)
                if length[0][k] == length[1][k] and text[0][k] != text[1][k]
            ]  # fmt: skip
            same.sort(key=lambda k: length[0][k])
            parts = [
                predicted_errors(
                    self.model,
                    *(encode(self.tokenizer, [of[k] for k in part]) for of in (rows, moved)),
                    self.jacobians,
                )
                for part in (same[k : k + 24] for k in range(0, len(same), 24))
            ]
            joined = {"true": [p.true for p in parts]}
            for name in parts[0].size:
                joined[f"size, {name}"] = [p.size[name] for p in parts]
                joined[f"missed, {name}"] = [p.missed[name] for p in parts]
            return {
                "n": len(same),
                "changed": sum(a != b for a, b in zip(*text, strict=True)),
                "own": own.numpy().round(4).tolist(),
                "diagonal": diagonal.numpy().round(4).tolist(),
                "mean_share": self.weights[1].numpy().round(4).tolist(),
                "errors": {k: torch.cat(v).numpy().round(3).tolist() for k, v in joined.items()},
            }

        return self.kept("prediction", compute, trial.linearised, trial.weighed, trial.predicted)

    def learning(self) -> dict[str, Any]:
        """Learn gains twice, and compare them with the paper's grid on the text of the fit, and fresh."""
        trial, N = self.trial, self.trial.learnt

        def compute() -> dict[str, Any]:
            texts = {"fit": self.fit_rows[:N], "fresh": self.held[-N:]}
            pairs = {}
            for k, (key, rows) in enumerate(texts.items()):
                changed = [row for row, _ in perturbed_rows(rows, self.edits, trial.seed + 10 + k)]
                pairs[key] = list(zip(rows, changed, strict=True))
            laws, about = {"equal total": LearntGains(self.fitted, False),
                           "free": LearntGains(self.fitted, True)}, {}  # fmt: skip
            for name, law in laws.items():
                learn(self.model, self.tokenizer, law, pairs["fit"], trial.epochs, trial.rate,
                      trial.seed, self.report)  # fmt: skip
                about[name] = {"shares": law.shares.detach().numpy().round(4).tolist(),
                               "raw": law.raw.tolist(), "log_c": law.log_c.tolist()}  # fmt: skip
            blocks = find_blocks(self.model)
            contexts = {"none": nullcontext} | {
                scheme: partial(
                    self.fitted.retune(scheme=scheme, gains="paper").attached, self.model
                )
                for scheme in GRID
            } | {name: partial(blocks.control, law) for name, law in laws.items()}  # fmt: skip
            costs = {
                name: {key: self._costs(of[: trial.learnt], under) for key, of in pairs.items()}
                for name, under in contexts.items()
            }
            return {"laws": about, "costs": costs, "terms": list(laws["free"].terms)}

        return self.kept("learning", compute, N, trial.epochs, trial.rate)

    def _costs(self, pairs: Sequence, under: Callable) -> list[float]:
        """Mean of the costs of the clean and the changed text, by row."""
        costs: list[float] = []
        with torch.no_grad():
            for start in range(0, len(pairs), 40):
                both = zip(*pairs[start : start + 40], strict=True)
                clean, changed = map(list, both)
                if (wanted := self._wanted.get(id(clean[0]))) is None:
                    wanted = self.model(**encode(self.tokenizer, clean)).logits.softmax(-1)
                    self._wanted[id(clean[0])] = wanted  # the first row lives as long as this does
                each = [answer_costs(self.model, self.tokenizer, of, wanted, under)
                        for of in (clean, changed)]  # fmt: skip
                costs += (sum(each) / 2).numpy().round(4).tolist()
        return costs

    @property
    def solved(self) -> dict[str, Any]:
        """Controls whose gains were solved for; the strength is chosen on held-out rows."""
        trial = self.trial
        grids = {RUNNING: trial.running, TERMINAL: trial.terminal, ROADS: trial.roads,
                 WIENER: trial.rhos}  # fmt: skip
        controls: dict[str, Any] = {
            name: self.chosen(name, grid) for name, grid in grids.items() if grid
        }
        return controls | {f"{ROADS}: rotation": Placebo(controls[ROADS], "rotation")}

    @property
    def learnt_laws(self) -> dict[str, Any]:
        """Controls whose gains were learnt."""
        return {f"{LEARNT}, {name}": self._learnt(name) for name in ("equal total", "free")}

    def _learnt(self, name: str) -> Any:
        law, stored = LearntGains(self.fitted, name == "free"), self.learning()["laws"][name]
        with torch.no_grad():
            law.raw.copy_(torch.tensor(stored["raw"]))
            law.log_c.copy_(torch.tensor(stored["log_c"]))
        return _Attached(law)

    def judged(self, controls: Mapping[str, Any]) -> dict[str, dict[str, np.ndarray]]:
        """Right answers under every control on every set."""
        right: dict[str, dict[str, np.ndarray]] = {}
        for name, control in controls.items():
            self.sums[name] = control.summary() if hasattr(control, "summary") else name
            right[name] = {}
            for key, rows in self.sets.items():

                def judge(control: Any = control, rows: list = rows) -> dict[str, Any]:
                    with under(control, self.model), torch.no_grad():
                        return {"right": pack(right_answers(self.model, self.tokenizer, rows))}

                about = self.sums[name], fingerprint(rows), self._identity(control)
                file = f"judged {name.replace('/', '-')} {key}"
                bits = unpack(self.kept(file, judge, *about)["right"], len(rows))
                right[name][key] = ~bits if key == "contrast" else bits
            shares = {key: round(float(bits.mean()), 3) for key, bits in right[name].items()}
            self.report(f"{name}: {shares}")
        return right

    def _identity(self, control: Any) -> str:
        if isinstance(control, Estimator):
            return control.sha256
        return str(self.learning()["laws"]) if isinstance(control, _Attached) else ""

    def attacked(self, name: str) -> dict[str, np.ndarray]:
        """Rows right after an attack that sees the control."""
        trial, control = self.trial, self.solved[name]
        ids = list(range(trial.attacked))
        log = self.folder / f"{trial.recipe} {name} {self._identity(control)[:12]}.jsonl"
        with under(control, self.model):
            outcomes = attack(
                self.model, self.tokenizer, self.rows[: trial.attacked], trial.recipe,
                trial.resources, trial.seed, ids=ids, log=log, data=trial.data,
            )  # fmt: skip
        bits = np.array([o.status == "failed" for o in outcomes])
        self.report(f"{ADAPTIVE}{trial.recipe}, {name}: {int(bits.sum())} of {len(bits)}")
        return {ADAPTIVE + trial.recipe: bits}


class _Attached:
    """Learnt gains, attached as controllers are."""

    def __init__(self, law: LearntGains) -> None:
        self.law = law

    @contextmanager
    def attached(self, model: Any) -> Any:
        with torch.no_grad(), find_blocks(model).control(self.law):
            yield model
