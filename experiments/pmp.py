"""Recorded comparison of the analytic controls with the optimal ones, on attacked rows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from experiments.record import fit_rows, pack, stored_rows, unpack
from pidlib.attacks.attack import RECIPES
from pidlib.data.batches import batches, input_device
from pidlib.data.labels import label_order
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.results import write_result
from pidlib.io.files import write_json
from pidlib.laws import parse_gains
from pidlib.models import BASE, BASE_SHA256, load_model, training_record
from pidlib.pid import PIDController
from pidlib.pontryagin import LOSSES, Pontryagin

THRESHOLDS = (0.99, 0.95, 0.90, 0.85)
PUBLISHED_SHARE = 0.72  # of the analytic control: what three steps of the published solver leave
ANALYTIC = {"relaxed": "exact-gain", "running": "residual"}  # the law made for each loss


class Judged(NamedTuple):
    """Answers and costs of one control on one set."""

    right: np.ndarray
    costs: np.ndarray
    left: float


@dataclass(frozen=True)
class OptimaTrial:
    """One model on attacked rows of one data set, under analytic and optimal controls."""

    data: str = "snli-test"
    model: str = "minilm-nli"
    n: int = 300
    sweeps: int = 20
    scheme: str = "PD"
    thresholds: tuple[float, ...] = THRESHOLDS
    c: float = 1e-3
    fitted_on: int = 2000

    @property
    def name(self) -> str:
        """Stem of the result file."""
        return f"pmp-{self.data}-{self.model}"

    @property
    def command(self) -> str:
        """What to type to run it again."""
        return (
            f"python -m pidlib reproduce pmp --data {self.data} --model {self.model} "
            f"--n {self.n} --sweeps {self.sweeps}"
        )


def conditions(fitted: PIDController, trial: OptimaTrial) -> dict[str, Pontryagin]:
    """Every control that is compared; those that are not optimised take no sweep."""
    made = {}
    for variance in trial.thresholds:
        at = fitted.retune(scheme=trial.scheme, variance=variance, c=trial.c)
        where = f"{100 * variance:g}"
        share = {
            term: g * PUBLISHED_SHARE for term, g in parse_gains(trial.scheme, at.gains).items()
        }
        made[f"shrunk {where} relaxed"] = Pontryagin(
            at.retune(law="averaged", gains=share), sweeps=0
        )
        for loss in LOSSES:
            still = {"loss": loss, "sweeps": 0}
            made[f"none {where} {loss}"] = Pontryagin(at, warm=False, **still)
            made[f"averaged {where} {loss}"] = Pontryagin(at.retune(law="averaged"), **still)
            best = at.retune(law=ANALYTIC[loss])
            made[f"{ANALYTIC[loss]} {where} {loss}"] = Pontryagin(best, **still)
            made[f"PMP {where} {loss}"] = Pontryagin(
                best, loss=loss, sweeps=trial.sweeps, tolerance=1e-3
            )
    return made


def judge(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    control: Pontryagin,
    batch_size: int = 32,
) -> Judged:
    """Answer rows under a control and count what it cost."""
    order = torch.tensor(label_order(model.config), device=input_device(model))
    right = np.zeros(len(rows), bool)
    curves, left, tokens = np.zeros(control.sweeps + 1), 0.0, 0
    for batch in batches(tokenizer, rows, batch_size, device=input_device(model)):
        solved = control.solve(model, batch.inputs)
        answers = solved.output.logits[:, order].argmax(-1).cpu()
        right[batch.indices] = (answers == batch.labels).numpy()
        seen = solved.descent.costs.double().sum(1).cpu().numpy()
        curves += np.concatenate([seen, np.repeat(seen[-1], control.sweeps + 1 - len(seen))])
        left += float(solved.descent.left.sum())
        tokens += int(batch.inputs["attention_mask"].sum())
    return Judged(right, curves / tokens, left / len(rows))


def run_optima(
    trial: OptimaTrial, results: Path, runs: Path, report: Callable[[str], None] = print
) -> dict[str, Any]:
    """Judge every control on clean and attacked rows and write one result file.

    A broken-off run goes on where it stopped: finished cells are kept in `runs`.
    """
    split = "test" if trial.data == "captions" else None
    rows = load_nli(trial.data, split=split)
    stored = {r: stored_rows(rows, trial.data, r, results, trial.model) for r in RECIPES}
    sizes = {"clean": len(rows)} | {key: len(found) for key, found in stored.items()}
    if not 1 <= trial.n <= min(sizes.values()):
        raise ValueError(
            f"n is {trial.n} and the recorded sets hold {sizes}: take from 1 to "
            f"{min(sizes.values())}, so that all are of one size"
        )
    sets = {"clean": rows.select(range(trial.n))}
    sets |= {key: found[: trial.n] for key, found in stored.items()}
    model, tokenizer = load_model(trial.model)
    fitted = PIDController.fit(
        model, tokenizer, fit_rows(trial.data, trial.fitted_on), scheme="PID", c=trial.c
    )
    weights = training_record(trial.model)["adapter"]["sha256"]
    cells, seconds = {}, 0.0
    made = conditions(fitted, trial)
    for name in list(made):
        control = made.pop(name)  # its matrices go with it
        for key, chosen in sets.items():
            at = control.controller
            cell = {"control": at.summary(), "gains": parse_gains(at.scheme, at.gains)}
            cell |= {"layers": list(at.controlled), "solver": _solver(control)}
            want = {"weights": weights, "rows": fingerprint(chosen), **cell}
            place = runs / trial.name / f"{name} {key}.json"
            kept = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else None
            if kept is None or kept["of"] != want:
                started = time.perf_counter()
                found = judge(model, tokenizer, chosen, control)
                kept = {
                    "of": want,
                    "right": pack(found.right),
                    "n": len(found.right),
                    "costs": [round(float(v), 6) for v in found.costs],
                    "left": round(found.left, 6),
                    "seconds": round(time.perf_counter() - started, 1),
                }
                write_json(place, kept)
                report(
                    f"{name} {key}: right {found.right.mean():.3f}, cost {found.costs[-1]:.4f}, "
                    f"{kept['seconds']} s"
                )
            cells.setdefault(name, {})[key] = kept
            seconds += kept["seconds"]
    return write_result(
        results / f"{trial.name}.json",
        command=trial.command,
        configuration=json.loads(json.dumps(asdict(trial))),
        data={"name": trial.data, "n": trial.n, "sha256": fingerprint(sets["clean"])},
        model={
            "name": trial.model,
            "sha256": weights,
            "base": {"name": BASE, "sha256": BASE_SHA256},
        },
        seed=0,
        counts={
            name: {
                key: {"right": int(unpack(one["right"], one["n"]).sum()), "n": one["n"]}
                for key, one in of.items()
            }
            for name, of in cells.items()
        },
        costs=_of(cells, "costs"),
        left=_of(cells, "left"),
        examples={
            name: {key: one["right"] for key, one in of.items()} for name, of in cells.items()
        },
        seconds=seconds,
    )


def _solver(control: Pontryagin) -> dict[str, Any]:
    return {field.name: getattr(control, field.name) for field in fields(control)[1:]}


def _of(cells: Mapping[str, Mapping[str, Any]], field: str) -> dict[str, dict[str, Any]]:
    """One field of each cell; not of the shrunk law, whose loss would have other weights."""
    return {
        name: {key: one[field] for key, one in of.items()}
        for name, of in cells.items()
        if not name.startswith("shrunk")
    }
