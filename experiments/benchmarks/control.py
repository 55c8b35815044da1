"""What a controller costs: seconds and memory of the fit, and time of the control."""

from __future__ import annotations

import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from experiments.experiment import Experiment, Report
from pidbook.evaluation.results import configuration_hash
from pidbook.evaluation.timing import time_under_control
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
    """Fits of some sizes, and controllers on 128 captions."""

    sizes: tuple[int, ...] = (500, 1000, 2000)
    rounds: int = 25
    settings: dict[str, dict[str, str | float]] = field(default_factory=lambda: SETTINGS)

    name = "bench"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Measure fit and control on captions."""
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
            cost = time_under_control(
                model, tokenizer, texts, controller.retune(**change), self.rounds
            )
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
            },
        }


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


def peak_mb() -> float:
    """Most memory that this process has held, in MB of 2^20 bytes."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)
