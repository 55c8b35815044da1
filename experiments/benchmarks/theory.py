"""Cost of checking Theorem 1: time to verify random systems over time to draw them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.experiment import Experiment, Report
from pidlib.theory.gains import predicted_error
from pidlib.theory.riccati import riccati, rollout
from pidlib.theory.systems import LinearSystem, orthogonal_system


class VerificationCost(NamedTuple):
    """Time to verify Theorem 1 on random systems, over the time to draw them."""

    systems: int
    errors: int
    ratio: float
    worst: float


@dataclass(frozen=True)
class TheoryBenchmark(Experiment):
    """Random orthogonal systems, `drawn_at_once` of one size, up to d = `widest`."""

    systems: int = 1000
    rounds: int = 5
    widest: int = 40
    deepest: int = 25
    drawn_at_once: int = 25

    name = "bench-theory"

    def __post_init__(self) -> None:
        if self.systems < 1 or self.rounds < 1:
            raise ValueError(
                f"{self.systems} systems, {self.rounds} rounds: give at least 1 of each"
            )

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Time the check and note the largest difference."""
        cost = self.measure()
        report(
            f"theory: verifying {cost.systems} systems takes {cost.ratio:.2f} times drawing them; "
            f"largest difference {cost.worst:.0e}"
        )
        drawn = {"name": "random orthogonal systems", "n": cost.systems}
        return {"data": drawn, "model": drawn, "counts": cost._asdict()}

    def measure(self, seed: int = 0) -> VerificationCost:
        """Draw random orthogonal systems, then verify Theorem 1 on each; time both.

        Drawing makes the layers and the carried subspaces. Verifying solves the matrix
        Riccati recursion with a cost of its own for every system, runs the clean and the
        controlled network, and compares all errors with the theorem.
        """
        random = np.random.default_rng(seed)
        groups = -(-self.systems // self.drawn_at_once)
        sizes = [
            (int(random.integers(2, self.widest + 1)), int(random.integers(1, self.deepest + 1)))
            for _ in range(groups)
        ]
        ratios, worst = [], 0.0
        for _ in range(self.rounds):
            drawing = verifying = 0.0
            errors = 0
            for k, (d, T) in enumerate(sizes):
                start = time.perf_counter()
                system = orthogonal_system(d, 1 + k % (d - 1), T, seed + k, (self.drawn_at_once,))
                middle = time.perf_counter()
                gap = _gaps(system, random)
                verifying += time.perf_counter() - middle
                drawing += middle - start
                worst, errors = max(worst, float(gap.max())), errors + gap.size
            ratios.append(verifying / drawing)
        ratio = float(np.median(ratios))
        return VerificationCost(groups * self.drawn_at_once, errors, ratio, worst)


def _gaps(system: LinearSystem, random: np.random.Generator) -> np.ndarray:
    """Difference of true and predicted squared error, (T + 1, n), as a share of the sizes."""
    n, Q = len(system.thetas), system.complements
    c = np.exp(random.uniform(-4, 6, n))
    feedback = riccati(system.thetas, Q[:, :-1], c[:, None]).K
    x0 = np.einsum("nij,nj->ni", system.bases[:, 0], random.standard_normal((n, system.r)))
    z = random.standard_normal((n, system.d))
    clean = rollout(system.thetas, np.zeros_like(feedback), x0).states
    error = rollout(system.thetas, feedback, x0 + z).states - clean
    size, off = (z**2).sum(-1), (np.einsum("nij,nj->ni", Q[:, 0], z) ** 2).sum(-1)
    predicted = np.stack(
        [
            predicted_error(on, out, system.T, cost)
            for on, out, cost in zip(size - off, off, c, strict=True)
        ],
        axis=1,
    )
    return np.abs((error**2).sum(-1) - predicted) / (size + (x0**2).sum(-1))
