"""Controls from the model's own Jacobians, each at the strength that held-out text chooses."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from scipy.cluster.vq import kmeans2

from experiments.beyond.gains import edited
from experiments.experiment import Report, once
from experiments.rows import fit_rows, held_rows
from pidbook.analysis import answer_weights, mean_jacobians
from pidbook.estimation.selection import Tried, best_affordable
from pidbook.evaluation.results import configuration_hash
from pidlib.attacks.synonyms import candidates
from pidlib.data.batches import batches
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.estimation.estimator import Estimator
from pidlib.estimation.layerwise import Estimate, Fit, closed_form, fit_estimates
from pidlib.evaluation.accuracy import right_answers, under
from pidlib.hooks import find_blocks
from pidlib.io.files import write_tensors
from pidlib.models import load_model
from pidlib.pid import PIDController
from pidlib.theory.riccati import riccati
from pidlib.theory.wiener import Affine

RUNNING, TERMINAL, ROADS, WIENER = "LQR running", "LQG terminal", "LQG all roads", "estimate alone"
BOTH = "LQR running, P-D"


class JacobianControls:
    """What is fitted on clean text; what is finished is kept in a folder of this configuration."""

    def __init__(self, trial: Any, results: Path, runs: Path, report: Report) -> None:
        self.trial, self.results, self.report = trial, results, report
        self.settings = {"configuration": configuration_hash(trial.configuration)}
        self.folder = runs / trial.name / self.settings["configuration"][:12]
        self.model, self.tokenizer = load_model(trial.model)
        self.model.requires_grad_(False)
        self.edits = RandomEdits("both", source=candidates(trial.resources))
        self.fit_rows = [dict(row) for row in fit_rows(trial.data, 2000)]
        self.held = [dict(row) for row in held_rows(trial.data)]
        self.selection: dict[str, list] = {}

    def kept(self, name: str, compute: Callable[[], dict]) -> dict[str, Any]:
        """What was computed before, or is now."""
        started = time.perf_counter()
        stored = once(self.folder / f"{name}.json", self.settings, compute)
        self.report(f"{name}: {time.perf_counter() - started:.0f} s")
        return stored

    def _tensors(self, name: str, compute: Callable[[], dict]) -> dict[str, torch.Tensor]:
        path = self.folder / f"{name}.safetensors"
        if not path.is_file():
            write_tensors(path, compute())
        return load_file(path)

    @cached_property
    def fitted(self) -> PIDController:
        """The paper's subspaces."""
        folder, rows = self.folder / "subspaces", self.fit_rows[: self.trial.fitted_on]
        if not folder.is_dir():
            settings = {"scheme": "PID", "variance": self.trial.variance}
            PIDController.fit(self.model, self.tokenizer, rows, **settings).save_pretrained(folder)
        return PIDController.from_pretrained(folder)

    @cached_property
    def off(self) -> dict[str, np.ndarray]:
        """Projections off P, and the mean of those off P and D, (T, d, d); exact, for Riccati."""
        states = [self.fitted.projections(t, "PD") for t in range(self.fitted.depth)]
        Q = torch.stack([torch.stack([*of.values()]) for of in states])
        values, vectors = torch.linalg.eigh(Q)
        Q = ((vectors * values.round()[..., None, :]) @ vectors.mT).numpy()
        return {RUNNING: Q[:, 0], BOTH: Q.mean(1)}

    def places(self, rows: Sequence[dict]) -> torch.Tensor:
        """Mean state x_0 of every text, (N, d)."""
        parts: dict[int, torch.Tensor] = {}
        for batch in batches(self.tokenizer, rows, 32):
            real = batch.inputs["attention_mask"][..., None]
            with torch.no_grad(), find_blocks(self.model).reading() as states:
                self.model(**batch.inputs)
                means = (states[0] * real).sum(1) / real.sum(1)
            parts |= dict(zip(batch.indices.tolist(), means, strict=True))
        return torch.stack([parts[k] for k in range(len(rows))])

    @cached_property
    def jacobians(self) -> dict[str, torch.Tensor]:
        """Mean own Jacobians: of all texts, by cluster of texts, and by sets drawn at random."""
        rows, k = self.fit_rows[: self.trial.linearised], self.trial.clusters

        def mean(part: Sequence[dict]) -> torch.Tensor:
            return mean_jacobians(self.model, self.tokenizer, part, self.trial.draws)

        def compute() -> dict[str, torch.Tensor]:
            places = self.places(rows).double().numpy()
            starts = [kmeans2(places, k, minit="++", seed=seed) for seed in range(10)]
            centres, label = max(starts, key=lambda of: np.bincount(of[1], minlength=k).min())
            drawn = np.random.default_rng(0).permutation(label)
            sets = {"cluster": label, "random": drawn}
            own = {
                key: torch.stack([
                    mean([row for row, j in zip(rows, of, strict=True) if j == i])
                    for i in range(k)
                ])
                for key, of in sets.items()
            }  # fmt: skip
            sizes = torch.from_numpy(np.bincount(label, minlength=k))
            return {"mean": mean(rows), "centres": torch.from_numpy(centres), "sizes": sizes} | own

        return self._tensors("jacobians", compute)

    @cached_property
    def weights(self) -> dict[str, torch.Tensor]:
        """Weights of errors by what they do to the logits, on one scale; share of the mean."""

        def compute() -> dict[str, torch.Tensor]:
            rows = self.fit_rows[: self.trial.weighed]
            M, share = answer_weights(self.model, self.tokenizer, rows)
            return {"M": M * M.shape[1] / M[-1].trace(), "share": share}

        return self._tensors("weights", compute)

    def _estimator(self, maps: dict[int, Affine], rho: float, text: str) -> Estimator:
        nothing = Fit(0, 0.0, 0.0, 0.0, 0.0)
        estimates = {
            t: Estimate(torch.as_tensor(A), torch.as_tensor(b), nothing)
            for t, (A, b) in maps.items()
        }
        return Estimator(estimates, self.fitted.origin, rho, "regression", text)

    def _gains(self, name: str, setting: float) -> np.ndarray:
        """K_t of a contender, (T, d, d)."""
        A, M = self.jacobians["mean"].numpy(), self.weights["M"].numpy()
        eye = np.eye(A.shape[-1])
        if name in self.off:
            return riccati(A, self.off[name], setting).K
        if name == WIENER:
            return np.stack([eye] * len(A))
        if name == TERMINAL:  # the end is x_5 + u_5: the last block and the head are in its weight
            layers, end = np.concatenate([A[:-1], eye[None]]), (M[-1] + M[-1].T) / 2
            return riccati(layers, np.zeros_like(A), setting, terminal=end).K
        return np.stack([np.linalg.solve(m + setting * eye, m) for m in M])

    def _made(self, name: str, setting: float) -> Estimator:
        """u_t = -K_t e_t, with the error guessed off the subspace, or by regression."""
        K, text = self._gains(name, setting), f"{name}, {setting:g}"
        eye, states = np.eye(K.shape[-1]), range(len(K))
        if name in self.off:
            maps = {t: Affine(eye - K[t] @ self.off[name][t], np.zeros(len(eye))) for t in states}
            return self._estimator(maps, 0.0, text)
        rho = setting if name == WIENER else self.trial.rho
        rule, rows = closed_form("regression", rho), self.fit_rows[: self.trial.estimated]

        def fit(t: int, joint: Any) -> Affine:
            A, b = rule(t, joint)
            return Affine(eye + K[t] @ (A - eye), K[t] @ b)

        blocks, seed = find_blocks(self.model), self.trial.seed
        made = fit_estimates(blocks, self.tokenizer, rows, self.edits, states, fit, seed)
        return self._estimator({t: Affine(e.A, e.b) for t, e in made.items()}, rho, text)

    def contender(self, name: str, setting: float) -> Estimator:
        """A contender at one setting of its strength."""
        folder = self.folder / f"{name} {setting:g}"
        if not folder.is_dir():
            self._made(name, setting).save_pretrained(folder)
        return Estimator.from_pretrained(folder, allow_expanding=True)

    def edited(self, sets: Mapping[str, Sequence[dict]]) -> dict[str, list]:
        """Sets of rows in batches, clean and randomly edited."""
        return {
            key: edited(self.model, self.tokenizer, rows, self.edits, self.trial.seed + 10 + k)
            for k, (key, rows) in enumerate(sets.items())
        }

    def shares(self, control: Any) -> list[float]:
        """Right answers of held-out rows, as they are and randomly edited."""
        held = self.held[: self.trial.held]
        sets = held, [row for row, _ in perturbed_rows(held, self.edits, self.trial.seed + 1)]
        with under(control, self.model), torch.no_grad():
            return [float(right_answers(self.model, self.tokenizer, of).mean()) for of in sets]

    def chosen(self, name: str, grid: Sequence[float]) -> Estimator:
        """Most right edited rows among settings that lose at most a point of clean ones."""

        def held(of: str, control: Callable[[], Any]) -> list[float]:
            return self.kept(f"held {of}", lambda: {"right": self.shares(control())})["right"]

        tried = [Tried(0.0, -1, *held("none", lambda: None))]
        for setting in grid:
            shares = held(f"{name} {setting:g}", lambda s=setting: self.contender(name, s))
            tried.append(Tried(setting, 5, *shares))
            self.report(f"{name} {setting:g}: clean {shares[0]:.3f}, changed {shares[1]:.3f}")
        self.selection[name] = [[t.rho, t.clean, t.perturbed] for t in tried]
        best = best_affordable(tried)
        if best is tried[0]:  # none is affordable: what costs least
            best = max(tried[1:], key=lambda t: t.clean)
        return self.contender(name, best.rho)
