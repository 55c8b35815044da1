"""Gains of the paper's law as numbers to be learnt, through the closed form of alpha."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import kl_div, softplus

from pidlib.data.batches import encode
from pidlib.hooks import find_blocks
from pidlib.pid import PIDController

PAPER_C = 1e-3
BATCH = 24


def shares_removed(c: Tensor) -> Tensor:
    """1 - alpha_t by Proposition 2's recursion, with a cost for each block, (T,)."""
    later, shares = c.new_zeros(()), []
    for cost in c.flip(0):
        weight = 1 + later
        shares.append(weight / (cost + weight))
        later = cost * shares[-1]
    return torch.stack(shares[::-1])


class LearntGains:
    """K_P, K_I, K_D of every block, and with `free` their sum and c too; a control for `Blocks`."""

    def __init__(self, controller: PIDController, free: bool) -> None:
        T = controller.depth
        self.terms = tuple(controller.bases.values)
        self.Q = [controller.projections(t, self.terms) for t in range(T)]
        self.Q = [torch.stack([of[i] for i in self.terms]).float() for of in self.Q]
        self.free = free
        # free gains start at a sum of 0.3 a block: a control, but a weak one
        self.raw = torch.full((T, len(self.terms)), -2.25 if free else 0.0).requires_grad_()
        self.log_c = torch.full((T,), float(np.log(0.1 if free else PAPER_C))).requires_grad_()
        self.unknown = [self.raw, self.log_c] if free else [self.raw]

    @property
    def gains(self) -> Tensor:
        """K_i by block and term, (T, 3); a sum of 1 in each block unless they are free."""
        return softplus(self.raw) if self.free else self.raw.softmax(1)

    @property
    def shares(self) -> Tensor:
        """What the law removes: (1 - alpha_t) K_i, (T, 3)."""
        return shares_removed(self.log_c.exp())[:, None] * self.gains

    def __call__(self, t: int, x: Tensor, mask: Tensor | None) -> Tensor:
        """The controlled state."""
        u = -(x @ torch.einsum("i,iab->ab", self.shares[t], self.Q[t]))
        return x + (u if mask is None else u * mask)


def answer_costs(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    wanted: Tensor,
    under: Callable[[], Any] = nullcontext,
) -> Tensor:
    """KL(clean answer without control || answer) of each row, (N,)."""
    with under():
        inputs = encode(tokenizer, rows)
        seen = model(**inputs).logits.log_softmax(-1)
    return kl_div(seen, wanted, reduction="none").sum(-1)


def learn(
    model: Any,
    tokenizer: Any,
    law: LearntGains,
    pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    epochs: int,
    rate: float,
    seed: int,
    report: Callable[[str], None],
) -> None:
    """Bring the mean cost of clean and changed texts down by gradients through the model."""
    blocks, random = find_blocks(model), np.random.default_rng(seed)
    optimizer = torch.optim.Adam(law.unknown, lr=rate)
    order = np.argsort([len(a["premise"] + a["hypothesis"]) for a, _ in pairs], kind="stable")
    for epoch in range(epochs):
        costs = []
        for start in random.permutation(np.arange(0, len(pairs), BATCH)):
            clean, changed = zip(*(pairs[k] for k in order[start : start + BATCH]), strict=True)
            with torch.no_grad():
                wanted = model(**encode(tokenizer, clean)).logits.softmax(-1)
            cost = sum(
                answer_costs(model, tokenizer, of, wanted, lambda: blocks.control(law)).mean() / 2
                for of in (clean, changed)
            )
            for value, slope in zip(
                law.unknown, torch.autograd.grad(cost, law.unknown), strict=True
            ):
                value.grad = slope
            optimizer.step()
            costs.append(float(cost.detach()))
        report(f"epoch {epoch + 1} of {epochs}: cost {np.mean(costs):.4f}")
