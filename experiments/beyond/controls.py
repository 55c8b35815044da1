"""Controls from the model's own Jacobians, each at the strength that held-out text chooses."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.experiment import Report, once
from experiments.trial import fit_rows, held_rows
from pidlib.analysis import answer_weights, mean_jacobians
from pidlib.attacks.synonyms import candidates
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.estimation.estimator import Estimator
from pidlib.estimation.layerwise import Estimate, Fit, closed_form, fit_estimates
from pidlib.estimation.selection import Tried, best_affordable
from pidlib.evaluation.accuracy import right_answers
from pidlib.hooks import find_blocks
from pidlib.models import load_model
from pidlib.pid import PIDController
from pidlib.theory.riccati import riccati
from pidlib.theory.wiener import Affine

RUNNING, TERMINAL, ROADS, WIENER = "LQR running", "LQG terminal", "LQG all roads", "estimate alone"


class JacobianControls:
    """What is fitted on clean text; what is finished is kept in a folder."""

    def __init__(self, trial: Any, results: Path, runs: Path, report: Report) -> None:
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

    def kept(self, name: str, compute: Callable[[], dict], *about: Any) -> dict[str, Any]:
        """What was computed under these settings, or is now."""
        settings = {"about": [str(of) for of in about], "seed": self.trial.seed}
        started = time.perf_counter()
        stored = once(self.folder / f"{name}.json", settings, compute)
        self.report(f"{name}: {time.perf_counter() - started:.0f} s")
        return stored

    @cached_property
    def fitted(self) -> PIDController:
        """The paper's subspaces; kept, for every run needs them."""
        folder, n = self.folder / f"subspaces-{self.trial.fitted_on}", self.trial.fitted_on
        if not folder.is_dir():
            settings = {"scheme": "PID", "variance": self.trial.variance}
            rows = self.fit_rows[:n]
            PIDController.fit(self.model, self.tokenizer, rows, **settings).save_pretrained(folder)
        return PIDController.from_pretrained(folder)

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

    def chosen(self, name: str, grid: Sequence[float]) -> Estimator:
        """The strongest recovery on held-out random edits that loses at most a point of clean rows."""
        held = self.held[: self.trial.held]
        sets = held, [row for row, _ in perturbed_rows(held, self.edits, self.trial.seed + 1)]

        def judge(control: Any) -> list[float]:
            with under(control, self.model), torch.no_grad():
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


def under(control: Any, model: Any) -> AbstractContextManager:
    """A control attached, or none."""
    return nullcontext() if control is None else control.attached(model)
