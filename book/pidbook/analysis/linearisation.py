"""Blocks of a transformer as matrices: mean Jacobians around clean text, and weights of the answer.

An error e_t[j] of token j goes through block t as

    e_{t+1}[j] = J_jj e_t[j] + sum_{k != j} J_jk e_t[k] + (second order).

The mean A_t of J_jj over tokens and texts is what a control of single tokens can know of the block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from pidbook.analysis.jacobians import block_functions, push_forward
from pidlib.data.batches import batches, input_device
from pidlib.theory.inputs import number


def _signs(shape: Sequence[int], source: torch.Generator) -> Tensor:
    return torch.randint(0, 2, tuple(shape), generator=source).float() * 2 - 1


def mean_jacobians(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    draws: int = 4,
    seed: int = 0,
    batch_size: int = 32,
) -> Tensor:
    """Average the derivative of a token's new state by its old one, by products with random signs.

    For signs v, independent between tokens, E[(J v)[j] v[j]^T] = J_jj: what comes from other tokens
    has mean 0. Least squares of (J v)[j] on v[j] takes that mean with less noise.

    Parameters
    ----------
    model, tokenizer : a model in evaluation mode, and its tokenizer
    rows : sequence of mappings, clean text; its tokens times `draws` must exceed d
    draws, seed : int, products a row, and of their signs
    batch_size : int

    Returns
    -------
    (T, d, d) float64 tensor, A_0 to A_{T-1}

    Raises
    ------
    ValueError
        A model in training mode, fewer than one draw, too few tokens.

    Examples
    --------
    >>> from pidlib import load_model, load_nli
    >>> rows = load_nli("captions", split="train", n=32)
    >>> mean_jacobians(*load_model("minilm-nli"), rows, draws=1).shape
    torch.Size([6, 384, 384])

    Source: our departure, for the linearisation that the paper's last section leaves open; random
    signs after Hutchinson (1990).
    """
    number("draws", draws, "at least 1")
    source, n, sums = torch.Generator().manual_seed(seed), 0, None
    for batch in batches(tokenizer, rows, batch_size, device=input_device(model)):
        states, functions, mask = block_functions(model, batch.inputs)
        T, d = len(functions), states[0].shape[-1]
        sums = torch.zeros(2, T, d, d, dtype=torch.float64) if sums is None else sums
        for t, (x, block) in enumerate(zip(states[:-1], functions, strict=True)):
            v = torch.stack([_signs(x.shape, source).to(x) for _ in range(draws)]) * mask[..., None]
            for seen, given in zip(push_forward(block, x, v)[:, mask], v[:, mask], strict=True):
                sums[0, t] += (given.T @ given).cpu().double()
                sums[1, t] += (seen.T @ given).cpu().double()
        n += draws * int(mask.sum())
    if sums is None or n <= sums.shape[-1]:
        raise ValueError(f"{n} products of tokens; give more rows or draws")
    return torch.linalg.solve(sums[0], sums[1].mT).mT
