"""Attacks on pictures, by the gradient of the loss."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy


def pgd(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epsilon: float,
    steps: int = 20,
    seed: int = 0,
    batch_size: int = 100,
) -> Tensor:
    """Change pictures within a box so that the loss rises: projected gradient descent.

    Parameters
    ----------
    model : torch.nn.Module
        A classifier whose forward takes pictures and gives `logits`. If a controller is attached
        the gradient passes through it, so the attack is made against the controlled model.
    images, labels : (N, 1, h, w) float tensor from 0 to 1, and (N,) int64 tensor
    epsilon : float
        Largest change of a pixel, in units of full brightness.
    steps, seed, batch_size : int
        Steps of epsilon / 4 from a random start.

    Returns
    -------
    (N, 1, h, w) float tensor from 0 to 1

    Raises
    ------
    ValueError
        A negative epsilon, no step, or a model in training mode.

    Examples
    --------
    >>> from pidbook.image_models import ResidualCNN
    >>> model, dark = ResidualCNN(depth=1, channels=4).eval(), torch.zeros(2, 1, 28, 28)
    >>> bool(pgd(model, dark, torch.tensor([0, 1]), 0.125, steps=2).max() <= 0.125)
    True

    Source: Madry et al. 2018.
    """
    if not epsilon >= 0 or steps < 1:
        raise ValueError(f"epsilon is {epsilon!r}, steps {steps!r}; give at least 0 and 1")
    if model.training:
        raise ValueError("the model is in training mode; call model.eval() first")
    source, changed = torch.Generator().manual_seed(seed), []
    for x, y in zip(images.split(batch_size), labels.split(batch_size), strict=True):
        low, high = (x - epsilon).clamp(0, 1), (x + epsilon).clamp(0, 1)
        moved = low + (high - low) * torch.rand(x.shape, generator=source).to(x)
        for _ in range(steps):
            moved.requires_grad_(True)
            with torch.enable_grad():
                loss = cross_entropy(model(moved).logits, y, reduction="sum")
                (slope,) = torch.autograd.grad(loss, moved)
            moved = (moved.detach() + epsilon / 4 * slope.sign()).clamp(low, high)
        changed.append(moved)
    return torch.cat(changed)
