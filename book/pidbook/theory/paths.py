"""A pass forward and one back through a chain of blocks, costates by autograd."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

Block = Callable[[torch.Tensor], torch.Tensor]
RunningLoss = Callable[[int, Sequence[torch.Tensor], torch.Tensor], torch.Tensor]


class ChainSweep(NamedTuple):
    """One pass forward and one back through a chain."""

    states: list[torch.Tensor]
    costates: list[torch.Tensor]
    gradients: list[torch.Tensor]
    costs: torch.Tensor

    @property
    def cost(self) -> float:
        """Sum over all examples."""
        return float(self.costs.sum())

    @property
    def gradient(self) -> torch.Tensor:
        """Gradients of all blocks, (T, ...)."""
        return torch.stack(self.gradients)


class Path:
    """A way through a chain under controls, as long as its graph is kept.

    The cost is derived in what is free: the controls, or the controlled states v_t, of
    which u_t = v_t - F_{t-1}(v_{t-1}) is a function.
    """

    def __init__(self) -> None:
        self.states: list[torch.Tensor] = []
        self.free: list[torch.Tensor] = []
        self.arrived: list[tuple[torch.Tensor, int]] = []  # controlled states, their versions
        self.total: torch.Tensor | None = None

    def step(self, t: int, x: torch.Tensor, u: torch.Tensor, loss: RunningLoss) -> torch.Tensor:
        """Note x_t and u_t, add their running loss and return x_t + u_t; u_t is free."""
        if u.device != x.device:
            raise ValueError(f"control {t} is on {u.device}, its state on {x.device}; move it")
        self.free.append(u)
        return self._count(t, x, u, x + u, loss)

    def place(
        self, t: int, x: torch.Tensor, v: torch.Tensor, real: torch.Tensor, loss: RunningLoss
    ) -> torch.Tensor:
        """Put v in the place of x_t where `real` says so; v is free and u_t follows."""
        self.free.append(v)
        new = torch.where(real, v, x)
        return self._count(t, x, new - x, new, loss)

    def _count(
        self, t: int, x: torch.Tensor, u: torch.Tensor, v: torch.Tensor, loss: RunningLoss
    ) -> torch.Tensor:
        self.states.append(x)
        part = loss(t, self.states, u)
        each = x.shape[:1] if x.ndim > 1 else ()
        if part.shape not in ((), each):
            raise ValueError(
                f"the running loss has shape {tuple(part.shape)}; give a scalar or, for "
                f"examples that do not touch each other, one entry each, {tuple(each)}"
            )
        if self.total is not None and part.shape != self.total.shape:
            raise ValueError(
                f"the running loss has shape {tuple(part.shape)} at {t}, {tuple(self.total.shape)} "
                "before; give one shape at all states"
            )
        self.total = part if self.total is None else self.total + part.to(self.total.device)
        self.arrived.append((v, v._version))
        return v

    def back(self, partly: bool = False) -> ChainSweep:
        """Run the costates back; the last state has been added by hand.

        With `partly`, examples that overflow are left to the caller while any is finite.
        """
        for t, (v, version) in enumerate(self.arrived):
            if v._version != version:
                raise ValueError(f"block {t} changes its input in place; make it return a new one")
            if not self.states[t + 1].requires_grad:
                raise ValueError(
                    f"the output of block {t} has no gradient; PMP needs differentiable blocks, "
                    "without no_grad or detach inside"
                )
        finite = torch.isfinite(self.total)
        if not bool(finite.any() if partly else finite.all()):
            raise FloatingPointError(
                f"the cost is {float(self.total.detach().sum())}: the states overflow under "
                "these controls"
            )
        steps = [*self.states[:-1], *self.free]
        tracked = [x for x in steps if x.requires_grad]
        rest = iter(torch.autograd.grad(self.total.sum(), tracked, materialize_grads=True))
        slopes = [next(rest) if x.requires_grad else torch.zeros_like(x) for x in steps]
        costates, gradients = slopes[: len(self.free)], slopes[len(self.free) :]
        for t in range(len(gradients) - 1, -1, -1):
            if not partly and not math.isfinite(float(gradients[t].sum())):
                raise FloatingPointError(f"the costate of block {t} overflows; scale the loss down")
        states = [x.detach() for x in self.states]
        return ChainSweep(states, [-p for p in costates], gradients, self.total.detach())
