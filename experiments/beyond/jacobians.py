"""Recorded trial of gains from the model's own Jacobians, and of gains that were learnt."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.adapters import adapter_model
from experiments.beyond.gains import LearntGains, answer_costs, learn
from experiments.experiment import Experiment, Report, once
from experiments.record import counted, packed
from experiments.trial import fit_rows, held_rows
from pidlib.analysis import (
    answer_weights,
    explained_shares,
    mean_jacobians,
    predicted_errors,
)
from pidlib.attacks.attack import attack
from pidlib.attacks.outcomes import read_outcomes, transfer_rows
from pidlib.attacks.synonyms import candidates
from pidlib.data.batches import encode
from pidlib.data.nli import fingerprint, load_nli
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.estimation.estimator import Estimator
from pidlib.estimation.layerwise import Estimate, Fit, closed_form, fit_estimates
from pidlib.estimation.pretrained import load_control
from pidlib.estimation.selection import Tried, best_affordable
from pidlib.evaluation.accuracy import right_answers
from pidlib.evaluation.contrast import RESULT, edits_of
from pidlib.evaluation.contrast_rows import edited
from pidlib.evaluation.placebos import Placebo
from pidlib.evaluation.results import read_result
from pidlib.evaluation.trial_results import ADAPTIVE, pack, unpack
from pidlib.hooks import find_blocks
from pidlib.models import load_model
from pidlib.pid import PIDController
from pidlib.theory.riccati import riccati
from pidlib.theory.wiener import Affine

TRANSFER = ("textfooler", "textbugger")
PAPER = ("P 99 %", "P-D 99 %")
RUNNING, TERMINAL, ROADS = "LQR running", "LQG terminal", "LQG all roads"
WIENER, SHIPPED, LEARNT = "estimate alone", "trained estimate", "learnt gains"


@dataclass(frozen=True)
class JacobianTrial(Experiment):
    """A model's blocks as matrices: what they predict, and gains made of them on trial."""

    data: str = "snli-test"
    model: str = "minilm-nli"
    after: int = 3000
    clean: int = 200
    n: int = 200
    attacked: int = 100
    recipe: str = "textfooler"
    resources: str = "ppdb"
    contrasts: int = 300
    linearised: int = 160
    weighed: int = 120
    estimated: int = 300
    held: int = 200
    learnt: int = 128
    epochs: int = 4
    rate: float = 0.1
    rho: float = 1.0
    costs: tuple[float, ...] = (0.1, 1.0)
    running: tuple[float, ...] = (0.001, 1.0, 10.0)
    rhos: tuple[float, ...] = (0.5, 2.0)
    adaptive: tuple[str, ...] = ("P-D 99 %", TERMINAL, WIENER, SHIPPED)
    variance: float = 0.99
    seed: int = 0

    @property
    def name(self) -> str:
        """Stem of the result file."""
        return f"jacobians-{self.data}-{self.model}"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Linearise, predict, choose, learn, judge, attack."""
        running = RunningJacobians(self, results, runs, report)
        prediction, learnt = running.prediction(), running.learning()
        right, spent = running.judged(), {}
        for name in ("none", *self.adaptive):
            right[name] |= running.attacked(name, spent)
        rows = running.rows
        return {
            "data": {"name": self.data, "n": len(rows), "sha256": fingerprint(rows)},
            "model": adapter_model(self.model),
            "sets": {key: {"n": len(of), "sha256": fingerprint(of)}
                     for key, of in running.sets.items()},
            "counts": counted(right),
            "examples": packed(right),
            "prediction": prediction,
            "learning": learnt,
            "selection": running.selection,
            "controls": running.sums,
            "attacks": spent,
        }  # fmt: skip


class RunningJacobians:
    """A trial under way; what is finished is kept in `runs`."""

    def __init__(self, trial: JacobianTrial, results: Path, runs: Path, report: Report) -> None:
        self.trial, self.results, self.folder = trial, results, runs / trial.name
        self.report = report
        self.model, self.tokenizer = load_model(trial.model)
        self.model.requires_grad_(False)
        self.edits = RandomEdits("both", source=candidates(trial.resources))
        self.fit_rows = [dict(row) for row in fit_rows(trial.data, 2000)]
        self.held = [dict(row) for row in held_rows(trial.data)]
        self.selection: dict[str, list] = {}
        self.sums: dict[str, str] = {}
        self._wanted: dict[int, torch.Tensor] = {}

    @cached_property
    def rows(self) -> list[dict]:
        """Rows judged."""
        trial = self.trial
        chosen = load_nli(trial.data).select(range(trial.after, trial.after + trial.clean))
        return [dict(row) for row in chosen]

    @cached_property
    def sets(self) -> dict[str, list[dict]]:
        """Clean rows, rows attacked without control, and rows whose meaning one word changes."""
        trial, sets = self.trial, {"clean": self.rows}
        for recipe in TRANSFER:
            sets[recipe] = transfer_rows(self.rows[: trial.n], self._recorded(recipe, trial.n))
        contrast = edits_of(read_result(self.results / RESULT))[: trial.contrasts]
        every = [dict(row) for row in load_nli(trial.data)]
        return sets | {"contrast": edited(every, contrast)}

    def _recorded(self, recipe: str, n: int) -> list:
        """Outcomes of the recorded attack on the first rows judged, without control."""
        trial = self.trial
        path = self.results / "attacks" / f"{trial.data}-{trial.model}-{recipe}.jsonl"
        by_id = {o.id: o for o in read_outcomes(path).outcomes}
        return [replace(by_id[trial.after + k], id=k) for k in range(n)]

    def kept(self, name: str, compute: Callable[[], dict], *about: Any) -> dict[str, Any]:
        """What was computed under these settings, or is now."""
        settings = {"about": [str(of) for of in about], "seed": self.trial.seed}
        started = time.perf_counter()
        stored = once(self.folder / f"{name}.json", settings, compute)
        self.report(f"{name}: {time.perf_counter() - started:.0f} s")
        return stored

    @cached_property
    def fitted(self) -> PIDController:
        """The paper's subspaces."""
        settings = {"scheme": "PID", "variance": self.trial.variance}
        return PIDController.fit(self.model, self.tokenizer, self.fit_rows, **settings)

    @cached_property
    def off(self) -> np.ndarray:
        """Projections off the P-subspaces, (T, d, d); exact, for Riccati takes no negative weight."""
        Q = torch.stack([self.fitted.projections(t, "P")["P"] for t in range(self.fitted.depth)])
        values, vectors = torch.linalg.eigh(Q)
        return ((vectors * values.round()[:, None]) @ vectors.mT).numpy()

    @cached_property
    def jacobians(self) -> torch.Tensor:
        """Mean own Jacobians, (T, d, d)."""
        rows = self.fit_rows[: self.trial.linearised]
        return self._tensor("jacobians", partial(mean_jacobians, rows=rows, draws=3), len(rows))[0]

    @cached_property
    def weights(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights of errors by what they do to the logits, one scale for all; share of the mean."""
        rows = self.fit_rows[: self.trial.weighed]
        M, share = self._tensor("weights", partial(answer_weights, rows=rows), len(rows))
        return M * M.shape[1] / M[-1].trace(), share

    def _tensor(self, name: str, compute: Callable, *about: Any) -> tuple[torch.Tensor, ...]:
        path = self.folder / f"{name}-{'-'.join(map(str, about))}.pt"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            made = compute(self.model, self.tokenizer)
            torch.save(made if isinstance(made, tuple) else (made,), path)
        return torch.load(path)

    def prediction(self) -> dict[str, Any]:
        """Shares of the derivative explained; true and predicted errors of attacked rows."""
        trial = self.trial

        def compute() -> dict[str, Any]:
            fresh = encode(self.tokenizer, self.held[:32])
            own, diagonal = explained_shares(self.model, fresh, self.jacobians, 1, trial.seed)
            rows, moved = self.rows[: trial.n], self.sets["textfooler"]
            length = [[len(self.tokenizer(r["premise"], r["hypothesis"])["input_ids"]) for r in of]
                      for of in (rows, moved)]  # fmt: skip
            text = [[(r["premise"], r["hypothesis"]) for r in of] for of in (rows, moved)]
            same = [
                k for k in range(trial.n)
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

        return self.kept("prediction", compute, trial.linearised, trial.weighed, trial.n)

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
                for scheme in ("P", "I", "D", "P-I", "P-D", "I-D", "P-I-D")
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

    def _estimator(self, maps: Mapping[int, Affine], rho: float, text: str) -> Estimator:
        nothing = Fit(0, 0.0, 0.0, 0.0, 0.0)
        estimates = {
            t: Estimate(torch.as_tensor(A), torch.as_tensor(b), nothing)
            for t, (A, b) in maps.items()
        }
        return Estimator(estimates, self.fitted.origin, rho, "regression", text)

    def separated(self, K: np.ndarray, rho: float, text: str) -> Estimator:
        """u_t = -K_t e_t, e_t the best linear guess of the error under the controls before it."""
        rule, trial = closed_form("regression", rho), self.trial

        def fit(t: int, joint: Any) -> Affine:
            A, b = rule(t, joint)
            eye = np.eye(len(b))
            return Affine(eye + K[t] @ (A - eye), K[t] @ b)

        states, rows = range(len(K)), self.fit_rows[: trial.estimated]
        blocks = find_blocks(self.model)
        made = fit_estimates(blocks, self.tokenizer, rows, self.edits, states, fit, trial.seed)
        return self._estimator(
            {t: Affine(e.A.numpy(), e.b.numpy()) for t, e in made.items()}, rho, text
        )

    def projected(self, K: np.ndarray, text: str) -> Estimator:
        """u_t = -K_t Q_t x_t: the error guessed as what lies off the subspace."""
        Q, eye = self.off, np.eye(K.shape[-1])
        return self._estimator(
            {t: Affine(eye - K[t] @ Q[t], np.zeros(len(eye))) for t in range(len(K))}, 0.0, text
        )

    def made(self, name: str, setting: float) -> Estimator:
        """A contender at one setting of its strength."""
        A, d = self.jacobians.numpy(), self.jacobians.shape[-1]
        text = f"{name}, {setting:g}"
        if name == RUNNING:
            return self.projected(riccati(A, self.off, setting).K, text)
        if name == WIENER:
            return self.separated(np.stack([np.eye(d)] * len(A)), setting, text)
        M = self.weights[0].numpy()
        if name == TERMINAL:  # the end is x_5 + u_5: the last block and the head are in its weight
            layers = np.concatenate([A[:-1], np.eye(d)[None]])
            K = riccati(layers, np.zeros_like(A), setting, terminal=(M[-1] + M[-1].T) / 2).K
        else:
            K = np.stack([np.linalg.solve(m + setting * np.eye(d), m) for m in M])
        return self.separated(K, self.trial.rho, text)

    @cached_property
    def conditions(self) -> dict[str, Any]:
        """All that is judged, by name; what has a strength is chosen on held-out rows."""
        trial, controls = self.trial, {"none": None}
        for name in PAPER:
            controls[name] = self.fitted.retune(scheme=name.split()[0])
        grids = {RUNNING: trial.running, TERMINAL: trial.costs, ROADS: trial.costs,
                 WIENER: trial.rhos}  # fmt: skip
        for name, grid in grids.items():
            controls[name] = self._chosen(name, grid)
        best = controls[TERMINAL]
        controls[f"{TERMINAL}: rotation"] = best and Placebo(best, "rotation")
        controls[f"{TERMINAL}: noise"] = best and Placebo(best, "noise")
        controls[SHIPPED] = load_control(f"{trial.model}-terminal", self.model)
        for name in ("equal total", "free"):
            controls[f"{LEARNT}, {name}"] = self._learnt(name)
        return {k: v for k, v in controls.items() if v is not None or k == "none"}

    def _learnt(self, name: str) -> Any:
        law, stored = LearntGains(self.fitted, name == "free"), self.learning()["laws"][name]
        with torch.no_grad():
            law.raw.copy_(torch.tensor(stored["raw"]))
            law.log_c.copy_(torch.tensor(stored["log_c"]))
        return _Attached(law)

    def _chosen(self, name: str, grid: Sequence[float]) -> Estimator | None:
        """The strongest recovery on held-out random edits that loses at most a point of clean rows."""
        held = self.held[: self.trial.held]
        sets = held, [row for row, _ in perturbed_rows(held, self.edits, self.trial.seed + 1)]

        def judge(control: Any) -> list[float]:
            with _under(control, self.model), torch.no_grad():
                return [float(right_answers(self.model, self.tokenizer, of).mean()) for of in sets]

        def tried(setting: float | None) -> dict[str, Any]:
            control = None if setting is None else self.made(name, setting)
            if control is not None:
                folder = self.folder / f"{name} {setting:g}"
                torch.save({t: (e.A, e.b) for t, e in control.estimates.items()}, f"{folder}.pt")
            return {"of shares": judge(control)}

        about = self.trial.estimated, self.trial.linearised, self.trial.weighed, len(held)
        settings = [
            Tried(0.0, -1, *self.kept("held none", lambda: tried(None), len(held))["of shares"])
        ]
        for setting in grid:
            file = f"held {name} {setting:g}"
            shares = self.kept(file, lambda setting=setting: tried(setting), *about)["of shares"]
            settings.append(Tried(setting, 5, *shares))
            self.report(f"{name} {setting:g}: clean {shares[0]:.3f}, changed {shares[1]:.3f}")
        self.selection[name] = [[t.rho, t.clean, t.perturbed] for t in settings]
        best = best_affordable(settings)
        if best is settings[0]:  # none is affordable: the one that costs least
            best = max(settings[1:], key=lambda t: t.clean)
        maps = torch.load(self.folder / f"{name} {best.rho:g}.pt")
        maps = {t: Affine(A.numpy(), b.numpy()) for t, (A, b) in maps.items()}
        return self._estimator(maps, best.rho, f"{name}, {best.rho:g}")

    def judged(self) -> dict[str, dict[str, np.ndarray]]:
        """Right answers of every condition on every set."""
        right: dict[str, dict[str, np.ndarray]] = {}
        for name, control in self.conditions.items():
            self.sums[name] = control.summary() if hasattr(control, "summary") else name
            right[name] = {}
            for key, rows in self.sets.items():

                def judge(control: Any = control, rows: list = rows) -> dict[str, Any]:
                    with _under(control, self.model), torch.no_grad():
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

    def attacked(self, name: str, spent: dict[str, Any]) -> dict[str, np.ndarray]:
        """Rows right after an attack that sees the control; without one, the recorded attack."""
        trial, control = self.trial, self.conditions.get(name)
        if name == "none":
            outcomes = self._recorded(trial.recipe, trial.attacked)
        elif control is None:
            return {}
        else:
            ids = list(range(trial.after, trial.after + trial.attacked))
            log = self.folder / f"{trial.recipe} {name} {self._identity(control)[:12]}.jsonl"
            with _under(control, self.model):
                outcomes = attack(
                    self.model, self.tokenizer, self.rows[: trial.attacked], trial.recipe,
                    trial.resources, trial.seed, ids=ids, log=log, data=trial.data,
                )  # fmt: skip
        spent[name] = {
            "queries": int(np.sum([o.queries for o in outcomes])),
            "edits": int(np.sum([len(o.edits) for o in outcomes])),
        }
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


def _under(control: Any, model: Any) -> AbstractContextManager:
    return nullcontext() if control is None else control.attached(model)
