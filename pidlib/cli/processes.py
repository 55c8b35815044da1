"""Several processes on one job: which share is mine, and how results come together.

Started by `accelerate launch --multi_gpu -m pidlib ...`, with graphics cards or without; else
there is one process, and nothing here does anything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pidlib.attacks.outcomes import read_outcomes
from pidlib.io.files import whole


@dataclass(frozen=True)
class Processes:
    """The processes of one job, seen from one of them."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes what all found."""
        return self.rank == 0

    def share(self, items: Iterable[Any]) -> Iterator[Any]:
        """Every `count`-th item, from the `rank`-th on."""
        return islice(items, self.rank, None, self.count)

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.count > 1:
            torch.distributed.barrier()

    def together(self, bits: np.ndarray, places: Sequence[int], n: int) -> np.ndarray:
        """Bits of all processes in one array."""
        whole = torch.zeros(n, dtype=torch.int64)
        whole[list(places)] = torch.from_numpy(np.asarray(bits, dtype=np.int64))
        if self.count > 1:
            torch.distributed.all_reduce(whole)
        return whole.numpy().astype(bool)


def processes() -> Processes:
    """Return the processes of this job; joins them where `accelerate launch` made several."""
    state = _state()
    return Processes(state.process_index, state.num_processes) if state else Processes()


def device() -> Any:
    """The device of this process: its own graphics card, the only one, or the processor."""
    state = _state()
    if state:
        return state.device
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _state() -> Any:
    """Accelerate's state, or None in a process of its own."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    from accelerate import PartialState

    return PartialState(cpu=not torch.cuda.is_available())


def part_of(log: str | Path, team: Processes) -> Path:
    """Name of the log of one process."""
    return Path(log).with_name(f"{Path(log).name}.{team.rank}-of-{team.count}")


def begin_part(log: str | Path, part: Path, ids: Sequence[int]) -> None:
    """Begin the log of one process with an earlier run's outcomes; one that is there stays."""
    if not part.is_file() and Path(log).is_file():
        wanted = set(ids)
        _write(part, log, [o.as_json() for o in read_outcomes(log).outcomes if o.id in wanted])


def merge_parts(log: str | Path, count: int) -> None:
    """Put the outcomes of all processes into one log, by row, and remove the parts."""
    parts = [part_of(log, Processes(k, count)) for k in range(count)]
    parts = [part for part in parts if part.is_file()]
    configuration = read_outcomes(parts[0]).header["configuration"]
    outcomes = {}
    for path in [p for p in (Path(log), *parts) if p.is_file()]:
        file = read_outcomes(path)
        if file.header["configuration"] != configuration:
            raise ValueError(f"{path.name} is of another attack than {parts[0].name}")
        outcomes |= {o.id: o for o in file.outcomes}
    _write(Path(log), parts[0], [outcomes[k].as_json() for k in sorted(outcomes)])
    for part in parts:
        part.unlink()


def _write(path: Path, like: str | Path, lines: Sequence[str]) -> None:
    """Write a log with the header of another, whole or not at all."""
    header = json.dumps(read_outcomes(like).header, ensure_ascii=False)
    with whole(path) as partial:
        partial.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
