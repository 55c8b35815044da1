"""Recorded comparison of the analytic controls with the optimal ones, on attacked rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.adapters import adapter_record
from experiments.experiment import Report, TextExperiment, cached_json
from experiments.fields import answered
from experiments.rows import fit_rows
from pidbook.analysis import Pontryagin
from pidbook.analysis.pontryagin import LOSSES
from pidbook.evaluation.trial_results import pack, stored_rows, unpack
from pidlib.attacks.attack import RECIPES
from pidlib.data.batches import batches, input_device
from pidlib.data.labels import label_order
from pidlib.data.nli import fingerprint, load_nli
from pidlib.models import load_model
from pidlib.pid import PIDController
from pidlib.settings import parse_gains

PUBLISHED_SHARE = 0.72  # of the analytic control: what three steps of the published solver leave
ANALYTIC = {"relaxed": "exact-gain", "running": "residual"}  # the law made for each loss


@dataclass(frozen=True)
class PontryaginTrial(TextExperiment):
    """One model on attacked rows of one data set, under analytic and optimal controls."""

    n: int = 300
    sweeps: int = 20
    scheme: str = "PD"
    thresholds: tuple[float, ...] = (0.99, 0.95, 0.90, 0.85)
    c: float = 1e-3
    fitted_on: int = 2000
    prices: tuple[float, ...] = ()  # several in place of c, told by the names of the controls
    stem, later = "pmp", ("prices",)

    @property
    def label(self) -> str:
        """End of the name."""
        return "-prices" if self.prices else ""

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Judge every control on clean and attacked rows; finished cells are kept in `runs`."""
        sets = _sets(self, results)
        model, tokenizer = load_model(self.model)
        fitted = PIDController.fit(
            model, tokenizer, fit_rows(self.data, self.fitted_on), scheme="PID", c=self.c
        )
        cells: dict[str, dict[str, dict[str, Any]]] = {}
        controls = conditions(fitted, self)
        weights = adapter_record(self.model)["sha256"]
        for name in list(controls):
            control = controls.pop(name)  # its matrices go with it
            at = control.controller
            settings = {
                "control": at.summary(),
                "gains": parse_gains(at.scheme, at.gains),
                "layers": list(at.controlled),
                "solver": {f.name: getattr(control, f.name) for f in fields(control)[1:]},
            }
            cells[name] = {}
            for key, rows in sets.items():
                cells[name][key] = cached_json(
                    runs / self.name / f"{name} {key}.json",
                    {"weights": weights, "rows": fingerprint(rows), **settings},
                    partial(judge, model, tokenizer, rows, control),
                )
                report(f"{name} {key}: cost {cells[name][key]['costs'][-1]:.4f}")
        right = {
            name: {key: unpack(cell["right"], cell["n"]) for key, cell in of.items()}
            for name, of in cells.items()
        }
        return answered(self, sets["clean"], right) | {
            "costs": _of(cells, "costs"),
            "left": _of(cells, "left"),
            "seconds": sum(cell["seconds"] for of in cells.values() for cell in of.values()),
        }


def _sets(trial: PontryaginTrial, results: Path) -> dict[str, Any]:
    """As many clean rows as attacked ones of each recipe."""
    rows = load_nli(trial.data, split="test" if trial.data == "captions" else None)
    sets = {"clean": [dict(row) for row in rows]}
    sets |= {r: stored_rows(rows, trial.data, r, results, trial.model) for r in RECIPES}
    sizes = {key: len(part) for key, part in sets.items()}
    if not 1 <= trial.n <= min(sizes.values()):
        raise ValueError(
            f"n is {trial.n} and the recorded sets hold {sizes}: take from 1 to "
            f"{min(sizes.values())}, so that all are of one size"
        )
    return {key: part[: trial.n] for key, part in sets.items()}


def conditions(fitted: PIDController, trial: PontryaginTrial) -> dict[str, Pontryagin]:
    """Every control that is compared; those that are not optimised take no sweep."""
    controls = {}
    for variance, c in product(trial.thresholds, trial.prices or (trial.c,)):
        at = fitted.retune(scheme=trial.scheme, variance=variance, c=c)
        where = f"{100 * variance:g}" + (f" c={c:g}" if trial.prices else "")
        share = {
            term: g * PUBLISHED_SHARE for term, g in parse_gains(trial.scheme, at.gains).items()
        }
        controls[f"shrunk {where} relaxed"] = Pontryagin(
            at.retune(law="averaged", gains=share), sweeps=0
        )
        for loss in LOSSES:
            still = {"loss": loss, "sweeps": 0}
            controls[f"none {where} {loss}"] = Pontryagin(at, warm=False, **still)
            controls[f"averaged {where} {loss}"] = Pontryagin(at.retune(law="averaged"), **still)
            best = at.retune(law=ANALYTIC[loss])
            controls[f"{ANALYTIC[loss]} {where} {loss}"] = Pontryagin(best, **still)
            controls[f"PMP {where} {loss}"] = Pontryagin(
                best, loss=loss, sweeps=trial.sweeps, tolerance=1e-3
            )
    return controls


def judge(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    control: Pontryagin,
    batch_size: int = 32,
) -> dict[str, Any]:
    """Answer rows under a control and count what it cost a token, sweep by sweep."""
    started = time.perf_counter()
    order = torch.tensor(label_order(model.config), device=input_device(model))
    right = np.zeros(len(rows), bool)
    curves, left, tokens = np.zeros(control.sweeps + 1), 0.0, 0
    for batch in batches(tokenizer, rows, batch_size, device=input_device(model)):
        solved = control.solve(model, batch.inputs)
        answers = solved.output.logits[:, order].argmax(-1).cpu()
        right[batch.indices] = (answers == batch.labels).numpy()
        costs = solved.descent.costs.double().sum(1).cpu().numpy()
        curves += np.pad(costs, (0, control.sweeps + 1 - len(costs)), "edge")
        left += float(solved.descent.left.sum())
        tokens += int(batch.inputs["attention_mask"].sum())
    return {
        "right": pack(right),
        "n": len(right),
        "costs": [round(float(cost), 6) for cost in curves / tokens],
        "left": round(left / len(rows), 6),
        "seconds": round(time.perf_counter() - started, 1),
    }


def _of(cells: Mapping[str, Mapping[str, Any]], field: str) -> dict[str, dict[str, Any]]:
    """One field of each cell; not of the shrunk law, whose loss would have other weights."""
    return {
        name: {key: cell[field] for key, cell in of.items()}
        for name, of in cells.items()
        if not name.startswith("shrunk")
    }
