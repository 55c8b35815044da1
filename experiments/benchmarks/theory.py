"""Cost of checking Theorem 1: time to verify random systems over time to draw them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pidlib.evaluation.results import configuration_hash, write_result
from pidlib.theory.gains import predicted_error
from pidlib.theory.riccati import riccati, rollout
from pidlib.theory.systems import LinearSystem, orthogonal_system

WIDEST, DEEPEST = 40, 25
DRAWN_AT_ONCE = 25  # systems of one size


class VerificationCost(NamedTuple):
    """Time to verify Theorem 1 on random systems, over the time to draw them."""

    systems: int
    errors: int
    ratio: float
    worst: float


def verification_cost(systems: int = 1000, rounds: int = 3, seed: int = 0) -> VerificationCost:
    """Draw random orthogonal systems, then verify Theorem 1 on each; time both.

    Drawing makes the layers and the carried subspaces. Verifying solves the matrix
    Riccati recursion with a cost of its own for every system, runs the clean and the
    controlled network, and compares all errors with the theorem.
    """
    if systems < 1 or rounds < 1:
        raise ValueError(f"{systems} systems, {rounds} rounds: give at least 1 of each")
    random = np.random.default_rng(seed)
    groups = -(-systems // DRAWN_AT_ONCE)
    sizes = [
        (int(random.integers(2, WIDEST + 1)), int(random.integers(1, DEEPEST + 1)))
        for _ in range(groups)
    ]
    ratios, worst, errors = [], 0.0, 0
    for _ in range(rounds):
        drawing = verifying = 0.0
        errors = 0
        for k, (d, T) in enumerate(sizes):
            rank = 1 + k % (d - 1)
            start = time.perf_counter()
            system = orthogonal_system(d, rank, T, seed + k, (DRAWN_AT_ONCE,))
            middle = time.perf_counter()
            gap = _gaps(system, random)
            verifying += time.perf_counter() - middle
            drawing += middle - start
            worst, errors = max(worst, float(gap.max())), errors + gap.size
        ratios.append(verifying / drawing)
    return VerificationCost(groups * DRAWN_AT_ONCE, errors, float(np.median(ratios)), worst)


def run_theory_benchmark(
    results: Path, quick: bool = False, report: Callable[[str], None] = print
) -> dict[str, Any]:
    """Measure `verification_cost` and write `bench-theory.json`."""
    start = time.perf_counter()
    systems, rounds = (50, 1) if quick else (1000, 5)
    cost = verification_cost(systems, rounds)
    report(
        f"theory: verifying {cost.systems} systems takes {cost.ratio:.2f} times drawing them; "
        f"largest difference {cost.worst:.0e}"
    )
    configuration = {
        "systems": systems,
        "rounds": rounds,
        "widest": WIDEST,
        "deepest": DEEPEST,
        "drawn_at_once": DRAWN_AT_ONCE,
    }
    drawn = {
        "name": "random orthogonal systems",
        "n": cost.systems,
        "sha256": configuration_hash(configuration),
    }
    return write_result(
        Path(results) / "bench-theory.json",
        command="python -m pidlib bench" + (" --quick" if quick else ""),
        configuration=configuration,
        data=drawn,
        model=drawn,
        seed=0,
        counts=cost._asdict(),
        seconds=time.perf_counter() - start,
    )


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
