"""Rivals that change states: random latents, and components of the text's own states removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.rivals.answers import BATCH, Rival, Rows, generator
from pidlib.data.batches import batches, input_device
from pidlib.data.labels import label_order
from pidlib.hooks import find_blocks

Edit = Callable[[int, Tensor, Tensor], Tensor]  # t, x_t (B, l, d), real tokens (B, l): x_t changed


def noisy(model: Any, tokenizer: Any, size: float, seed: int = 0) -> Rival:
    """After AdvFooler (Hoang et al., 2024), our reading: noise on the latents before every block.

    Gaussian, `size` times as long as each token's state x_t, t = 0 to T - 1, drawn anew for every
    text and draw; probabilities are averaged over draws. Departure: relative to the state's length.
    """

    def draw(rows: Rows, draws: int) -> np.ndarray:
        wanted = [(row, k) for row in rows for k in range(draws)]

        def edits(places: np.ndarray) -> Edit:
            sources = [generator(*wanted[p][:1], seed, wanted[p][1]) for p in places]

            def edit(t: int, x: Tensor, real: Tensor) -> Tensor:
                noise = torch.zeros(x.shape)
                for b, (source, n) in enumerate(zip(sources, real.sum(1).tolist(), strict=True)):
                    noise[b, real[b].cpu()] = torch.randn(n, x.shape[-1], generator=source)
                scale = size * x.norm(dim=-1, keepdim=True) / x.shape[-1] ** 0.5
                return x + scale * noise.to(x)

            return edit

        layers = tuple(range(find_blocks(model).depth))
        flat = edited_scores(model, tokenizer, [row for row, _ in wanted], edits, layers)
        return flat.reshape(len(rows), draws, -1)

    return Rival(f"after AdvFooler, our reading: noise of {size:g} of each state", draw)


def purified(model: Any, tokenizer: Any, state: int, rank: int = 1) -> Rival:
    """After PURE (TACL 2025), our reading: the text's own leading components are taken away.

    The principal components of the text's token states x_t, about their mean, `rank` of them;
    `state` = T is the last state, before the head. Departures: one state alone; the head as it was.
    """

    def edits(_places: np.ndarray) -> Edit:
        return lambda t, x, real: without_components(x, real, rank)

    def draw(rows: Rows, draws: int) -> np.ndarray:
        return edited_scores(model, tokenizer, rows, edits, (state,))[:, None]

    return Rival(f"after PURE, our reading: {rank} components of x_{state} removed", draw)


def without_components(x: Tensor, real: Tensor, rank: int) -> Tensor:
    """States (B, l, d) without the leading components of each text's real tokens about their mean."""
    weight = real[..., None].to(torch.float64)
    values = x.to(torch.float64)
    mean = (values * weight).sum(1, keepdim=True) / weight.sum(1, keepdim=True)
    centred = (values - mean) * weight
    # left singular vectors, by the small Gram matrix (l, l): padding has none of them
    vectors = torch.linalg.eigh(centred @ centred.mT).eigenvectors[..., -rank:]
    return torch.where(real[..., None], values - vectors @ (vectors.mT @ centred), values).to(x)


def edited_scores(
    model: Any,
    tokenizer: Any,
    rows: Rows,
    edits: Callable[[np.ndarray], Edit],
    layers: tuple[int, ...],
) -> np.ndarray:
    """Logits (N, labels) while states are edited; `edits` gets the places of a batch's rows."""
    device = input_device(model)
    order = torch.tensor(label_order(model.config), device=device)
    logits = np.empty((len(rows), len(order)), dtype=np.float32)
    with torch.inference_mode():
        for batch in batches(tokenizer, rows, BATCH, device=device):
            real = batch.inputs["attention_mask"] != 0
            with editing(model, edits(batch.indices), real, layers):
                answer = model(**batch.inputs).logits
            logits[batch.indices] = answer[:, order].float().cpu().numpy()
    return logits


@contextmanager
def editing(model: Any, edit: Edit, real: Tensor, layers: tuple[int, ...]) -> Iterator[None]:
    """Edit x_t for t in `layers`; t = T is the output of the last block, before the head."""
    blocks = find_blocks(model)
    before = [t for t in layers if t < blocks.depth]

    def after(_module: Any, _args: Any, output: Any) -> Any:
        whole = isinstance(output, tuple)
        x = edit(blocks.depth, output[0] if whole else output, real)
        return (x, *output[1:]) if whole else x

    last = nullcontext()
    if blocks.depth in layers:
        last = blocks.modules[-1].register_forward_hook(after)
    with last, blocks.control(lambda t, x, _mask: edit(t, x, real), layers=before):
        yield
