"""What a fit has summed up so far: kept on disk, taken up again, merged over processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

import torch
from torch import Tensor

from pidlib.checkpoints import FOREIGN, Checkpoint
from pidlib.subspaces import Moments

_One = TypeVar("_One")


class Accumulators:
    """Second moments of every state and term, and how much text they hold.

    Parameters
    ----------
    terms : str
        Letters out of P, I, D; P is among them.

    Attributes
    ----------
    moments : dict of str to list of Moments
        By term and state; empty before the first batch with a row that counts.
    batches, rows, correct, truncated : int
        Batches and rows seen, rows that count, rows that were cut.

    Source: section 3.1, Algorithm 1.
    """

    def __init__(self, terms: str = "PID") -> None:
        self.terms = terms
        self.moments: dict[str, list[Moments]] = {}
        self.batches = self.rows = self.correct = self.truncated = 0

    def add(self, values: Sequence[Tensor], mask: Tensor) -> None:
        """Add the states (B, l, d) of a batch, x_0 to x_T; mask (B, l) is true where they count."""
        used = mask.any(1)
        self.correct += int(used.sum())
        if not used.any():
            return
        if not self.moments:
            self._begin(values[0].shape[-1], [x.device for x in values])
        past = last = None
        mask = mask[used]
        for t, state in enumerate(values):
            x = state[used.to(state.device)]
            mask = mask.to(x.device)
            self.moments["P"][t].update(x, mask)
            if t > 0 and "I" in self.moments:
                past = past.to(x.device) + x
                self.moments["I"][t].update(past, mask)
            if t > 0 and "D" in self.moments:
                self.moments["D"][t].update(x - last.to(x.device), mask)
            past, last = x if t == 0 else past, x

    def _begin(self, width: int, devices: Sequence[Any]) -> None:
        self.moments = {i: [Moments(width, device=d) for d in devices] for i in self.terms}
        for i in self.terms:  # one state has no past: D_0 = I_0 = x_0
            self.moments[i][0] = self.moments["P"][0]

    @property
    def own(self) -> Iterator[tuple[str, Moments]]:
        """Name and sums of each state and term, those that are shared once."""
        for term, states in self.moments.items():
            for t, one in enumerate(states):
                if t > 0 or term == "P":
                    yield f"{term}.{t}", one

    @property
    def counts(self) -> dict[str, int]:
        """Batches, rows, and rows by kind."""
        names = ("batches", "rows", "correct", "truncated")
        return {name: getattr(self, name) for name in names}

    @property
    def tokens(self) -> dict[str, list[int]]:
        """Tokens and examples behind each sum."""
        return {name: [one.tokens, one.examples] for name, one in self.own}

    def keep(self, checkpoint: Checkpoint, last: bool = False) -> None:
        """Keep the sums, if it is time, or they are the last and some were kept before.

        Parameters
        ----------
        checkpoint : Checkpoint
        last : bool

        Source: ours.
        """
        if checkpoint.due or last and checkpoint.begun:
            sums = {name: one.embedding.cpu() for name, one in self.own}
            checkpoint.keep(sums, self.batches, counts=self.counts, tokens=self.tokens)

    @classmethod
    def begin(cls, checkpoint: Checkpoint, about: Mapping[str, Any], terms: str) -> Accumulators:
        """Take up sums that were kept; none are there: begin with none.

        Parameters
        ----------
        checkpoint : Checkpoint
        about : mapping
            What the fit depends on besides its batches.
        terms : str

        Raises
        ------
        ValueError
            Sums of another fit, or a changed file.

        Source: ours.
        """
        made, kept = cls(terms), checkpoint.begin(about)
        if kept is None:
            return made
        try:
            sums, card = kept
            for name in made.counts:
                setattr(made, name, int(card["counts"][name]))
            if sums:
                depth = 1 + max(int(name.partition(".")[2]) for name in sums)
                made._begin(len(next(iter(sums.values()))), ["cpu"] * depth)
                for name, one in made.own:
                    one.embedding = sums[name]
                    one.tokens, one.examples = card["tokens"][name]
        except FOREIGN as error:
            raise checkpoint.unreadable(error) from None
        return made

    def all_reduce(self) -> None:
        """Add up the sums of all processes of a distributed run; each then has all.

        Notes
        -----
        Float64 sums in the order of the processes: the same for one number of processes, and
        for another to rounding.

        Source: ours.
        """
        from torch import distributed

        known = torch.tensor(
            [len(self.moments["P"]), self.moments["P"][0].width] if self.moments else [0, 0]
        )
        distributed.all_reduce(known, distributed.ReduceOp.MAX)
        if not self.moments and int(known[0]):  # no row of this process counted
            self._begin(int(known[1]), ["cpu"] * int(known[0]))
        for _, one in self.own:
            distributed.all_reduce(one.embedding)
            pair = torch.tensor([one.tokens, one.examples])
            distributed.all_reduce(pair)
            one.tokens, one.examples = pair.tolist()
        told = torch.tensor(list(self.counts.values()))
        distributed.all_reduce(told)
        self.batches, self.rows, self.correct, self.truncated = told.tolist()


def after(stream: Iterable[_One], done: int) -> Iterator[_One]:
    """Leave out what was done already.

    Examples
    --------
    >>> list(after("abcd", 2))
    ['c', 'd']

    Source: ours.
    """
    return islice(iter(stream), done, None)
