"""What a fit costs: the bases of states from a stream against Algorithm 1 on all of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.experiment import Experiment, Report
from pidbook.evaluation.timing import ratio, seconds_of
from pidlib.theory.subspaces import Moments, hosvd, principal_angles


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
        report(f"bases from a stream: {cost['ratio']} times as fast as the stored SVD")
        sizes = {"n": self.n, "length": self.length, "d": self.d}
        return {
            "data": {"name": "random states", "n": self.n},
            "model": {"name": "none"},
            "counts": {**cost, "ratio": cost["ratio"]._asdict(), **sizes},
        }

    def measure(self) -> dict[str, Any]:
        """Draw states, find their bases both ways; seconds of each, their ratio, and how far apart."""
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
        taken = [[seconds_of(streamed), seconds_of(stored)] for _ in range(self.rounds)]
        gap = float(principal_angles(*bases).sin().max())
        cost = dict(zip(("streamed", "stored"), np.median(taken, axis=0).tolist(), strict=True))
        return cost | {"ratio": ratio(*np.transpose(taken)[::-1]), "gap": gap}
