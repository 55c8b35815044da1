"""A feedback against what a swap of words moves: word by word, or what all these words share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from pidlib.controller import _replaced, free_blocks
from pidlib.data.alignment import paired_units
from pidlib.data.batches import input_device
from pidlib.data.edits import Edit, rebuild
from pidlib.data.rows import as_rows
from pidlib.estimation.layerwise import state_of, text_lengths
from pidlib.hooks import Blocks, Control, find_blocks, read_states

PLACES = ("all", "marked", "shared", "agreed")
_MARK = 2  # directions of x_0 that tell whether a word is one of those that the swap changes

Swap = Callable[[Mapping[str, Any]], Sequence[Edit]]


class PairedStates(NamedTuple):
    """Word states of some rows as they are and swapped, [(U, d)] by t, and which words changed (U,)."""

    before: list[Tensor]
    after: list[Tensor]
    changed: Tensor


def paired_states(
    model: nn.Module | Blocks,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    swap: Swap,
    last: int | None = None,
    batch_size: int = 64,
) -> Iterator[PairedStates]:
    """Read the states of words up to x_last before and after a swap, in double precision."""
    blocks = model if isinstance(model, Blocks) else free_blocks(model)
    rows = [rows[int(k)] for k in text_lengths(rows).argsort(kind="stable")]  # little padding
    for start in range(0, len(rows), batch_size):
        part = rows[start : start + batch_size]
        edits = [swap(row) for row in part]
        swapped = [rebuild(row, of) for row, of in zip(part, edits, strict=True)]
        device = input_device(blocks.model)
        pair = paired_units(tokenizer, part, edits, swapped, device)
        with torch.inference_mode():
            values = [
                [state_of(blocks, units.inputs, 0, {})]  # the blocks need not run
                if last == 0
                else read_states(blocks.model, units.inputs, blocks).values
                for units in pair
            ]
        whole = pair[0].whole & pair[1].whole
        before, after = (
            [units.means(x)[whole].cpu() for x in of]
            for units, of in zip(pair, values, strict=True)
        )
        changed = (after[0] - before[0]).norm(dim=1) > 1e-3 * before[0].norm(dim=1)
        yield PairedStates(before, after, changed)


@dataclass(frozen=True, eq=False)
class SwapFeedback:
    """Proportional feedback against the directions that a swap of words moves.

    With U_t (d, r) the strongest directions of the differences that the swap makes in x_t, and
    m_t the mean of the states of swapped words, the deviation of token j is
    c_t[j] = U_t^T (x_t[j] - m_t). The control is

        u_t[j] = -gain U_t c_t[j]                       places "all", "marked" or "agreed"
        u_t[j] = -gain U_t mean over marked i of c_t[i]    places "shared"

    A token is marked when its c_0, in two directions, is longer than `threshold`: it looks like a
    word that the swap changes. "all" moves every token, the others marked ones only, and "agreed"
    these only where all of them, in all texts of the row, lie on one side of m_0 along the first
    direction. What the marked words share tells of the whole row; where two of them differ,
    "shared" and "agreed" keep the difference.

    Attributes
    ----------
    directions, energies, means : mapping of int to tensor
        By state t: U (d, k), strongest first, k at least `rank`; shares of the differences' second
        moment (k,); m (d,).
    threshold : float, half the mean length of c_0 at swapped words
    layers : tuple of int, controlled states; 0 is among them unless `places` is "all"
    rank : int
    gain : float, from 0 to 1
    places : {"all", "marked", "shared", "agreed"}

    Examples
    --------
    >>> from pidlib import load_model, load_nli
    >>> from pidbook.data import GroupSwap
    >>> swap = GroupSwap("gender")
    >>> rows = [row for row in load_nli("captions", n=200) if swap.holds(row)]
    >>> model, tokenizer = load_model("minilm-nli")
    >>> control = SwapFeedback.fit(model, tokenizer, rows[:30], swap, rank=4)
    >>> bool(control.energies[0][:4].sum() > 0.75)
    True

    Source: our departure. The paper's P pulls states towards a subspace; this one out of one.
    """

    directions: Mapping[int, Tensor]
    energies: Mapping[int, Tensor]
    means: Mapping[int, Tensor]
    threshold: float
    layers: tuple[int, ...] = (0,)
    rank: int = 4
    gain: float = 1.0
    places: str = "shared"

    def __post_init__(self) -> None:
        if self.places not in PLACES:
            raise ValueError(f"unknown places {self.places!r}; known: {list(PLACES)}")
        if not self.layers or (self.places != "all" and 0 not in self.layers):
            raise ValueError(f"the layers are {self.layers}; words are marked at state 0: add 0")
        if wrong := [t for t in self.layers if t not in self.directions]:
            raise ValueError(f"state {wrong[0]} was not fitted; fitted: {sorted(self.directions)}")
        most = min(self.directions[t].shape[1] for t in self.layers)
        if not 1 <= self.rank <= most:
            raise ValueError(f"rank is {self.rank}; give 1 to {most}")

    def __repr__(self) -> str:
        """Name and settings on one line."""
        states = ", ".join(map(str, self.layers))
        return (
            f"<SwapFeedback: {self.places}, rank {self.rank}, gain {self.gain:g}, states {states}>"
        )

    @classmethod
    def fit(
        cls,
        model: nn.Module,
        tokenizer: Any,
        rows: Sequence[Mapping[str, Any]],
        swap: Swap,
        layers: Sequence[int] = (0,),
        keep: int = 16,
        **settings: Any,
    ) -> Self:
        """Fit on texts and their swaps; no label is used. `settings`: rank, gain, places."""
        rows = as_rows(rows)
        chosen, moments, sums, n = sorted({0, *layers}), {}, {}, 0
        lengths = []
        for before, after, changed in paired_states(model, tokenizer, rows, swap, chosen[-1]):
            if not changed.any():
                continue
            n += int(changed.sum())
            lengths.append((before[0][changed], after[0][changed]))
            for t in chosen:
                steps, middle = after[t] - before[t], (after[t] + before[t])[changed] / 2
                moments[t] = moments.get(t, 0) + steps.T @ steps
                sums[t] = sums.get(t, 0) + middle.sum(0)
        if not n:
            raise ValueError("the swap changes no word of the rows")
        directions, energies, means = {}, {}, {t: sums[t] / n for t in chosen}
        for t in chosen:
            values, vectors = torch.linalg.eigh(moments[t])
            directions[t] = vectors.flip(1)[:, :keep].contiguous()
            energies[t] = (values.flip(0)[:keep] / values.sum()).clamp_min(0)
        marks = directions[0][:, :_MARK]
        marked = torch.cat([torch.cat(pair) for pair in lengths])
        threshold = float(((marked - means[0]) @ marks).norm(dim=1).mean()) / 2
        return cls(directions, energies, means, threshold, tuple(sorted(set(layers))), **settings)

    def marked(self, x: Tensor) -> Tensor:
        """Which tokens (B, l) of x_0 (B, l, d) look like words that the swap changes."""
        mean, marks = self.means[0].to(x), self.directions[0][:, :_MARK].to(x)
        return ((x - mean) @ marks).norm(dim=-1) > self.threshold

    def agreed(self, x: Tensor, marked: Tensor) -> Tensor:
        """Whether all marked tokens of a row lie on one side along the first direction, (B, 1, 1)."""
        first = ((x - self.means[0].to(x)) @ self.directions[0][:, :1].to(x)) > 0
        return ~((first & marked).any(1, True) & (~first & marked).any(1, True))

    def begin(self) -> Control:
        """Make the law, for one forward call of the model."""
        gate: list[Tensor] = []

        def law(t: int, x: Tensor, mask: Tensor | None) -> Tensor:
            if t == 0:
                of = self.marked(x)[..., None]
                of = of if mask is None else of & mask
                gate[:] = [of & self.agreed(x, of) if self.places == "agreed" else of]
            frame, mean = self.directions[t][:, : self.rank].to(x), self.means[t].to(x)
            c = (x - mean) @ frame
            if self.places == "shared":
                c = (c * gate[0]).sum(1, keepdim=True) / gate[0].sum(1, keepdim=True).clamp_min(1)
            u = -self.gain * c @ frame.T
            if self.places != "all":
                return x + u * gate[0]
            return x + (u if mask is None else u * mask)

        return law

    @contextmanager
    def attached(
        self,
        model: nn.Module,
        instead: Callable[[int, Tensor, Tensor | None], Tensor] | None = None,
    ) -> Iterator[nn.Module]:
        """Control a model for as long as the context lasts; `instead` as for every controller."""
        begin, layers = lambda: _replaced(self.begin(), instead), list(self.layers)
        with find_blocks(model).control(begin=begin, layers=layers):
            yield model
