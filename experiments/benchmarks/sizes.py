"""What control costs at the paper's sizes: base, controlled, a naive control, and PMP."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from experiments.experiment import Experiment, Report
from pidbook.evaluation.sizes import ARCHITECTURES, RANKS, TOKENS, SizeCost, random_model, size_cost
from pidbook.evaluation.timing import Ratio


@dataclass(frozen=True)
class SizesBenchmark(Experiment):
    """Architectures with random weights, one row at a time and `batch` rows."""

    names: tuple[str, ...] = tuple(ARCHITECTURES)
    batch: int = 32  # OPT, which is large: at most 8
    tokens: int = TOKENS
    rounds: int | None = None  # by default as many as a model's speed allows
    sweeps: int = 2

    name = "bench-cost"

    @property
    def configuration(self) -> dict[str, Any]:
        """The settings, and what else was timed."""
        return super().configuration | {"ranks": RANKS, "dtype": "float32"}

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Time every architecture, on a graphics card where there is one."""
        device = "cuda" if torch.cuda.is_available() else "cpu"
        cells = []
        for name in self.names:
            torch.manual_seed(0)
            model = random_model(name).to(device)
            large = min(self.batch, 8) if name == "OPT-1.3B" else self.batch
            for layers in ("published", "all"):
                for batch in (1, large):
                    sweeps = self.sweeps if layers == "published" and batch > 1 else None
                    cell = size_cost(model, name, layers, batch, self.rounds, sweeps, self.tokens)
                    cells.append(_plain(cell))
                    report(_line(cell))
            del model
            gc.collect()
        return {
            "data": {"name": "random tokens", "n": 0},
            "model": {"name": "random weights"},
            "counts": {
                "sizes": cells,
                "device": torch.cuda.get_device_name() if device == "cuda" else "CPU",
            },
        }


def _plain(cell: SizeCost) -> dict[str, Any]:
    """A cell as JSON can hold it."""
    plain = {
        key: value._asdict() if isinstance(value, Ratio) else value
        for key, value in cell._asdict().items()
    }
    return {**plain, "excess": cell.excess, "per_sweep": cell.per_sweep}


def _line(cell: SizeCost) -> str:
    return (
        f"{cell.model}, {cell.layers} layers, batch {cell.batch}: base {cell.base_seconds:.2f} s, "
        f"ours {cell.ours}, naive {cell.naive}, bound {cell.bound:.3f}; "
        f"P {cell.thin}, bound {cell.thin_bound:.3f}" + (f"; PMP {cell.pmp}" if cell.pmp else "")
    )
