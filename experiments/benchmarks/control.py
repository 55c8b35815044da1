"""What a controller costs: seconds and memory of the fit, time of the control and of attacks."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from experiments.benchmarks.attacks import attack_pace, compare_wrappers
from experiments.benchmarks.scale import peak_mb
from experiments.experiment import Experiment, Report
from pidbook.evaluation.results import configuration_hash
from pidbook.evaluation.timing import control_cost
from pidlib.attacks.attack import RECIPES
from pidlib.data.nli import fingerprint, load_nli
from pidlib.models import load_model
from pidlib.pid import PIDController

MODEL = "minilm-nli"
SETTINGS: dict[str, dict[str, Any]] = {
    "P 99 %": {"scheme": "P"},
    "P-D 99 %": {"scheme": "P-D"},
    "P-I-D 99 %": {"scheme": "P-I-D"},
    "P-D 95 %": {"scheme": "P-D", "variance": 0.95},
    "P-D 99 %, residual": {"scheme": "P-D", "law": "residual"},
}
"""Controllers whose time is measured: all states of the model, c = 0.001."""


@dataclass(frozen=True)
class ControlBenchmark(Experiment):
    """Fits of some sizes, controllers on 128 captions, and attacks on few of them."""

    sizes: tuple[int, ...] = (500, 1000, 2000)
    rounds: int = 25
    settings: dict[str, dict[str, str | float]] = field(default_factory=lambda: SETTINGS)
    pairs: int = 10

    name = "bench"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Measure fit, control and attack on captions."""
        fits = []
        for size in self.sizes:
            fits.append(fit_cost(size))
            report(f"a fit: {fits[-1]}")
        model, tokenizer = load_model(MODEL)
        rows = load_nli("captions", n=self.sizes[-1])
        controller = PIDController.fit(model, tokenizer, rows, terms="PID")
        texts = load_nli("captions", split="test", n=128)
        controls = {}
        for key, change in self.settings.items():
            cost = control_cost(model, tokenizer, texts, controller.retune(**change), self.rounds)
            controls[key] = {**cost._asdict(), "text": str(cost)}
            report(f"{key}: {cost}")
        return {
            "data": {"name": "captions", "n": len(texts), "sha256": fingerprint(texts)},
            "model": {
                "name": MODEL,
                "sha256": configuration_hash({"blocks": controller.bases.origin.blocks}),
            },
            "counts": {
                "fits": fits,
                "controls": controls,
                "control": controls["P-D 99 %"],
                "attacks": {r: self._attack(model, tokenizer, texts, r, report) for r in RECIPES},
            },
        }

    def _attack(
        self, model: Any, tokenizer: Any, texts: Any, recipe: str, report: Report
    ) -> dict[str, Any]:
        """Pace of an attack, and of the same attacks through TextAttack's own wrapper."""
        pace = attack_pace(model, tokenizer, list(texts)[: 4 * self.pairs], recipe)
        report(
            f"{recipe}: {pace.examples:.1f} examples a second, {pace.networks:.0%} of the time "
            "inside the networks"
        )
        if recipe == "a2t":  # stock gradients come with dropout, so outcomes differ
            return {"pace": pace._asdict()}
        trial = compare_wrappers(model, tokenizer, list(texts)[: self.pairs], recipe)
        report(
            f"{recipe}: {trial.throughput:.1f} times the examples a second of the stock wrapper, "
            f"same outcomes: {trial.same}"
        )
        compared = {**trial._asdict(), "ratio": trial.ratio, "throughput": trial.throughput}
        return {"pace": pace._asdict(), **compared}


def fit_cost(rows: int) -> dict[str, Any]:
    """Fit in a new process, and note time and memory."""
    # `spawn`: a forked child would start with the parent's memory
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_one_fit, rows, torch.get_num_threads()).result()


def _one_fit(size: int, threads: int) -> dict[str, Any]:
    torch.set_num_threads(threads)
    model, tokenizer = load_model(MODEL)
    rows = load_nli("captions", n=size)
    start = time.perf_counter()
    controller = PIDController.fit(model, tokenizer, rows)
    seconds = time.perf_counter() - start
    tokens = controller.bases.origin.tokens
    return {"rows": size, "tokens": tokens, "seconds": seconds, "peak_mb": peak_mb()}
