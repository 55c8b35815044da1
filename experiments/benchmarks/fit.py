"""What a fit costs: the bases of states from a stream against Algorithm 1 on all of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from experiments.experiment import Experiment, Report
from pidlib.evaluation.timing import Ratio, ratio
from pidlib.theory.subspaces import Moments, hosvd, principal_angles


class FitRatio(NamedTuple):
    """Seconds of the bases of one state, two ways."""

    streamed: float
    stored: float
    ratio: Ratio
    gap: float


@dataclass(frozen=True)
class FitBenchmark(Experiment):
    """Bases of clean states (n, length, d), streamed and stored, turn about."""

    n: int = 1000
    length: int = 64
    d: int = 768
    rounds: int = 5

    name = "bench-fit"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Time both ways."""
        cost = self.measure()
        report(f"bases from a stream: {cost.ratio} times as fast as the stored SVD")
        sizes = {"n": self.n, "length": self.length, "d": self.d}
        return {
            "data": {"name": "random states", "n": self.n},
            "model": {"name": "none"},
            "counts": {**cost._asdict(), "ratio": cost.ratio._asdict(), **sizes},
        }

    def measure(self) -> FitRatio:
        """Draw states, find their bases both ways, and compare what was found."""
        draw = torch.Generator().manual_seed(0)
        turn = torch.linalg.qr(torch.randn(self.d, self.d, generator=draw)).Q
        states = torch.randn(self.n, self.length, self.d, generator=draw)
        states = (states / torch.arange(1, self.d + 1)) @ turn

        def streamed() -> torch.Tensor:
            moments = Moments(self.d, self.length)
            for part in states.split(32):
                moments.update(part)
            moments.subspace(0.99, "temporal")
            return moments.subspace(0.99).basis

        def stored() -> torch.Tensor:
            return hosvd(states, 0.99).bases[2]

        bases = [streamed(), stored()]
        seconds = np.zeros((2, self.rounds))
        for k in range(self.rounds):
            for row, way in enumerate((streamed, stored)):
                start = time.perf_counter()
                way()
                seconds[row, k] = time.perf_counter() - start
        gap = float(principal_angles(*bases).sin().max())
        return FitRatio(*np.median(seconds, axis=1).tolist(), ratio(seconds[1], seconds[0]), gap)
