"""What a controller costs: seconds and memory of the fit, time of the control."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from pidlib.batches import batches
from pidlib.controller import PIDController
from pidlib.data import fingerprint, load_nli
from pidlib.models import base_classifier, load_model
from pidlib.results import configuration_hash, write_result


@dataclass(frozen=True)
class FitCost:
    """Cost of one fit in a process of its own.

    Attributes
    ----------
    rows, tokens : int
        Rows given; real tokens used.
    seconds : float
        Wall time of the fit.
    peak_mb : float
        Largest resident memory of the process, in 2^20 bytes, model and text included.

    Source: ours.
    """

    rows: int
    tokens: int
    seconds: float
    peak_mb: float


@dataclass(frozen=True)
class Overhead:
    """Time with control over time without.

    Attributes
    ----------
    ratio : float
        Median over rounds of controlled time / base time.
    low, high : float
        95 % bootstrap interval of that median.
    bound : float
        Ratio of the floating-point operations, counted: what is unavoidable.
    base_seconds : float
        Median time of one round without control.
    rounds : int
    forms : tuple of str
        How each controlled state's product is computed.

    Source: Table 5.
    """

    ratio: float
    low: float
    high: float
    bound: float
    base_seconds: float
    rounds: int
    forms: tuple[str, ...]

    def __str__(self) -> str:
        """Ratio, interval and bound on one line."""
        return (
            f"controlled / base time {self.ratio:.3f} (95 % interval {self.low:.3f} to "
            f"{self.high:.3f}, {self.rounds} rounds); floating-point bound {self.bound:.3f}"
        )


def fit_cost(
    sizes: Sequence[int] = (500, 1000, 2000), name: str = "minilm-nli", data: str = "captions"
) -> list[FitCost]:
    """Fit on more and more rows, each time in a new process, and note time and memory.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of training rows.
    name, data : str
        See `load_model` (or "minilm", untrained) and `load_nli`.

    Returns
    -------
    list of FitCost

    Source: ours.
    """
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


def overhead(
    model: nn.Module,
    controller: PIDController,
    inputs: Sequence[Mapping[str, torch.Tensor]],
    rounds: int = 20,
    seed: int = 0,
) -> Overhead:
    """Time a model with and without control, turn about, in one process.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        In evaluation mode.
    controller : PIDController
    inputs : sequence of mappings
        Batches; one round runs all of them once without and once with control, in an
        order that changes from round to round.
    rounds : int
        At least 1; one more is run first and thrown away.
    seed : int
        Of the bootstrap.

    Returns
    -------
    Overhead

    Source: Table 5. Departure: interleaved and with an interval; the paper gives means.
    """
    if rounds < 1 or not inputs:
        raise ValueError(f"{rounds} rounds of {len(inputs)} batches: give at least 1 of each")

    def once() -> float:
        start = time.perf_counter()
        for batch in inputs:
            model(**batch)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter() - start

    def controlled() -> float:
        with controller.attached(model):
            return once()

    times = []
    with torch.inference_mode():
        for k in range(rounds + 1):
            pair = (once(), controlled()) if k % 2 else (controlled(), once())[::-1]
            times.append(pair)
        bound = operations(model, inputs, controller) / operations(model, inputs)
    base, on = np.array(times[1:]).T
    draws = np.random.default_rng(seed).integers(rounds, size=(4000, rounds))
    low, high = np.quantile(np.median((on / base)[draws], axis=1), [0.025, 0.975])
    forms = tuple(gain.form for kinds in controller.feedback.values() for gain in kinds.values())
    middle = float(np.median(on / base))
    return Overhead(middle, float(low), float(high), bound, float(np.median(base)), rounds, forms)


def control_cost(
    model: nn.Module,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    controller: PIDController,
    repeats: int = 20,
    batch_size: int = 32,
) -> Overhead:
    """Time the forward calls of rows of text with and without control; see `overhead`.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        In evaluation mode.
    tokenizer : transformers.PreTrainedTokenizerBase
    rows : sequence of mappings
        Keys `premise` and `hypothesis`, or `text`. Their tokens are made before the clock runs.
    controller : PIDController
    repeats : int
        Rounds, at least 1.
    batch_size : int

    Returns
    -------
    Overhead
        Prints as one line.

    Source: Table 5.
    """
    where = next(model.parameters()).device
    inputs = [batch.inputs for batch in batches(tokenizer, rows, batch_size, device=where)]
    return overhead(model, controller, inputs, repeats)


def operations(
    model: nn.Module,
    inputs: Sequence[Mapping[str, torch.Tensor]],
    controller: PIDController | None = None,
) -> int:
    """Count the floating-point operations of the products in forward calls.

    Parameters
    ----------
    model : torch.nn.Module
    inputs : sequence of mappings
    controller : PIDController, optional
        Attached while counting.

    Returns
    -------
    int

    Source: ours; counted by torch.
    """
    with FlopCounterMode(display=False) as counter:
        if controller is None:
            for batch in inputs:
                model(**batch)
        else:
            with controller.attached(model):
                for batch in inputs:
                    model(**batch)
    return counter.get_total_flops()


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
    """Measure fit, control and attack on captions and write `bench.json`.

    Parameters
    ----------
    results : Path
        Folder of result files.
    quick : bool
        Fewer rows and rounds, for a trial.
    report : callable (str) -> None
        Gets one line for each finished part.
    name : str
        See `load_model`; "minilm" is the embedded encoder with an untrained head.

    Returns
    -------
    dict
        The result file. Its `counts` holds `fits`, `controls` by setting, `control` (the
        default one, P-D at 99 %) and `attacks` by recipe.

    Source: Table 5; ours.
    """
    from pidlib.attack_benchmarks import attack_pace, compare_wrappers
    from pidlib.attacks import RECIPES

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
        counts["controls"][key] = {**asdict(taken), "text": str(taken)}
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
