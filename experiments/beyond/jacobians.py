"""Recorded trial of gains from the model's own Jacobians, and of gains that were learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.beyond.controls import BOTH, ROADS, RUNNING, TERMINAL, WIENER, JacobianControls
from experiments.beyond.gains import GRID, LearntGains, learn, mean_costs
from experiments.experiment import Report, TextExperiment
from experiments.fields import answered
from pidbook.analysis import explained_shares, predicted_errors
from pidbook.evaluation.contrast import RESULT, edits_of
from pidbook.evaluation.contrast_rows import edited
from pidbook.evaluation.results import read_result
from pidbook.evaluation.trial_results import ADAPTIVE, answers, pack, stored_rows, unpack
from pidlib.attacks.attack import attack
from pidlib.data.batches import encode
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.accuracy import right_answers, under
from pidlib.evaluation.placebos import Placebo

FREE, EQUAL = "learnt gains, free", "learnt gains, equal total"
ORDINARY = "trial-snli-test-minilm-nli.json"
ESTIMATES = "wiener-snli-test-minilm-nli.json"
# what other results hold of the same rows: name, and where its answers are
ANCHORS = {
    "none": (ORDINARY, "none"),
    "P 99 %": (ORDINARY, "P 99 %"),
    "P-D 99 %": (ORDINARY, "P-D 99 %"),
    "recorded estimate": (ESTIMATES, "Wiener both"),
    "trained estimate": (ESTIMATES, "Terminal both"),
    "PMP": ("pmp-snli-test-minilm-nli.json", "PMP 99 relaxed"),
}


@dataclass(frozen=True)
class JacobianTrial(TextExperiment):
    """A model's blocks as matrices: what they predict, and gains made of them on trial."""

    n: int = 200
    recipe: str = "textfooler"
    resources: str = "ppdb"
    attacked: int = 100
    laws: tuple[str, ...] = (ROADS, FREE)
    fitted_on: int = 600
    predicted: int = 200
    predicted_after: int = 3000
    linearised: int = 240
    draws: int = 2
    clusters: int = 3
    weighed: int = 120
    estimated: int = 240
    held: int = 150
    learnt: int = 128
    epochs: int = 4
    rate: float = 0.1
    rho: float = 0.5
    terminal: tuple[float, ...] = (0.001, 0.01)
    roads: tuple[float, ...] = (0.3, 3.0)
    running: tuple[float, ...] = (0.001, 1.0)
    rhos: tuple[float, ...] = (0.25, 0.5)
    variance: float = 0.99
    seed: int = 0
    stem = "jacobians"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Linearise, predict, choose, learn, judge, attack."""
        running = RunningJacobians(self, results, runs, report)
        prediction, learning = running.prediction(), running.learning()
        right, sets = running.anchors() | running.judged(), running.sets
        for name in self.laws if self.attacked else ():
            right[name][ADAPTIVE + self.recipe] = running.attacked(name)
        return answered(self, sets["clean"], right) | {
            "sets": {key: {"n": len(of), "sha256": fingerprint(of)} for key, of in sets.items()},
            "prediction": prediction,
            "learning": learning,
            "selection": running.selection,
        }


class RunningJacobians(JacobianControls):
    """A trial under way."""

    def _rows(self, start: int, n: int) -> list[dict]:
        return [dict(row) for row in load_nli(self.trial.data).select(range(start, start + n))]

    @cached_property
    def sets(self) -> dict[str, list[dict]]:
        """Clean rows, rows attacked without control, and rows whose meaning one word changes."""
        n, every = self.trial.n, [dict(row) for row in load_nli(self.trial.data)]
        return {
            "clean": self._rows(0, n),
            self.trial.recipe: self._moved(0, n),
            "contrast": edited(every, edits_of(read_result(self.results / RESULT))[:n]),
        }

    def _moved(self, start: int, n: int) -> list[dict]:
        """Rows as the recorded attack on the model without control left them."""
        trial = self.trial
        of = load_nli(trial.data), trial.data, trial.recipe, self.results, trial.model
        return stored_rows(*of)[start : start + n]

    def anchors(self) -> dict[str, dict[str, np.ndarray]]:
        """What recorded trials say of the same rows and the same attack."""
        trial, right = self.trial, {}
        seen, contrast = ADAPTIVE + trial.recipe, read_result(self.results / RESULT)
        for name, (file, condition) in ANCHORS.items():
            result = read_result(self.results / file)
            kept = {"clean": trial.n, trial.recipe: trial.n, seen: trial.attacked}
            right[name] = {
                key: answers(result, condition, key)[:most]
                for key, most in kept.items()
                if most and key in result["examples"][condition]
            }
            if condition in contrast["examples"]:
                right[name]["contrast"] = answers(contrast, condition, "edited")[: trial.n]
        right["none"][seen] = right["none"][trial.recipe][: trial.attacked]
        return right

    def _pairs(self) -> list[tuple[int, dict, dict]]:
        """Cluster, clean row and attacked row, where the attack changed no length in tokens."""
        start, n = self.trial.predicted_after, self.trial.predicted
        rows, moved = self._rows(start, n), self._moved(start, n)

        def length(row: Mapping[str, Any]) -> int:
            return len(self.tokenizer(row["premise"], row["hypothesis"])["input_ids"])

        pairs = [
            (length(a), k, a, b)
            for k, a, b in zip(self.clusters(rows), rows, moved, strict=True)
            if length(a) == length(b) and a["hypothesis"] != b["hypothesis"]
        ]
        return [of[1:] for of in sorted(pairs, key=lambda of: of[1::-1])]

    def clusters(self, rows: Sequence[dict]) -> list[int]:
        """Nearest centre of every text."""
        places, centres = self.places(rows).double(), self.jacobians["centres"]
        return torch.cdist(places, centres).argmin(1).tolist()

    def prediction(self) -> dict[str, Any]:
        """Shares of the derivative explained; quartiles of predicted errors over true ones."""
        trial, A = self.trial, self.jacobians
        pairs = self._pairs()
        removed = torch.from_numpy(self._gains(RUNNING, trial.running[0]) @ self.off[RUNNING])

        def explained() -> dict[str, list[float]]:
            fresh = self.held[:48]
            of = self.clusters(fresh)
            sums: dict[str, Any] = dict.fromkeys(("mean", "cluster", "random", "diagonal"), 0)
            for j in range(trial.clusters):
                rows = [row for row, i in zip(fresh, of, strict=True) if i == j]
                if not rows:
                    continue
                inputs, means = encode(self.tokenizer, rows), {"mean": A["mean"]}
                means |= {key: A[key][j] for key in ("cluster", "random")}
                for key, mean in means.items():
                    own, diagonal = explained_shares(self.model, inputs, mean, 1, trial.seed)
                    sums[key] += own * len(rows) / len(fresh)
                sums["diagonal"] += diagonal * len(rows) / len(fresh)
            return {key: share.double().numpy().round(4).tolist() for key, share in sums.items()}

        def errors(law: torch.Tensor | None) -> dict[str, list]:
            parts: dict[str, list[torch.Tensor]] = {}
            for j, group in groupby(pairs, key=lambda pair: pair[0]):
                of = list(group)
                means = {key: A[key][j] for key in ("cluster", "random")} | {"mean": A["mean"]}
                for start in range(0, len(of), 24):
                    _, *texts = zip(*of[start : start + 24], strict=True)
                    both = [encode(self.tokenizer, list(side)) for side in texts]
                    p = predicted_errors(self.model, *both, means, law)
                    parts.setdefault("true", []).append(p.true / p.true[:, :1])
                    for key in p.size:
                        parts.setdefault(f"size, {key}", []).append(p.size[key] / p.true)
                        parts.setdefault(f"missed, {key}", []).append(p.missed[key] / p.true)
            return {
                key: np.quantile(torch.cat(of).double().numpy(), (0.25, 0.5, 0.75), axis=0)
                .round(3)
                .tolist()
                for key, of in parts.items()
            }

        return self.kept("prediction", lambda: {
            "n": len(pairs),
            "sizes": A["sizes"].tolist(),
            "shares": explained(),
            "mean_share": self.weights["share"].numpy().round(4).tolist(),
            "errors": {"none": errors(None), RUNNING: errors(removed)},
        })  # fmt: skip

    def learning(self) -> dict[str, Any]:
        """Learn gains twice; compare them with the paper's grid on the text of the fit, and fresh."""
        trial, N = self.trial, self.trial.learnt

        def compute() -> dict[str, Any]:
            parts = self.edited({"fit": self.fit_rows[-N:], "fresh": self.held[-N:]})
            laws = {EQUAL: LearntGains(self.fitted, False), FREE: LearntGains(self.fitted, True)}
            for law in laws.values():
                learn(self.model, parts["fit"], law, trial.epochs, trial.rate, trial.seed, self.report)  # fmt: skip
            grid = {s: self.fitted.retune(scheme=s, gains="paper") for s in GRID}
            costs = {
                key: mean_costs(self.model, of, {"none": None} | grid | laws)
                for key, of in parts.items()
            }
            about = {name: law.record() for name, law in laws.items()}
            return {"laws": about, "costs": costs, "terms": list(laws[FREE].terms)}

        return self.kept("learning", compute)

    @cached_property
    def controls(self) -> dict[str, Any]:
        """Controls on trial; the strength of those whose gains were solved for is a held-out choice."""
        trial = self.trial
        grids = {RUNNING: trial.running, TERMINAL: trial.terminal, ROADS: trial.roads,
                 WIENER: trial.rhos}  # fmt: skip
        controls: dict[str, Any] = {name: self.chosen(name, of) for name, of in grids.items()}
        controls |= {f"{ROADS}: {k}": Placebo(controls[ROADS], k) for k in ("rotation", "noise")}
        for c in trial.running:  # on the same texts: blocks orthogonal, or as they are in the mean
            controls |= {f"{s}, {c:g}": self.fitted.retune(scheme=s, c=c) for s in ("P", "PD")}
            controls |= {f"{k}, {c:g}": self.contender(k, c) for k in (RUNNING, BOTH)}
        own = f"P, {trial.running[0]:g}"
        controls[f"{own}: noise"] = Placebo(controls[own], "noise")  # as long as P's own push
        laws = self.learning()["laws"]
        return controls | {k: LearntGains(self.fitted, k == FREE).take(laws[k]) for k in laws}

    def judged(self) -> dict[str, dict[str, np.ndarray]]:
        """Right answers under every control on every set."""
        right: dict[str, dict[str, np.ndarray]] = {}
        for name, control in self.controls.items():

            def judge(control: Any = control) -> dict[str, str]:
                with under(control, self.model), torch.no_grad():
                    return {
                        key: pack(right_answers(self.model, self.tokenizer, rows))
                        for key, rows in self.sets.items()
                    }

            stored = self.kept(f"judged {name}", judge)
            right[name] = {key: unpack(stored[key], len(of)) for key, of in self.sets.items()}
            right[name]["contrast"] = ~right[name]["contrast"]
            shares = {key: round(float(bits.mean()), 3) for key, bits in right[name].items()}
            self.report(f"{name}: {shares}")
        return right

    def attacked(self, name: str) -> np.ndarray:
        """Rows right after an attack that sees the control."""
        trial, ids = self.trial, list(range(self.trial.attacked))
        with under(self.controls[name], self.model), torch.no_grad():
            outcomes = attack(
                self.model, self.tokenizer, self.sets["clean"][: trial.attacked], trial.recipe,
                trial.resources, trial.seed, ids=ids, data=trial.data,
                log=self.folder / f"{trial.recipe} {name}.jsonl",
            )  # fmt: skip
        bits = np.array([o.status == "failed" for o in outcomes])
        self.report(f"{ADAPTIVE}{trial.recipe}, {name}: {int(bits.sum())} of {len(bits)}")
        return bits
