"""What control costs: time and operations with it over those without."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from pidlib.controller import Controller
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
