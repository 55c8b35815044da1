"""What a controller costs: seconds and memory of the fit, time of the control."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.results import configuration_hash, write_result
from pidlib.evaluation.timing import control_cost
from pidlib.models import base_classifier, load_model
from pidlib.pid import PIDController


@dataclass(frozen=True)
class FitCost:
    """Cost of one fit in a process of its own."""

    rows: int
    tokens: int
    seconds: float
    peak_mb: float


def fit_cost(
    sizes: Sequence[int] = (500, 1000, 2000), name: str = "minilm-nli", data: str = "captions"
) -> list[FitCost]:
    """Fit on more and more rows, each time in a new process, and note time and memory."""
    costs = []
    for size in sizes:
        # `spawn`: a forked child would start with the parent's memory
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            threads = torch.get_num_threads()
            costs.append(pool.submit(_one_fit, size, name, data, threads).result())
    return costs


def _one_fit(size: int, name: str, data: str, threads: int) -> FitCost:
    import resource
    import sys

    torch.set_num_threads(threads)
    model, tokenizer = _model(name)
    rows = load_nli(data, n=size)
    start = time.perf_counter()
    controller = PIDController.fit(model, tokenizer, rows, correct_only=name != "minilm")
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return FitCost(size, controller.bases.origin.tokens, seconds, peak / unit)


def _model(name: str) -> Any:
    return base_classifier() if name == "minilm" else load_model(name)


SETTINGS: dict[str, dict[str, Any]] = {
    "P 99 %": {"scheme": "P"},
    "P-D 99 %": {"scheme": "P-D"},
    "P-I-D 99 %": {"scheme": "P-I-D"},
    "P-D 95 %": {"scheme": "P-D", "variance": 0.95},
    "P-D 99 %, residual": {"scheme": "P-D", "law": "residual"},
}
"""Controllers whose time is measured: all states of the model, c = 0.001."""


def run_benchmarks(
    results: Path,
    quick: bool = False,
    report: Callable[[str], None] = print,
    name: str = "minilm-nli",
) -> dict[str, Any]:
    """Measure fit, control and attack on captions and write `bench.json`."""
    from experiments.benchmarks.attacks import attack_pace, compare_wrappers
    from pidlib.attacks.attack import RECIPES

    start = time.perf_counter()
    sizes, rounds, pairs = ((250, 500), 5, 3) if quick else ((500, 1000, 2000), 25, 10)
    counts: dict[str, Any] = {"fits": [], "controls": {}}
    for cost in fit_cost(sizes, name):
        counts["fits"].append(asdict(cost))
        report(f"fit on {cost.rows} pairs: {cost.seconds:.1f} s, peak {cost.peak_mb:.0f} MB")
    model, tokenizer = _model(name)
    rows = load_nli("captions", n=sizes[-1])
    controller = PIDController.fit(model, tokenizer, rows, correct_only=name != "minilm")
    texts = load_nli("captions", split="test", n=128)
    for key, change in SETTINGS.items():
        taken = control_cost(model, tokenizer, texts, controller.retune(**change), rounds)
        counts["controls"][key] = {**taken._asdict(), "text": str(taken)}
        report(f"{key}: {taken}")
    counts["control"] = counts["controls"]["P-D 99 %"]
    counts["attacks"] = {}
    for recipe in RECIPES:
        pace = attack_pace(model, tokenizer, list(texts)[: 4 * pairs], recipe)
        told = {"pace": pace._asdict()}
        if recipe != "a2t":  # stock gradients come with dropout, so outcomes differ
            trial = compare_wrappers(model, tokenizer, list(texts)[:pairs], recipe)
            told |= {**trial._asdict(), "ratio": trial.ratio, "throughput": trial.throughput}
            report(
                f"{recipe}: {trial.throughput:.1f} times the examples a second of the stock "
                f"wrapper, same outcomes: {trial.same}"
            )
        counts["attacks"][recipe] = told
        report(
            f"{recipe}: {pace.examples:.1f} examples a second, {pace.networks:.0%} of the time "
            "inside the networks"
        )
    return write_result(
        Path(results) / "bench.json",
        command="python -m pidlib bench" + (" --quick" if quick else ""),
        configuration={"sizes": sizes, "rounds": rounds, "settings": SETTINGS, "pairs": pairs},
        data={"name": "captions", "n": len(texts), "sha256": fingerprint(texts)},
        model={
            "name": name,
            "sha256": configuration_hash({"blocks": controller.bases.origin.blocks}),
        },
        seed=0,
        counts=counts,
        seconds=time.perf_counter() - start,
    )
