"""Conceptors in place of projections: soft subspaces, and their AND."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import torch
from scipy.optimize import brentq
from torch import Tensor

from pidlib.bases import Eigenbases
from pidlib.controller import Controller
from pidlib.gain import Gain
from pidlib.laws import StaticLaw

FLOOR = 1e-9  # share of the mean eigenvalue that every direction has: R is inverted


def conceptor(moments: Sequence[Tensor], aperture: float) -> Tensor:
    """Return C (d, d), which keeps what is large in all of the moments R_i (d, d).

    Of one moment, C = R (R + a^-2 I)^-1 with the aperture a: the estimate of x from x + white noise
    of variance a^-2. Of several, their AND: C^-1 - I is the sum of all C_i^-1 - I.

    Source: Jaeger 2014, the conceptor and its AND; arXiv 2410.16314 steers language models by it.
    """
    d = len(moments[0])
    eye = torch.eye(d, dtype=torch.float64)
    inverses = [torch.linalg.inv(R + FLOOR * R.trace() / d * eye) for R in moments]
    C = torch.linalg.inv(eye + sum(inverses) / aperture**2)
    return (C + C.T) / 2


class ConceptorController(Controller):
    """A feedback u_t = -(I - C_t) x_t at every state, C_t the conceptor of some terms P, I, D."""

    def __init__(self, bases: Eigenbases, terms: str, aperture: float) -> None:
        self.bases, self.terms, self.aperture = bases, terms, aperture
        self.origin = bases.origin

    @cached_property
    def feedback(self) -> dict[int, dict[str, Gain]]:
        """Gain I - C_t of each state."""
        gains = {}
        for t in range(self.depth):
            moments = [self.bases.moment(t, term) for term in self.terms]
            C = conceptor(moments, self.aperture)
            values, vectors = torch.linalg.eigh(torch.eye(len(C), dtype=torch.float64) - C)
            gains[t] = {"C": Gain.from_spectrum(vectors, values.clamp(min=0.0))}
        return gains

    @property
    def hooked(self) -> list[int]:
        """States that are controlled: all before a block."""
        return list(range(self.depth))

    def begin(self) -> StaticLaw:
        """Make the law anew, for one forward call of the model."""
        return StaticLaw({t: gains["C"] for t, gains in self.feedback.items()})

    def summary(self) -> str:
        """Settings on one line."""
        return f"conceptor of {' AND '.join(self.terms)}, aperture {self.aperture:.6g}"


def length(controller: Controller, bases: Eigenbases) -> float:
    """Root mean square of |u_t| on clean states, over the controlled states."""
    squares = []
    for t, gains in controller.feedback.items():
        K = next(iter(gains.values())).matrix()
        squares.append(float((K @ bases.moment(t) * K).sum()))
    return math.sqrt(sum(squares) / len(squares))


def aperture_of_length(bases: Eigenbases, terms: str, wanted: float) -> float:
    """Find the aperture at which the conceptor's control has a root mean square on clean states."""

    def excess(log: float) -> float:
        return length(ConceptorController(bases, terms, 10**log), bases) - wanted

    return 10 ** brentq(excess, -2.0, 4.0)
