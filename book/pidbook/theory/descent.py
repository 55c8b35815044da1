"""Monotone descent in the controls: step sizes found by themselves, one for each example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import Tensor

from pidbook.theory.paths import ChainSweep

Evaluate = Callable[[list[Tensor]], ChainSweep]
Precondition = Callable[[int, Tensor], Tensor]
SUFFICIENT = 1e-4  # share of the promised decrease that a step has to keep (Armijo)
SHORTEST = 1e-9  # shorter steps change nothing but the last digits


@dataclass(frozen=True)
class Descent:
    """What the descent did; B examples, or none of that axis when the cost is a scalar."""

    controls: list[Tensor]
    costs: Tensor
    steps: Tensor
    rejected: Tensor
    left: Tensor
    converged: Tensor

    @property
    def sweeps(self) -> int:
        """Passes forward and back after the first."""
        return len(self.steps)


def descend(
    evaluate: Evaluate,
    start: Sequence[Tensor],
    precondition: Precondition | None = None,
    step: float = 1.0,
    memory: int = 8,
    sweeps: int = 50,
    tolerance: float = 1e-4,
    first: ChainSweep | None = None,
) -> Descent:
    """Improve controls until a further step promises next to nothing."""
    if len(start) == 0:
        raise ValueError("there are no controls to improve: give one tensor for each state")
    u = [part.detach() for part in start]
    now = evaluate(u) if first is None else first
    cost, g = now.costs, now.gradients
    if not bool(_finite(now).all()):
        raise FloatingPointError("the first cost or its gradient is not finite: start elsewhere")
    inverse = _Inverse(precondition or (lambda t, g: g), memory)
    d = inverse.times(g, cost)
    slope = _inner(g, d, cost)
    length = torch.full_like(cost, step)
    costs, lengths, rejected = [cost], [], torch.zeros_like(cost, dtype=torch.int64)
    for _ in range(sweeps):
        active = (slope > 0) & (slope > 2 * tolerance * cost) & (length > SHORTEST)
        if not bool(active.any()):
            break
        used = torch.where(active, length, torch.zeros_like(length))
        trial = [a - _spread(used, a) * b for a, b in zip(u, d, strict=True)]
        trial = _pick(active, trial, u)  # 0 times an infinite direction is no step
        better = torch.zeros_like(active)
        with suppress(FloatingPointError):  # the states of all overflow: every step was too large
            now = evaluate(trial)
            better = active & _finite(now) & (now.costs <= cost - SUFFICIENT * used * slope)
            inverse.learn(u, trial, g, now.gradients, better, cost)
            u, g = _pick(better, trial, u), _pick(better, now.gradients, g)
            cost = torch.where(better, now.costs, cost)
            d = inverse.times(g, cost)
            slope = _inner(g, d, cost)
        length = torch.where(active, length / 4, length)
        length = torch.where(better, torch.ones_like(length), length)
        rejected += active & ~better
        costs.append(cost)
        lengths.append(used)
    left = slope / (2 * cost).clamp_min(torch.finfo(cost.dtype).tiny)
    return Descent(
        u,
        torch.stack(costs),
        torch.stack(lengths) if lengths else cost.new_zeros(0, *cost.shape),
        rejected,
        left,
        (slope >= 0) & (slope <= 2 * tolerance * cost),
    )


class _Inverse:
    """Estimate of the inverse Hessian of each example, by limited memory BFGS."""

    def __init__(self, base: Precondition, memory: int) -> None:
        self.base, self.memory = base, memory
        self.pairs: list[tuple[list[Tensor], list[Tensor], Tensor]] = []
        self.scale: Tensor | None = None

    def learn(
        self,
        old: list[Tensor],
        new: list[Tensor],
        g: list[Tensor],
        new_g: list[Tensor],
        better: Tensor,
        like: Tensor,
    ) -> None:
        """Note a step; only for the examples that took it, and where the cost bends up."""
        if self.memory == 0 or not bool(better.any()):
            return
        s = [b - a for a, b in zip(old, new, strict=True)]
        y = [b - a for a, b in zip(g, new_g, strict=True)]
        curvature = _inner(s, y, like)
        bent = _inner(y, [self.base(t, part) for t, part in enumerate(y)], like)
        good = better & (curvature > 1e-10 * bent) & (bent > 0) & torch.isfinite(1 / curvature)
        unit = torch.ones_like(like)
        weight = torch.where(good, 1 / torch.where(good, curvature, unit), torch.zeros_like(unit))
        blank = [torch.zeros_like(a) for a in s]
        newest = (_pick(good, s, blank), _pick(good, y, blank), weight)
        if len(self.pairs) < self.memory:
            self.pairs.insert(0, (blank, blank, torch.zeros_like(weight)))
        # Each example drops its own oldest step, whatever the others of the batch do.
        later = [*self.pairs[1:], newest]
        if not bool(good.all()):
            later = [
                (_pick(good, a[0], b[0]), _pick(good, a[1], b[1]), torch.where(good, a[2], b[2]))
                for a, b in zip(later, self.pairs, strict=True)
            ]
        self.pairs = later
        before = unit if self.scale is None else self.scale
        self.scale = torch.where(good, curvature / torch.where(good, bent, unit), before)

    def times(self, g: list[Tensor], like: Tensor) -> list[Tensor]:
        """Return H g."""
        q, parts = g, []
        for s, y, weight in reversed(self.pairs):
            part = weight * _inner(s, q, like)
            q = [a - _spread(part, a) * b for a, b in zip(q, y, strict=True)]
            parts.append(part)
        r = [self.base(t, part) for t, part in enumerate(q)]
        if self.scale is not None:
            r = [_spread(self.scale, a) * a for a in r]
        for (s, y, weight), part in zip(self.pairs, reversed(parts), strict=True):
            back = part - weight * _inner(y, r, like)
            r = [a + _spread(back, a) * b for a, b in zip(r, s, strict=True)]
        return r


def _finite(now: ChainSweep) -> Tensor:
    """Examples whose cost and gradient are finite."""
    size = _inner(now.gradients, now.gradients, now.costs)
    return torch.isfinite(now.costs) & torch.isfinite(size)


def _inner(a: Sequence[Tensor], b: Sequence[Tensor], like: Tensor) -> Tensor:
    """Sum of products over all layers and all axes that the costs have not."""
    return sum(
        (x.to(like.dtype) * y.to(like.dtype)).flatten(like.ndim).sum(-1).to(like.device)
        for x, y in zip(a, b, strict=True)
    )


def _spread(per_example: Tensor, like: Tensor) -> Tensor:
    shape = per_example.shape + (1,) * (like.ndim - per_example.ndim)
    return per_example.to(like.device, like.dtype).reshape(shape)


def _pick(better: Tensor, new: Sequence[Tensor], old: Sequence[Tensor]) -> list[Tensor]:
    """New tensors for the examples that got better, old ones for the others."""
    return [torch.where(_spread(better, a).bool(), a, b) for a, b in zip(new, old, strict=True)]
