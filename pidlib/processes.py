"""Several processes on one job: which share is mine, and how results come together.

Started by `accelerate launch --multi_gpu -m pidlib ...`, with graphics cards or without; else
there is one process, and nothing here does anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import torch

_One = TypeVar("_One")


@dataclass(frozen=True)
class Processes:
    """The processes of one job, seen from one of them.

    Attributes
    ----------
    rank, count : int
        Which this is, from 0, and how many there are.

    Examples
    --------
    >>> list(Processes(1, 3).share("abcdefg"))
    ['b', 'e']

    Source: ours.
    """

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes what all found."""
        return self.rank == 0

    def share(self, items: Iterable[_One]) -> Iterator[_One]:
        """Every `count`-th item, from the `rank`-th on."""
        return islice(iter(items), self.rank, None, self.count)

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.count > 1:
            torch.distributed.barrier()

    def together(self, bits: np.ndarray, places: Sequence[int], n: int) -> np.ndarray:
        """Bits of all processes in one array.

        Parameters
        ----------
        bits : (k,) bool array
            Of this process.
        places : sequence of k ints
            Where they belong.
        n : int

        Returns
        -------
        (n,) bool array
        """
        whole = torch.zeros(n, dtype=torch.int64)
        whole[list(places)] = torch.from_numpy(np.asarray(bits, dtype=np.int64))
        if self.count > 1:
            torch.distributed.all_reduce(whole)
        return whole.numpy().astype(bool)


def processes() -> Processes:
    """Return the processes of this job; joins them where `accelerate launch` made several.

    Source: ours; accelerate's PartialState.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return Processes()
    from accelerate import PartialState

    state = PartialState(cpu=not torch.cuda.is_available())
    return Processes(state.process_index, state.num_processes)


def device() -> Any:
    """The device of this process: its own graphics card, the only one, or the processor.

    Source: ours.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        from accelerate import PartialState

        return PartialState(cpu=not torch.cuda.is_available()).device
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
