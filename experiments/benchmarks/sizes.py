"""What control costs at the paper's sizes: base, controlled, a naive control, and PMP."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from pidlib.evaluation.results import configuration_hash, write_result
from pidlib.evaluation.sizes import (
    ARCHITECTURES,
    RANKS,
    TOKENS,
    SizeCost,
    random_model,
    size_cost,
)
from pidlib.evaluation.timing import Ratio


def run_cost_benchmark(
    results: Path,
    quick: bool = False,
    report: Callable[[str], None] = print,
    device: str | None = None,
    names: Sequence[str] = tuple(ARCHITECTURES),
) -> dict[str, Any]:
    """Time every architecture and write `bench-cost.json`."""
    started = time.perf_counter()
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    cells = []
    for name in names[:1] if quick else names:
        torch.manual_seed(0)
        model = random_model(name).to(device)
        large = 8 if name == "OPT" else 32
        for layers in ("published", "all"):
            for batch in (1, 2) if quick else (1, large):
                sweeps = 2 if layers == "published" and batch > 1 else None
                cell = size_cost(model, name, layers, batch, 2 if quick else None, sweeps)
                cells.append(_plain(cell))
                report(
                    f"{name}, {layers} layers, batch {batch}: base {cell.base_seconds:.2f} s, "
                    f"ours {cell.ours}, naive {cell.naive}, bound {cell.bound:.3f}; "
                    f"P {cell.thin}, bound {cell.thin_bound:.3f}"
                    + (f"; PMP {cell.pmp}" if cell.pmp else "")
                )
        del model
        gc.collect()
    about = {"ranks": RANKS, "tokens": TOKENS, "quick": quick, "names": list(names)}
    about |= {"threads": torch.get_num_threads(), "dtype": "float32"}
    return write_result(
        Path(results) / "bench-cost.json",
        command="python -m pidlib bench --sizes" + (" --quick" if quick else ""),
        configuration=about,
        data={"name": "random tokens", "n": 0, "sha256": configuration_hash(about)},
        model={"name": "random weights", "sha256": configuration_hash({"architectures": names})},
        seed=0,
        counts={"sizes": cells, "device": _told(device)},
        seconds=time.perf_counter() - started,
    )


def _plain(cell: SizeCost) -> dict[str, Any]:
    """A cell as JSON can hold it."""
    plain = {
        key: value._asdict() if isinstance(value, Ratio) else value
        for key, value in cell._asdict().items()
    }
    return {**plain, "excess": cell.excess, "per_sweep": cell.per_sweep}


def _told(device: str) -> str:
    return torch.cuda.get_device_name() if device.startswith("cuda") else "CPU"
