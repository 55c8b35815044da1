"""Fit linear estimates of clean states: state by state, those before it already corrected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from pidlib.data.alignment import Units, paired_units
from pidlib.data.batches import MAX_LENGTH, input_device, whole_number
from pidlib.data.edits import Edit
from pidlib.data.perturbations import Perturb, perturbed_rows
from pidlib.gain import Gain
from pidlib.hooks import Blocks
from pidlib.laws import StaticLaw
from pidlib.theory.wiener import Affine, regression_map, shrinkage, shrunk, wiener_map

RULES = ("regression", "wiener")


class Fit(NamedTuple):
    """How well a state is estimated, on the text of the fit; means over words."""

    words: Annotated[int, Field(ge=0)]
    size: float
    before: float
    after: float
    clean: float


@dataclass(frozen=True, eq=False)
class AffineEstimate:
    """One state's map x -> A x + b.

    Attributes
    ----------
    A, b : (d, d), (d,) float64 tensors
    fit : Fit, errors on the text of the fit
    thin : tensors (d, r) and (r, d) whose product is A - I, or None where the rank is not limited
    """

    A: Tensor
    b: Tensor
    fit: Fit
    thin: tuple[Tensor, Tensor] | None = None

    @classmethod
    def of_factors(cls, left: Tensor, right: Tensor, b: Tensor, fit: Fit) -> AffineEstimate:
        """The map x -> x + left right x + b."""
        eye = torch.eye(len(b), dtype=torch.float64)
        return cls(eye + left @ right, b, fit, (left, right))

    def of_rank(self, rank: int) -> AffineEstimate:
        """The nearest map whose A - I has a rank."""
        left, sizes, right = torch.linalg.svd(self.step)
        root = sizes[:rank].sqrt()  # kept in single precision, so hashed in it too
        factors = (left[:, :rank] * root, root[:, None] * right[:rank])
        return AffineEstimate.of_factors(
            *(part.float().double() for part in factors), self.b, self.fit
        )

    @property
    def step(self) -> Tensor:
        """A - I, (d, d)."""
        return self.A - torch.eye(len(self.b), dtype=torch.float64)

    @property
    def gain(self) -> Gain:
        """The control that makes A x + b of x."""
        if self.thin is None:
            return Gain(self.step.T.contiguous(), None, 0.0, self.b)
        left, right = self.thin
        return Gain(right.T.contiguous(), left.T.contiguous(), 0.0, self.b)


class _Enough(Exception):
    """The states asked for are there; the blocks after them need not run."""


class _Joint:
    """Moments of states of the same words: x clean, y clean as it arrives under control, p perturbed."""

    PAIRS = ("xx", "xy", "yy", "xp", "pp", "zz")

    def __init__(self, d: int) -> None:
        self.n = 0
        self.products = {pair: torch.zeros(d, d, dtype=torch.float64) for pair in self.PAIRS}
        self.sums = {name: torch.zeros(d, dtype=torch.float64) for name in "xypz"}

    def add(self, x: Tensor, y: Tensor, p: Tensor) -> None:
        states = {"x": x, "y": y, "p": p, "z": p - y}
        self.n += len(x)
        for name, total in self.sums.items():
            total += states[name].sum(0)
        for (a, b), total in self.products.items():
            total += states[a].T @ states[b]

    def mean(self, name: str) -> np.ndarray:
        return (self.sums[name] / self.n).numpy()

    def moment(self, pair: str) -> np.ndarray:
        """E a b^T."""
        return (self.products[pair] / self.n).numpy()

    def covariance(self, pair: str) -> np.ndarray:
        return _centred(self.moment(pair), self.mean(pair[0]), self.mean(pair[1]))

    def error(self, A: np.ndarray, b: np.ndarray, seen: str) -> float:
        """E||A s + b - x||^2 for s the states `seen`, y or p."""
        spread = np.trace(self.covariance("xx")) - 2 * np.sum(A * self.covariance("x" + seen))
        spread += np.sum((A @ self.covariance(2 * seen)) * A)
        return float(spread + np.sum((A @ self.mean(seen) + b - self.mean("x")) ** 2))


def closed_form(rule: str, rho: float) -> Callable[[int, _Joint], Affine]:
    """How a state's map follows from its moments, by a rule of `RULES`."""
    if not 0 <= rho < np.inf:
        raise ValueError(f"rho is {rho}; give a finite weight of at least 0, such as 0.5")
    return lambda _, joint: (_regressed if rule == "regression" else _filtered)(joint, rho)


def fit_estimates(
    blocks: Blocks,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    perturb: Perturb,
    states: Sequence[int],
    fit: Callable[[int, _Joint], Affine],
    seed: int = 0,
    batch_size: int = 64,
    max_length: int = MAX_LENGTH,
    skip_first: int = 0,
    rank: int | None = None,
) -> dict[int, AffineEstimate]:
    """A map `fit(t, moments)` for each state, on states that the maps before it have corrected."""
    whole_number("batch_size", batch_size, 1)
    order, pairs = np.argsort(text_lengths(rows), kind="stable"), []
    moved, edits = zip(*changed_rows(blocks.model, rows, perturb, seed), strict=True)
    for start in range(0, len(order), batch_size):
        part = order[start : start + batch_size].tolist()
        texts = ([of[k] for k in part] for of in (rows, edits, moved))
        device = input_device(blocks.model)
        pairs.append(paired_units(tokenizer, *texts, device, max_length, skip_first))
    estimates: dict[int, AffineEstimate] = {}
    for t in sorted(states):
        law = {s: before.gain for s, before in estimates.items()}
        joint = _moments(blocks, pairs, t, law, skip_first)
        A, b = fit(t, joint)
        size = float(np.trace(joint.covariance("xx")))
        change = joint.error(np.eye(len(b)), 0 * b, "p")
        fitted = Fit(joint.n, size, change, joint.error(A, b, "p"), joint.error(A, b, "y"))
        estimates[t] = AffineEstimate(torch.from_numpy(A), torch.from_numpy(b), fitted)
        if rank is not None:
            estimates[t] = estimates[t].of_rank(rank)
    return estimates


def writes(model: Any) -> bool:
    """Whether a model is a language model, which answers with its next token."""
    return bool(getattr(model, "can_generate", bool)())


def changed_rows(
    model: Any, rows: Sequence[Mapping[str, Any]], perturb: Perturb, seed: int
) -> list[tuple[dict[str, Any], tuple[Edit, ...]]]:
    """The rows changed, with the edits; for a language model a pair's continuation stays."""

    def of_prompt(row: dict[str, Any], random: np.random.Generator) -> Any:
        return perturb({k: v for k, v in row.items() if k != "hypothesis"}, random)

    return perturbed_rows(rows, of_prompt if writes(model) else perturb, seed)


def text_lengths(rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Characters of each row: texts of about one length are batched together."""
    return np.array(
        [sum(len(v) for v in rows[k].values() if isinstance(v, str)) for k in range(len(rows))]
    )


def _moments(
    blocks: Blocks, pairs: Sequence[tuple[Units, Units]], t: int, law: Mapping[int, Gain], skip: int
) -> _Joint:
    joint = None
    for clean, changed in pairs:
        both = clean.whole & changed.whole
        if not both.any():
            continue
        y = clean.means(state_of(blocks, clean.inputs, t, law, skip))[both].cpu()
        p = changed.means(state_of(blocks, changed.inputs, t, law, skip))[both].cpu()
        x = clean.means(state_of(blocks, clean.inputs, t, {}))[both].cpu() if law else y
        joint = joint or _Joint(y.shape[1])
        joint.add(x, y, p)
    if joint is None:
        raise ValueError("no word stands in both the clean and the perturbed text; perturb less")
    if not all(np.isfinite(joint.mean(name)).all() for name in "xyp"):
        raise ValueError(f"state x_{t} has NaN or infinite entries; check the weights")
    return joint


def _centred(moment: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Covariance from a second moment and means; rounding of nothing is nothing."""
    covariance = moment - np.outer(a, b)
    if np.abs(covariance).max() < 1e-12 * np.abs(moment).max():
        return np.zeros_like(covariance)
    return covariance


def _filtered(joint: _Joint, rho: float) -> Affine:
    """The Wiener rule from the spread of clean states and the second moment of changes."""
    clean, change = shrunk(joint.covariance("yy"), joint.n), shrunk(joint.moment("zz"), joint.n)
    return wiener_map(clean, change, rho / (1 + rho), joint.mean("y"))


def _regressed(joint: _Joint, rho: float) -> Affine:
    """Regression on a mixture: for one state as it arrives clean, rho perturbed ones."""
    share = rho / (1 + rho)
    mean_x, mean_s = joint.mean("x"), (1 - share) * joint.mean("y") + share * joint.mean("p")
    cross = (1 - share) * joint.moment("xy") + share * joint.moment("xp")
    seen = (1 - share) * joint.moment("yy") + share * joint.moment("pp")
    cross, seen = _centred(cross, mean_x, mean_s), _centred(seen, mean_s, mean_s)
    sure = 1 - shrinkage(seen, joint.n)  # both sides shrink: no words, no correction
    step = regression_map(sure * (cross - seen), shrunk(seen, joint.n), mean_x - mean_s, mean_s)
    return Affine(np.eye(len(seen)) + step.A, step.b)


def state_of(
    blocks: Blocks, inputs: Mapping[str, Tensor], t: int, law: Mapping[int, Gain], skip: int = 0
) -> Tensor:
    """x_t under a law on the states before it; later blocks are not run."""
    states: list[Tensor] = []
    static = StaticLaw(law)

    def control(s: int, x: Tensor, mask: Tensor | None) -> Tensor | None:
        if s == t:
            states.append(x)
            raise _Enough
        return static(s, x, mask)

    hooks = blocks.control(control, layers=[*law, t], skip_first=skip, private=True)
    with torch.inference_mode(), hooks, suppress(_Enough):
        blocks.model(**inputs)
    return states[0]
