"""How far a block of a transformer is from an orthogonal matrix that carries the subspaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from pidlib.hooks import find_blocks, uncached
from pidlib.theory.inputs import number
from pidlib.tokens import token_mask


class BlockGeometry(NamedTuple):
    """The derivative J of one block at clean states, against what Theorem 1 takes it for.

    Attributes
    ----------
    growth : float, root of E|J v|^2 / E|v|^2 over random v; 1 for an orthogonal block
    spread : float, coefficient of variation of squared singular values; 0 if all are the same
    largest : float, largest singular value, over `growth`
    leaves : float, share of |J v|^2 outside the next subspace, v random inside this one
    enters : float, share of |J v|^2 inside the next subspace, v random outside this one

    Source: Assumption 2 and Theorem 1.
    """

    growth: float
    spread: float
    largest: float
    leaves: float
    enters: float


def block_functions(
    model: nn.Module, inputs: Mapping[str, Any]
) -> tuple[list[Tensor], list[Callable[[Tensor], Tensor]], Tensor]:
    """Take a model apart into its blocks, with all else that they are given held fixed.

    Parameters
    ----------
    model : torch.nn.Module in evaluation mode
    inputs : mapping of str to tensor, arguments of the forward

    Returns
    -------
    states, functions, mask
        T + 1 tensors (B, l, d); T callables F_t with F_t(x_t) = x_{t+1}; (B, l) bool.

    Source: paper Eq. (1).
    """
    if model.training:
        raise ValueError("the model is in training mode; call model.eval() first")
    blocks = find_blocks(model)
    given: list[tuple[tuple, dict]] = []

    def note(_module: nn.Module, args: tuple, kwargs: dict) -> None:
        given.append((args, kwargs))

    with ExitStack() as hooks, torch.no_grad(), blocks.reading() as values:
        for module in blocks.modules:
            hooks.enter_context(module.register_forward_pre_hook(note, with_kwargs=True))
        blocks.model(**uncached(blocks.model, inputs))
        states = [x.clone() for x in values]

    def function(module: nn.Module, args: tuple, kwargs: dict) -> Callable[[Tensor], Tensor]:
        name = None if args else next(k for k, v in kwargs.items() if v is not None)

        def block(x: Tensor) -> Tensor:
            output = module(x, *args[1:], **kwargs) if args else module(**{**kwargs, name: x})
            return output[0] if isinstance(output, tuple) else output

        return block

    mask = token_mask(inputs.get("attention_mask"), states[0])
    return states, [function(m, *g) for m, g in zip(blocks.modules, given, strict=True)], mask


def push_forward(block: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    """Return J v, where J is the derivative of a block at some states.

    Parameters
    ----------
    block : callable (B, l, d) -> (B, l, d)
    x : (B, l, d) tensor, states
    v : (B, l, d) or (n, B, l, d) tensor, a direction or several

    Returns
    -------
    tensor, of the shape of v

    Examples
    --------
    >>> x = torch.full((1, 1, 2), 3.0)
    >>> push_forward(torch.square, x, torch.ones_like(x))
    tensor([[[6., 6.]]])

    Source: paper Eq. (1), linearised.
    """

    def product(v: Tensor) -> Tensor:
        return torch.func.jvp(block, (x,), (v,))[1]

    with sdpa_kernel(SDPBackend.MATH):  # the fused kernels have no forward derivative
        return (product(v) if v.ndim == x.ndim else torch.func.vmap(product)(v)).detach()


def block_geometry(
    block: Callable[[Tensor], Tensor],
    x: Tensor,
    mask: Tensor,
    here: Tensor,
    there: Tensor,
    draws: int = 8,
    seed: int = 0,
) -> BlockGeometry:
    """Measure the derivative of one block by products with random vectors.

    Parameters
    ----------
    block : callable (B, l, d) -> (B, l, d), differentiable also in forward mode
    x, mask : (B, l, d) tensor of clean states before it, (B, l) bool tensor of real tokens
    here, there : (d, r) tensors, orthonormal bases of the subspaces before and after the block
    draws, seed : int, of the random vectors

    Returns
    -------
    BlockGeometry

    Examples
    --------
    >>> x, mask, frame = torch.ones(1, 1, 2), torch.ones(1, 1, dtype=torch.bool), torch.eye(2)[:, :1]
    >>> [round(value, 4) for value in block_geometry(lambda x: 2 * x, x, mask, frame, frame)]
    [2.0, 0.0, 1.0, 0.0, 0.0]
    """
    number("draws", draws, "at least 1")
    source = torch.Generator().manual_seed(seed)
    real = mask[..., None].to(x)
    here, there = here.to(x), there.to(x)

    def random() -> Tensor:
        return torch.randn(x.shape, generator=source).to(x) * real

    def forward(v: Tensor) -> Tensor:
        return push_forward(block, x, v) * real

    def back(w: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return torch.func.vjp(block, x)[1](w * real)[0] * real

    def inside(v: Tensor, basis: Tensor) -> Tensor:
        return (v @ basis) @ basis.T

    def size(v: Tensor) -> float:
        return float((v.detach().double() ** 2).sum())

    sums = dict.fromkeys(("v", "Jv", "JJv", "on", "leaves", "off", "enters"), 0.0)
    for _ in range(draws):
        v = random()
        moved = forward(v)
        on, off = forward(inside(v, here)), forward(v - inside(v, here))
        terms = (v, moved, back(moved), on, on - inside(on, there), off, inside(off, there))
        sums = {k: sums[k] + size(term) for k, term in zip(sums, terms, strict=True)}
    square = sums["Jv"] / sums["v"]
    v = random()
    top = 0.0
    for _ in range(12):  # power iteration on J^T J
        v = back(forward(v / v.norm()))
        top = float(v.detach().norm())
    return BlockGeometry(
        growth=square**0.5,
        spread=max(0.0, sums["JJv"] / sums["v"] / square**2 - 1) ** 0.5,
        largest=(top / square) ** 0.5,
        leaves=sums["leaves"] / sums["on"] if sums["on"] else 0.0,
        enters=sums["enters"] / sums["off"] if sums["off"] else 0.0,
    )
