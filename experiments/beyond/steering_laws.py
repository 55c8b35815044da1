"""Laws that steer a language model, each a family of controls of any strength."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from experiments.beyond.concept import fitted_texts
from experiments.experiment import Report
from pidbook.analysis import Steering, concept_states, mean_jacobians, sequential_pushes
from pidlib.data.nli import load_nli
from pidlib.models import load_model
from pidlib.pid import PIDController
from pidlib.theory import riccati

MIDDLE, ALL = tuple(range(8, 22)), tuple(range(1, 30))
BLOCKS = {"all": ALL, "middle": MIDDLE} | {f"block {t}": (t,) for t in (8, 12, 16, 20)}
LOG, LINEAR = (-7.0, 4.0), (-40.0, 40.0)  # brackets of a strength
# every law, and the settings among which held-out prompts choose
GRIDS: dict[str, list[dict[str, Any]]] = {
    "addition": [{"blocks": b, "last": last} for b in ("all", "middle") for last in (0, 1)],
    "PID over layers: P": [{"blocks": b, "P": k} for b in ("all", "middle") for k in (0.1, 1.0)],
    "PID over layers: PI": [
        {"blocks": b, "P": k, "I": k / 10} for b in ("all", "middle") for k in (0.1, 1.0)
    ],
    "PID over layers: PID": [
        {"blocks": b, "P": k, "I": k / 10, "D": k / 2}
        for b in ("all", "middle")
        for k in (0.1, 1.0)
    ],
    "half-space": [{"blocks": b} for b in ("all", "middle")],
    "half-space, one block": [{"blocks": f"block {t}"} for t in (8, 12, 16, 20)],
    "LQR, identity": [{"c": c} for c in (100.0, 1000.0, 10000.0)],
    "LQR, Jacobians": [{"c": c} for c in (100.0, 1000.0, 10000.0)],
    "feedback": [{"scheme": s, "variance": v} for s in ("P", "PD") for v in (0.8, 0.9, 0.99)],
}


@dataclass(eq=False)
class Scaled:
    """A controller whose control is multiplied by a number."""

    controller: PIDController
    factor: float

    @contextmanager
    def attached(self, model: Any, instead: Any = None) -> Any:
        """Attach it for as long as the context lasts."""

        def scaled(t: int, u: Tensor, mask: Tensor | None) -> Tensor:
            u = self.factor * u
            return u if instead is None else instead(t, u, mask)

        with self.controller.attached(model, instead=scaled):
            yield model


class SteeringLaws:
    """Families of controls, fitted on texts of two moods."""

    def __init__(self, trial: Any, runs: Path, report: Report) -> None:
        self.trial, self.report, self.folder = trial, report, runs / trial.name
        self.model, self.tokenizer = load_model(trial.model)
        self.model.requires_grad_(False)
        self.target, self.opposite = fitted_texts()

    def _texts(self, labels: Sequence[bool]) -> tuple[list[str], list[str]]:
        """Texts of both moods, with other labels for the placebos."""
        every = [*self.target, *self.opposite]
        return ([t for t, of in zip(every, labels, strict=True) if of],
                [t for t, of in zip(every, labels, strict=True) if not of])  # fmt: skip

    @cached_property
    def states(self) -> dict[int, tuple[Tensor, Tensor]]:
        """States (T, N, d) of both moods' texts: means over tokens (0), and at the last one (1)."""
        return {
            last: tuple(concept_states(self.model, self.tokenizer, of, bool(last))
                        for of in (self.target, self.opposite))
            for last in (0, 1)
        }  # fmt: skip

    @cached_property
    def probes(self) -> list[tuple[Tensor, float, float]]:
        """Of each block a unit normal w, the middle between both moods along it, and half the gap."""
        normals = []
        for good, bad in zip(*self.states[0], strict=True):
            X = torch.cat([good, bad]).double().numpy()
            labels = np.repeat([1, 0], [len(good), len(bad)])
            scale = X.std()
            normal = LogisticRegression(C=1.0, max_iter=500).fit(X / scale, labels).coef_[0]
            w = torch.from_numpy(normal / np.linalg.norm(normal)).float()
            ends = float((good @ w).mean()), float((bad @ w).mean())
            normals.append((w, sum(ends) / 2, (ends[0] - ends[1]) / 2))
        return normals

    @cached_property
    def jacobians(self) -> np.ndarray:
        """Mean derivatives (T, d, d) of the blocks around neutral text."""
        path = self.folder / "jacobians.npy"
        if not path.is_file():
            first = list(dict.fromkeys(row["premise"] for row in load_nli("snli-validation")))
            rows = [{"text": text} for text in first[: self.trial.linearised]]
            A = mean_jacobians(self.model, self.tokenizer, rows, draws=2, batch_size=16)
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, A.numpy())
        return np.load(path)

    def _addition(self, of: Mapping[str, Any], labels: Any = None, seed: int | None = None) -> Any:
        last = of["last"]
        if labels is None:
            good, bad = (states.mean(1) for states in self.states[last])
        else:
            good, bad = (concept_states(self.model, self.tokenizer, texts, bool(last)).mean(1)
                         for texts in self._texts(labels))  # fmt: skip
        w = good - bad
        if seed is not None:
            r = torch.randn(w.shape[1], generator=torch.Generator().manual_seed(seed))
            w = w.norm(dim=1, keepdim=True) * r / r.norm()
        layers = BLOCKS[of["blocks"]]
        return lambda s, sign=1: Steering(lambda t, x: sign * math.exp(s) * w[t], layers)

    def _pid(self, of: Mapping[str, Any]) -> Any:
        terms, layers = {i: k for i, k in of.items() if i in "PID"}, BLOCKS[of["blocks"]]
        target = self.states[0][0].mean(1)
        pushes = sequential_pushes(self.model, self.tokenizer, self.opposite, target, terms, layers)
        return lambda s, sign=1: Steering(lambda t, x: sign * math.exp(s) * pushes[t], layers)

    def _half_space(self, of: Mapping[str, Any]) -> Any:
        def family(s: float, sign: int = 1) -> Steering:
            def push(t: int, x: Tensor) -> Tensor:
                w, middle, half = self.probes[t]
                lacking = (sign * middle + s * half - sign * x @ w).clamp(min=0)
                return sign * lacking[..., None] * w

            return Steering(push, BLOCKS[of["blocks"]])

        return family

    def _regulator(self, of: Mapping[str, Any], own: bool) -> Any:
        good, bad = (states.mean(1) for states in self.states[0])
        middle, gap = (good + bad) / 2, (good - bad) / 2
        W = (gap / gap.norm(dim=1, keepdim=True)).double().numpy()
        weights = W[:, :, None] * W[:, None]
        T, d = W.shape
        thetas = self.jacobians if own else np.broadcast_to(np.eye(d), (T, d, d))
        K = torch.from_numpy(riccati(thetas, weights, of["c"]).K).float()

        def family(s: float, sign: int = 1) -> Steering:
            def push(t: int, x: Tensor) -> Tensor:
                return (middle[t] + sign * math.exp(s) * gap[t] - x) @ K[t].T

            return Steering(push, ALL)

        return family

    @cached_property
    def fitted(self) -> PIDController:
        """Subspaces of the target's texts."""
        rows = [{"text": text} for text in self.target]
        return PIDController.fit(
            self.model, self.tokenizer, rows, scheme="PID", correct_only=False, skip_first=1
        )

    def _feedback(self, of: Mapping[str, Any]) -> Any:
        controller = self.fitted.retune(scheme=of["scheme"], variance=of["variance"])
        return lambda s, sign=1: Scaled(controller, sign * math.exp(s))

    def family(self, law: str, of: Mapping[str, Any]) -> tuple[Callable, tuple[float, float]]:
        """The controls of a law at one setting, by strength, and the strengths to search."""
        if law == "addition":
            return self._addition(of), LOG
        if law.startswith("PID"):
            return self._pid(of), LOG
        if law.startswith("half-space"):
            return self._half_space(of), LINEAR
        if law.startswith("LQR"):
            return self._regulator(of, law.endswith("Jacobians")), (-3.0, 8.0)
        return self._feedback(of), (LOG[0], 0.0)
