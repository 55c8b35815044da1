"""Successive approximation for any differentiable chain of blocks, costates by autograd."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch

from pidbook.theory.paths import Block, ChainSweep, Path, RunningLoss
from pidbook.theory.pontryagin import Approximation, gradient_steps


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


def chain_msa(
    blocks: Sequence[Block],
    loss: RunningLoss,
    x0: torch.Tensor,
    step: float,
    sweeps: int,
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
    return gradient_steps(partial(chain_sweep, blocks, loss, x0), u, step, sweeps)
