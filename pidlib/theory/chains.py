"""Successive approximation for any differentiable chain of blocks, costates by autograd."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch

from pidlib.theory.pontryagin import Approximation, gradient_steps

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


def quadratic_loss(Q_state: torch.Tensor, c: float) -> RunningLoss:
    """Relaxed running loss 1/2 v^T Q_t v + c/2 |u|^2, summed over all other axes.

    Parameters
    ----------
    Q_state : (T, d, d) tensor
        Weights of the controlled states.
    c : float
        Cost of the control.

    Returns
    -------
    function (t, states, u) -> scalar tensor
        `states` are x_0 to x_t, each (..., d).

    Examples
    --------
    >>> loss = quadratic_loss(torch.ones(1, 1, 1), c=2.0)
    >>> loss(0, [torch.tensor([3.0])], torch.tensor([-1.0])).item()
    3.0

    Source: Appendix A, relaxed; equation riccati-cost.
    """

    def loss(t: int, states: Sequence[torch.Tensor], u: torch.Tensor) -> torch.Tensor:
        v = states[t] + u
        return 0.5 * (v * (v @ Q_state[t])).sum() + 0.5 * c * (u * u).sum()

    return loss


def chain_sweep(
    blocks: Sequence[Block],
    loss: RunningLoss,
    x0: torch.Tensor,
    controls: Sequence[torch.Tensor],
) -> ChainSweep:
    """Run a chain forward under controls, and the costates back by autograd.

    Parameters
    ----------
    blocks : sequence of T functions
        F_t, each of a tensor of the shape of x0.
    loss : function (t, [x_0, ..., x_t], u_t) -> scalar tensor
        Running loss. It may look at past states; their part of the costates is counted.
    x0 : tensor
        Input, of any shape.
    controls : sequence of T tensors
        Of the shape of x0.

    Returns
    -------
    ChainSweep
        Lists `states` (T + 1) and `costates` and `gradients` (T) of detached tensors, `costs` of
        each example and their sum `cost`.

    Raises
    ------
    ValueError
        A wrong number of controls, a control of another shape or on another device, a loss
        that is neither a scalar nor of one entry an example, a block that stops gradients
        or changes its input in place.
    FloatingPointError
        A cost or a costate that is not finite.

    Examples
    --------
    >>> blocks, loss = [torch.tanh, torch.tanh], quadratic_loss(torch.eye(1).repeat(2, 1, 1), 1.0)
    >>> now = chain_sweep(blocks, loss, torch.zeros(1), [torch.zeros(1)] * 2)
    >>> now.cost, [g.item() for g in now.gradients]
    (0.0, [0.0, 0.0])

    Source: section 2.1; equations pontryagin-backward, pontryagin-gradient. Departure: the
    costate counts every later loss that looks back at x_t.
    """
    if len(controls) != len(blocks) or len(blocks) < 1:
        raise ValueError(f"{len(controls)} controls for {len(blocks)} blocks; give one for each")
    if any(u.shape != x0.shape for u in controls):
        shapes = sorted({tuple(u.shape) for u in controls})
        raise ValueError(f"controls have the shapes {shapes}; x0 has {tuple(x0.shape)}")
    with torch.enable_grad():
        u = [part.detach().clone().requires_grad_() for part in controls]
        path = Path()
        x = x0.detach().clone().requires_grad_()
        for t, block in enumerate(blocks):
            x = block(path.step(t, x, u[t], loss))
        path.states.append(x)
        return path.back()


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


def chain_msa(
    blocks: Sequence[Block],
    loss: RunningLoss,
    x0: torch.Tensor,
    step: float,
    sweeps: int,
    momentum: float = 0.0,
) -> Approximation:
    """Improve the controls of one input by gradient steps.

    Parameters
    ----------
    blocks, loss, x0
        As for `chain_sweep`.
    step : float
        Step size, above 0.
    sweeps : int
        Number of steps; each takes one pass forward and one back.
    momentum : float
        0 to below 1.

    Returns
    -------
    Approximation
        The last `controls`, a (T, ...) tensor; `costs` and norms of the whole gradient,
        `gradients`, (sweeps + 1,) arrays, before the first sweep and after each.

    Examples
    --------
    >>> loss = quadratic_loss(torch.ones(1, 1, 1), c=1.0)
    >>> chain_msa([torch.tanh], loss, torch.tensor([1.0]), 0.5, 1).controls[0].tolist()
    [-0.5]

    Source: section 2.1; equation pontryagin-msa.
    """
    u = x0.new_zeros(len(blocks), *x0.shape)
    return gradient_steps(partial(chain_sweep, blocks, loss, x0), u, step, sweeps, momentum)
