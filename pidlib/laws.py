"""The control laws: what u_t is, given the bases and the gains.

With Q^i = I - V^i (V^i)^T the projection off subspace i in {P, I, D}, K_i its gain and
alpha_t(q) the factor of Proposition 2,

    averaged    u_t = -(1 - alpha_t(1)) sum_i K_i Q^i x_t
    exact-gain  u_t = -(1 - alpha_t(q)) on each eigenspace q of sum_i K_i Q^i
    residual    u_t = -(1 - alpha_t(1)) [K_P Q^P x_t + K_I Q^I (x_t + sum_{s<t} x_s)
                                         + K_D Q^D (x_t - x_{t-1})]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from pidlib.gain import TOLERANCE, Gain, padding_places
from pidlib.theory.gains import alphas

OVERSHOOT = 2.0
"""Largest eigenvalue of K: at 2 what lies off the subspaces comes back with its sign turned."""


def strengths(T: int, c: float, q: Tensor | float = 1.0) -> Tensor:
    """1 - alpha_t(q), (T,) or (T, k): the share removed in directions of weight q (Proposition 2)."""
    weights = torch.as_tensor(q, dtype=torch.float64)
    if math.isinf(c) and c > 0:
        return torch.zeros(T, *weights.shape, dtype=torch.float64)
    return torch.from_numpy(1.0 - alphas(T, c, weights.numpy())).to(torch.float64)


def static_gain(
    projections: Mapping[str, Tensor],
    gains: Mapping[str, float],
    law: str,
    t: int,
    T: int,
    c: float,
) -> Gain:
    """Gain matrix of "averaged" or "exact-gain" at state t (Propositions 1, 2), of projections Q^i."""
    weighted = sum(gains[term] * projections[term] for term in gains)
    q, vectors = torch.linalg.eigh(weighted)
    top = float(q.max())
    q = torch.where(q < TOLERANCE * max(top, 1.0), torch.zeros_like(q), q)
    if law == "averaged":
        return Gain.from_spectrum(vectors, strengths(T, c)[t] * q)
    return Gain.from_spectrum(vectors, strengths(T, c, q)[t])


class StaticLaw:
    """A law without memory, for one forward call; it takes the gain of each controlled state."""

    def __init__(self, gains: Mapping[int, Gain]):
        self.gains = gains
        self.mask = self.padding = None

    def __call__(self, t: int, x: Tensor, mask: Tensor | None) -> Tensor:
        """Return the controlled state."""
        if mask is not self.mask:
            self.mask, self.padding = mask, padding_places(mask)
        return self.gains[t].add_to(x, x, mask, self.padding)


class ResidualLaw:
    """The law with memory, for one forward call of the model.

    It acts on x_t, on x_t plus all earlier states and on x_t - x_{t-1}, as these arrived, each with
    the gain (1 - alpha_t) K_i Q^i of its term; at t = 0 all three are x_0.

    Source: the running loss of section 2.1. Departure: the published code projects x_t only.
    """

    def __init__(self, gains: Mapping[int, Mapping[str, Gain]], terms: Sequence[str]):
        self.gains, self.terms = gains, terms
        self.next, self.past, self.last = 0, None, None
        self.mask = self.padding = None

    def __call__(self, t: int, x: Tensor, mask: Tensor | None) -> Tensor | None:
        """Return the controlled state, or None where the state is left alone."""
        if t == 0:
            self.next, self.past, self.last = 0, None, None
        if t != self.next:
            raise RuntimeError(
                f"block {t} ran where block {self.next} was due; the law 'residual' needs every "
                "block once and in order (no layer drop): switch that off or fit with law='averaged'"
            )
        signals = {"P": x}
        if "I" in self.terms:
            signals["I"] = self.past = x if self.past is None else self.past + x
        if "D" in self.terms:
            signals["D"] = x if self.last is None else x - self.last
            self.last = x
        self.next += 1
        if mask is not self.mask:
            self.mask, self.padding = mask, padding_places(mask)
        new = None
        for term, gain in self.gains.get(t, {}).items():
            new = gain.add_to(x if new is None else new, signals[term], mask, self.padding)
        return new


def check_overshoot(gains: Mapping[str, float], share: float, allow_expanding: bool) -> None:
    """Refuse gains under which a state, multiplied by 1 - share * sum of gains, may grow."""
    total = sum(gains.values())
    if total > torch.finfo(torch.float32).max:
        raise ValueError(f"the gains {gains} are too large for single precision")
    if share * total > OVERSHOOT * (1 + TOLERANCE) and not allow_expanding:
        raise ValueError(
            f"the gains {gains} overshoot: what lies off the subspaces is multiplied by "
            f"{1 - share * total:.3g}, so states may grow; give gains of sum at most "
            f"{OVERSHOOT:g}, or pass allow_expanding=True"
        )
