"""What a fit costs: the bases of states from a stream against Algorithm 1 on all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from pidlib.evaluation.results import configuration_hash, write_result
from pidlib.evaluation.timing import Ratio, ratio
from pidlib.theory.subspaces import Moments, hosvd, principal_angles

N, LENGTH, WIDTH = 1000, 64, 768


class FitRatio(NamedTuple):
    """Seconds of the bases of one state, two ways."""

    streamed: float
    stored: float
    ratio: Ratio
    gap: float


def fit_ratio(n: int = N, length: int = LENGTH, d: int = WIDTH, rounds: int = 5) -> FitRatio:
    """Time the bases of clean states, streamed and stored, turn about."""
    draw = torch.Generator().manual_seed(0)
    turn = torch.linalg.qr(torch.randn(d, d, generator=draw)).Q
    states = (torch.randn(n, length, d, generator=draw) / torch.arange(1, d + 1)) @ turn

    def streamed() -> torch.Tensor:
        moments = Moments(d, length)
        for part in states.split(32):
            moments.update(part)
        moments.subspace(0.99, "temporal")
        return moments.subspace(0.99).basis

    def stored() -> torch.Tensor:
        return hosvd(states, 0.99).bases[2]

    bases = [streamed()]
    taken = np.zeros((2, rounds))
    for k in range(rounds):
        for row, way in enumerate((streamed, stored)):
            start = time.perf_counter()
            basis = way()
            taken[row, k] = time.perf_counter() - start
        bases[1:] = [basis]
    gap = float(principal_angles(*bases).sin().max())
    ours, theirs = np.median(taken, axis=1)
    return FitRatio(float(ours), float(theirs), ratio(taken[1], taken[0]), gap)


def run_fit_benchmark(
    results: Path, quick: bool = False, report: Callable[[str], None] = print
) -> dict[str, Any]:
    """Time it and write `bench-fit.json`."""
    started = time.perf_counter()
    sizes = {"n": 50, "length": 16, "d": 64} if quick else {"n": N, "length": LENGTH, "d": WIDTH}
    about = {**sizes, "rounds": 2 if quick else 5, "threads": torch.get_num_threads()}
    found = fit_ratio(**sizes, rounds=about["rounds"])
    report(f"bases from a stream: {found.ratio} times as fast as the stored SVD")
    counts = {**found._asdict(), "ratio": found.ratio._asdict(), **sizes}
    return write_result(
        Path(results) / "bench-fit.json",
        command="python -m pidlib bench --fit" + (" --quick" if quick else ""),
        configuration=about,
        data={"name": "random states", "n": sizes["n"], "sha256": configuration_hash(about)},
        model={"name": "none", "sha256": configuration_hash({})},
        seed=0,
        counts=counts,
        seconds=time.perf_counter() - started,
    )
