"""What a fit has summed up so far: kept on disk, taken up again, merged over processes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from shutil import rmtree
from time import monotonic
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from pidlib.files import check_sha256, write_json, write_tensors
from pidlib.subspaces import Moments

CARD = "fit.json"
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

    def save(self, folder: Path, about: Mapping[str, Any]) -> None:
        """Keep the sums in a folder; the old ones stay until the new ones are whole.

        Parameters
        ----------
        folder : Path
        about : mapping
            What the fit depends on; `restore` refuses sums of another fit.

        Source: ours.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"sums-{self.batches}.safetensors"
        digest = write_tensors(file, {name: one.embedding.cpu() for name, one in self.own})
        card = {
            "of": dict(about),
            "file": file.name,
            "sha256": digest,
            "counts": self.counts,
            "tokens": {name: [one.tokens, one.examples] for name, one in self.own},
        }
        write_json(folder / CARD, card)
        for old in folder.glob("sums-*"):
            if old.name != file.name:
                old.unlink()

    @classmethod
    def restore(cls, folder: Path, about: Mapping[str, Any], terms: str = "PID") -> Accumulators:
        """Take up sums that were kept; none are there: begin with none.

        Raises
        ------
        ValueError
            Sums of another fit, or a changed file.

        Source: ours.
        """
        made, path = cls(terms), Path(folder) / CARD
        if not path.is_file():
            return made
        try:
            card = json.loads(path.read_text(encoding="utf-8"))
            of, file = card["of"], path.parent / card["file"]
            if file.parent != path.parent:
                raise LookupError(card["file"])
            changed = [k for k in {**of, **about} if of.get(k) != about.get(k)]
            if changed:
                told = "; ".join(f"{k}: {of.get(k)!r} there, {about.get(k)!r} now" for k in changed)
                raise ValueError(
                    f"{path.parent.name} holds an unfinished fit of another kind ({told})"
                )
            check_sha256(file, card["sha256"])
            sums = load_file(file)
            for name in made.counts:
                setattr(made, name, int(card["counts"][name]))
            if sums:
                depth = 1 + max(int(name.partition(".")[2]) for name in sums)
                made._begin(len(next(iter(sums.values()))), ["cpu"] * depth)
                for name, one in made.own:
                    one.embedding = sums[name]
                    one.tokens, one.examples = card["tokens"][name]
        except (
            TypeError,
            AttributeError,
            LookupError,
            ArithmeticError,
            RecursionError,
            UnicodeDecodeError,
            json.JSONDecodeError,
            SafetensorError,
        ) as error:
            raise ValueError(
                f"{path.parent.name} holds no unfinished fit that can be read ({error!r}); delete it"
            ) from None
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


class Checkpoint:
    """Where a fit keeps its sums now and then.

    Parameters
    ----------
    folder : path
        Of this fit alone. It may go once the controller is written.
    of : mapping
        What decides the batches, such as the hash of the text and the batch size: sums of
        other batches are refused.
    every : float
        Seconds between two writings, at least 0.

    Examples
    --------
    >>> Checkpoint("runs/fit", {"data": "..."}, every=-1)
    Traceback (most recent call last):
    ...
    ValueError: every is -1; give seconds, at least 0

    Source: ours.
    """

    def __init__(self, folder: str | Path, of: Mapping[str, Any], every: float = 20.0) -> None:
        if not every >= 0:
            raise ValueError(f"every is {every}; give seconds, at least 0")
        self.folder, self.every = Path(folder), every
        self._of, self._about, self._last = dict(of), {}, monotonic()

    def begin(self, about: Mapping[str, Any], terms: str) -> Accumulators:
        """Take up what was kept."""
        self._about = json.loads(json.dumps({**self._of, **about}))
        return Accumulators.restore(self.folder, self._about, terms)

    def keep(self, sums: Accumulators, last: bool = False) -> None:
        """Keep the sums, if it is time, or they are the last and some were kept before."""
        due = monotonic() - self._last >= self.every
        if due or last and (self.folder / CARD).is_file():
            sums.save(self.folder, self._about)
            self._last = monotonic()

    def clear(self) -> None:
        """Remove what was kept."""
        if (self.folder / CARD).is_file():
            rmtree(self.folder)


def after(stream: Iterable[_One], done: int) -> Iterator[_One]:
    """Leave out what was done already.

    Examples
    --------
    >>> list(after("abcd", 2))
    ['c', 'd']

    Source: ours.
    """
    return islice(iter(stream), done, None)
