"""Placebos: a control replaced by something of the same size that knows nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from pidlib.pid import PIDController

PLACEBO_KINDS = ("noise", "rotation", "negative")


@dataclass(frozen=True, eq=False)
class Placebo:
    """A controller whose control u_t is replaced, token by token, at the same norm.

    An attack stops as soon as the label flips, so its examples lie just over the boundary, and any
    disturbance restores many of them. A control has to do better than its placebos.

    Attributes
    ----------
    controller : PIDController
    kind : {"noise", "rotation", "negative"}
        Random directions, new for each token; u_t turned by one random matrix for each t; -u_t.
    seed : int, of the directions, which start anew whenever the placebo is attached
    """

    controller: PIDController
    kind: str = "noise"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in PLACEBO_KINDS:
            raise ValueError(f"unknown placebo {self.kind!r}; known: {PLACEBO_KINDS}")

    @property
    def name(self) -> str:
        """Kind and seed, as tables print them."""
        return self.kind if self.kind == "negative" else f"{self.kind} {self.seed}"

    def attached(self, model: nn.Module) -> AbstractContextManager:
        """Apply the placebo to a model for as long as the context lasts."""
        return self.controller.attached(model, instead=self.stand_in())

    def stand_in(self) -> Callable[[int, Tensor, Tensor | None], Tensor]:
        """Return what is added in place of the control, for `controller.attached(instead=)`."""
        if self.kind == "negative":
            return lambda t, u, mask: -u
        if self.kind == "rotation":
            return lambda t, u, mask: u @ _turn(self.seed, t, u.shape[-1]).to(u)
        source = torch.Generator().manual_seed(self.seed)

        def noise(_t: int, u: Tensor, _mask: Any) -> Tensor:
            drawn = torch.randn(u.shape, generator=source).to(u)
            sizes = u.norm(dim=-1, keepdim=True)
            return drawn * (sizes / drawn.norm(dim=-1, keepdim=True))

        return noise


@lru_cache(maxsize=32)
@torch.inference_mode(False)  # else no gradient could pass
def _turn(seed: int, t: int, width: int) -> Tensor:
    """Random orthogonal matrix (d, d) of block t, uniform (Haar)."""
    source = torch.Generator().manual_seed(1000 * seed + t)
    square = torch.randn(width, width, generator=source, dtype=torch.float64)
    orthogonal, upper = torch.linalg.qr(square)
    return orthogonal * upper.diagonal().sign()
