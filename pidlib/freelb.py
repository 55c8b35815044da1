"""FreeLB: training on disturbed word embeddings, the disturbance found by ascent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


def plain_backward(model: Any, inputs: Mapping[str, Tensor], labels: Tensor) -> Tensor:
    """Standard training: fill the gradients of one batch, return its mean loss.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    inputs : mapping of str to (B, l) tensor
    labels : (B,) int64 tensor

    Returns
    -------
    tensor
        One number, without a gradient.

    Source: §3.1 (standard training).
    """
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(**inputs).logits
    loss = torch.nn.functional.cross_entropy(logits.float(), labels)
    loss.backward()
    return loss.detach()


@dataclass(frozen=True)
class FreeLB:
    """Train on the worst of small disturbances of the word embeddings.

    A disturbance δ (l, d) of one example starts at random, and each step moves it up the
    loss. The weights' gradients are the mean over the steps, so no step is wasted.

    Attributes
    ----------
    steps : int
        Ascent steps K, each a forward and a backward pass.
    start, step_size, radius : float
        Frobenius norm of the first δ at most, of each step, and of any δ. For scale: one
        word embedding of MiniLM has a norm of about 1.1.

    Source: Zhu et al. 2020, Algorithm 1; the paper's "FreeLB" training (§3.1).
    Departure: dropout is drawn anew in each step.
    """

    steps: int = 2
    start: float = 0.1
    step_size: float = 0.15
    radius: float = 0.3

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps is {self.steps}; FreeLB needs at least 1")
        if min(self.start, self.step_size, self.radius) <= 0:
            raise ValueError("start, step_size and radius must be above 0")

    def backward(self, model: Any, inputs: Mapping[str, Tensor], labels: Tensor) -> Tensor:
        """Fill the gradients of one batch, return the mean loss over the steps.

        Parameters
        ----------
        model : torch.nn.Module
            Takes `inputs_embeds`.
        inputs : mapping of str to (B, l) tensor
            `input_ids` and `attention_mask`, and what else the forward takes.
        labels : (B,) tensor

        Returns
        -------
        scalar tensor
        """
        rest = {key: value for key, value in inputs.items() if key != "input_ids"}
        words = model.get_input_embeddings()(inputs["input_ids"]).detach()
        mask = inputs["attention_mask"].unsqueeze(-1).to(words.dtype)
        size = (mask.sum((1, 2), keepdim=True) * words.shape[-1]).sqrt()
        delta = (torch.rand_like(words) * 2 - 1) * self.start / size * mask
        mean = torch.zeros(())
        for _ in range(self.steps):
            delta.requires_grad_()
            with torch.autocast("cpu", torch.bfloat16):
                logits = model(inputs_embeds=words + delta, **rest).logits
            loss = torch.nn.functional.cross_entropy(logits.float(), labels) / self.steps
            loss.backward()
            mean += loss.detach()
            slope = delta.grad * mask
            delta = delta.detach() + self.step_size * slope / _norm(slope)
            delta = delta * (self.radius / _norm(delta)).clamp(max=1.0)
        return mean


def _norm(x: Tensor) -> Tensor:
    """Frobenius norm of each example (B, 1, 1), never quite 0."""
    return x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-12)
