"""Successive approximation for any differentiable chain of blocks, costates by autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

Block = Callable[[torch.Tensor], torch.Tensor]
RunningLoss = Callable[[int, Sequence[torch.Tensor], torch.Tensor], torch.Tensor]


class ChainSweep(NamedTuple):
    """One pass forward and one back through a chain.

    Attributes
    ----------
    states : list of T + 1 tensors
        x_0 to x_T.
    costates : list of T tensors
        p_0 to p_{T-1}: minus the derivative of all running losses in x_t, through every
        path, later losses that look back included.
    gradients : list of T tensors
        Derivative of the whole cost in each control.
    cost : float

    Source: section 2.1; equations pontryagin-backward, pontryagin-gradient.
    """

    states: list[torch.Tensor]
    costates: list[torch.Tensor]
    gradients: list[torch.Tensor]
    cost: float


@dataclass(frozen=True)
class ChainApproximation:
    """What successive approximation did on a chain.

    Attributes
    ----------
    controls : list of T tensors
    costs : list of float
        Before the first sweep and after each.
    gradients : list of float
        Norm of the whole gradient at the same times.

    Source: section 2.1; equation pontryagin-msa.
    """

    controls: list[torch.Tensor]
    costs: list[float]
    gradients: list[float]


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
        Detached tensors.

    Raises
    ------
    ValueError
        A wrong number of controls, a control of another shape, or a loss that is no
        scalar.

    Examples
    --------
    >>> blocks, loss = [torch.tanh, torch.tanh], quadratic_loss(torch.eye(1).repeat(2, 1, 1), 1.0)
    >>> found = chain_sweep(blocks, loss, torch.zeros(1), [torch.zeros(1)] * 2)
    >>> found.cost, [g.item() for g in found.gradients]
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
        states = [x0.detach().clone().requires_grad_()]
        total = x0.new_zeros(())
        for t, block in enumerate(blocks):
            part = loss(t, states, u[t])
            if part.ndim:
                raise ValueError(f"the running loss has shape {tuple(part.shape)}; give a scalar")
            total = total + part
            states.append(block(states[t] + u[t]))
        slopes = torch.autograd.grad(total, [*states[:-1], *u], allow_unused=True)
    slopes = [torch.zeros_like(x0) if s is None else s for s in slopes]
    T = len(blocks)
    return ChainSweep(
        [x.detach() for x in states],
        [-slope for slope in slopes[:T]],
        list(slopes[T:]),
        float(total.detach()),
    )


def chain_msa(
    blocks: Sequence[Block],
    loss: RunningLoss,
    x0: torch.Tensor,
    step: float,
    sweeps: int,
    momentum: float = 0.0,
    start: Sequence[torch.Tensor] | None = None,
) -> ChainApproximation:
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
    start : sequence of T tensors, optional
        First controls; zero when left out.

    Returns
    -------
    ChainApproximation

    Raises
    ------
    ValueError
        As for `chain_sweep`, or a step, momentum or number of sweeps out of range.

    Examples
    --------
    >>> loss = quadratic_loss(torch.ones(1, 1, 1), c=1.0)
    >>> chain_msa([torch.tanh], loss, torch.tensor([1.0]), 0.5, 1).controls[0].tolist()
    [-0.5]

    Source: section 2.1; equation pontryagin-msa.
    """
    if not step > 0 or not 0 <= momentum < 1 or sweeps < 0:
        raise ValueError(
            f"step {step}, momentum {momentum}, sweeps {sweeps}: the step must be positive, the "
            "momentum at least 0 and below 1, and the sweeps not negative"
        )
    u = [torch.zeros_like(x0) for _ in blocks] if start is None else [s.detach() for s in start]
    before, costs, norms = u, [], []
    for k in range(sweeps + 1):
        now = chain_sweep(blocks, loss, x0, u)
        costs.append(now.cost)
        norms.append(float(torch.stack([g.norm() for g in now.gradients]).norm()))
        if k < sweeps:
            moved = [
                a - step * g + momentum * (a - b)
                for a, g, b in zip(u, now.gradients, before, strict=True)
            ]
            u, before = moved, u
    return ChainApproximation(u, costs, norms)
