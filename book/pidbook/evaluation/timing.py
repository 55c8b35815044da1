"""What control costs: time and operations with it over those without."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from pidlib.controller import Controller
from pidlib.data.batches import batches
from pidlib.evaluation.accuracy import under


class Ratio(NamedTuple):
    """Time over the time without control, run beside it: a median, and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def measure(
    call: Callable[[], Any],
    contexts: Mapping[str, Callable[[], Any]],
    device: torch.device,
    rounds: int,
) -> dict[str, np.ndarray]:
    """Seconds (rounds,) of one call in several contexts, each round in another order, two run in vain."""
    if "base" not in contexts or rounds < 1:
        raise ValueError(f"{rounds} rounds of {list(contexts)}: give at least 1, and a 'base'")
    random, taken = np.random.default_rng(0), {name: [] for name in contexts}
    for _ in range(rounds + 2):
        for name in random.permutation(list(contexts)):
            with contexts[name]():
                taken[name].append(seconds_of(call, device))
    return {name: np.array(values[2:]) for name, values in taken.items()}


def seconds_of(call: Callable[[], Any], device: torch.device | None = None) -> float:
    """Seconds of a call, by the device's own events on a GPU."""
    if device is not None and device.type == "cuda":
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        call()
        last.record()
        torch.cuda.synchronize()
        return first.elapsed_time(last) / 1000
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def ratio(above: np.ndarray, below: np.ndarray) -> Ratio:
    """Median of the ratios of paired seconds (rounds,), with its 95 % bootstrap interval."""
    values = above / below
    draws = np.random.default_rng(0).integers(len(values), size=(4000, len(values)))
    low, high = np.quantile(np.median(values[draws], axis=1), [0.025, 0.975])
    return Ratio(float(np.median(values)), float(low), float(high))


def operations(
    model: nn.Module, inputs: Sequence[Mapping[str, Tensor]], controller: Controller | None = None
) -> int:
    """Count the floating-point operations of the products in forward calls."""
    counted = FlopCounterMode(display=False)
    with torch.inference_mode(), counted as counter, under(controller, model):
        for batch in inputs:
            model(**batch)
    return counter.get_total_flops()


class ControlCost(NamedTuple):
    """Time with control over time without, with its interval; `bound`: the ratio of the operations."""

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


def time_under_control(
    model: nn.Module,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    controller: Controller,
    repeats: int = 20,
    batch_size: int = 32,
) -> ControlCost:
    """Time the forward calls of rows of text with and without control, in one process.

    Parameters
    ----------
    model, tokenizer, rows, batch_size
        As for `predict`; tokens are made before the clock runs.
    controller : PIDController
    repeats : int, at least 1

    Returns
    -------
    ControlCost

    Source: Table 5. Departure: interleaved and with an interval.
    """
    device = next(model.parameters()).device
    inputs = [batch.inputs for batch in batches(tokenizer, rows, batch_size, device=device)]

    def call() -> None:
        with torch.inference_mode():
            for batch in inputs:
                model(**batch)

    contexts = {"base": nullcontext, "control": lambda: controller.attached(model)}
    taken = measure(call, contexts, device, repeats)
    bound = operations(model, inputs, controller) / operations(model, inputs)
    forms = tuple(gain.form for kinds in controller.feedback.values() for gain in kinds.values())
    return ControlCost(
        *ratio(taken["control"], taken["base"]),
        bound,
        float(np.median(taken["base"])),
        repeats,
        forms,
    )
