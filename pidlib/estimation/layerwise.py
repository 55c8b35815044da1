"""Fit linear estimates of clean states: state by state, those before it already corrected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pidlib.data.alignment import Units, paired_units
from pidlib.data.batches import MAX_LENGTH, input_device
from pidlib.data.perturbations import Perturb, perturbed_rows
from pidlib.gain import Gain
from pidlib.hooks import Blocks, find_blocks
from pidlib.laws import Static
from pidlib.theory.wiener import Affine, regression_map, shrinkage, shrunk, wiener_map

RULES = ("regression", "wiener")


class Fit(NamedTuple):
    """How well a state is estimated, on the text of the fit; means over words."""

    words: int
    size: float
    before: float
    after: float
    clean: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """One state's map x -> A x + b.

    Attributes
    ----------
    A : (d, d) float64 tensor
    b : (d,) float64 tensor
    fit : Fit
    """

    A: Tensor
    b: Tensor
    fit: Fit

    @property
    def gain(self) -> Gain:
        """The control that makes A x + b of x."""
        eye = torch.eye(len(self.b), dtype=torch.float64)
        return Gain((self.A - eye).T.contiguous(), None, 0.0, self.b)


class _Enough(Exception):
    """The states asked for are there; the blocks after them need not run."""


class _Joint:
    """Means and second moments of clean, arriving and perturbed states of the same words.

    x: clean, without control. y: clean, as it arrives. p: perturbed, as it arrives.
    """

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


def fit_estimates(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    perturb: Perturb,
    layers: Sequence[int],
    rho: float = 0.5,
    rule: str = "regression",
    seed: int = 0,
    batch_size: int = 64,
    max_length: int = MAX_LENGTH,
    blocks: Any = None,
) -> dict[int, Estimate]:
    """Fit a map for each chosen state, the states before it already corrected."""
    found = find_blocks(model, blocks)
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule!r}; choose one of {RULES}")
    if not 0 <= rho < np.inf:
        raise ValueError(f"rho is {rho}; give a finite weight of at least 0, such as 0.5")
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it must be at least 1")
    if len(rows) == 0:
        raise ValueError("there are no rows: give at least one text")
    wrong = [t for t in layers if t not in range(found.depth)]
    if wrong:
        raise ValueError(f"no state {wrong[0]!r}; there are 0 to {found.depth - 1}")
    if model.training:
        raise ValueError("the model is in training mode (dropout is on); call model.eval() first")
    pairs = _pairs(tokenizer, rows, perturb, seed, batch_size, max_length, input_device(model))
    made: dict[int, Estimate] = {}
    for t in sorted(set(layers)):
        joint = _moments(found, pairs, t, {s: one.gain for s, one in made.items()})
        fitted = _regressed(joint, rho) if rule == "regression" else _filtered(joint, rho)
        made[t] = _measured(joint, *fitted)
    return made


def measured(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    perturb: Perturb,
    maps: Mapping[int, Affine],
    seed: int = 0,
    batch_size: int = 64,
    max_length: int = MAX_LENGTH,
    blocks: Any = None,
) -> dict[int, Estimate]:
    """Measure how well given maps estimate each state, those before it in place."""
    found = find_blocks(model, blocks)
    pairs = _pairs(tokenizer, rows, perturb, seed, batch_size, max_length, input_device(model))
    made: dict[int, Estimate] = {}
    for t, (A, b) in sorted(maps.items()):
        joint = _moments(found, pairs, t, {s: one.gain for s, one in made.items()})
        made[t] = _measured(joint, A, b)
    return made


def _measured(joint: _Joint, A: np.ndarray, b: np.ndarray) -> Estimate:
    eye, zero = np.eye(len(b)), np.zeros(len(b))
    size = float(np.trace(joint.covariance("xx")))
    told = (joint.error(eye, zero, "p"), joint.error(A, b, "p"), joint.error(A, b, "y"))
    return Estimate(torch.from_numpy(A), torch.from_numpy(b), Fit(joint.n, size, *told))


def _moments(
    found: Blocks, pairs: Sequence[tuple[Units, Units]], t: int, law: Mapping[int, Gain]
) -> _Joint:
    """Joint moments of state t over all pairs of texts."""
    joint = None
    for clean, changed in pairs:
        both = clean.whole & changed.whole
        if not both.any():
            continue
        arrived = _state(found, clean.inputs, t, law)
        y = clean.means(arrived)[both].cpu()
        p = changed.means(_state(found, changed.inputs, t, law))[both].cpu()
        x = clean.means(_state(found, clean.inputs, t, {}))[both].cpu() if law else y
        joint = joint or _Joint(y.shape[1])
        joint.add(x, y, p)
    if joint is None:
        raise ValueError("no word stands in both the clean and the perturbed text; perturb less")
    if not all(np.isfinite(joint.mean(name)).all() for name in "xyp"):
        raise ValueError(f"state x_{t} has NaN or infinite entries; check the weights")
    return joint


def _centred(moment: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Covariance from a second moment and means; rounding of nothing is nothing."""
    found = moment - np.outer(a, b)
    return np.zeros_like(found) if np.abs(found).max() < 1e-12 * np.abs(moment).max() else found


def _filtered(joint: _Joint, rho: float) -> Affine:
    """The Wiener rule from the spread of clean states and the second moment of changes."""
    return wiener_map(
        shrunk(joint.covariance("yy"), joint.n),
        shrunk(joint.moment("zz"), joint.n),
        rho / (1 + rho),
        joint.mean("y"),
    )


def _regressed(joint: _Joint, rho: float) -> Affine:
    """Regression on a mixture: for one state as it arrives clean, rho perturbed ones.

    The correction x - s is regressed, not x: where words are few, shrinkage then leaves the
    state as it is, and does not pull it to the mean.
    """
    share = rho / (1 + rho)
    mean_x, mean_s = joint.mean("x"), (1 - share) * joint.mean("y") + share * joint.mean("p")
    cross = (1 - share) * joint.moment("xy") + share * joint.moment("xp")
    seen = (1 - share) * joint.moment("yy") + share * joint.moment("pp")
    cross, seen = _centred(cross, mean_x, mean_s), _centred(seen, mean_s, mean_s)
    sure = 1 - shrinkage(seen, joint.n)  # both sides shrink: no words, no correction
    step = regression_map(sure * (cross - seen), shrunk(seen, joint.n), mean_x - mean_s, mean_s)
    return Affine(np.eye(len(seen)) + step.A, step.b)


def _pairs(
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    perturb: Perturb,
    seed: int,
    batch_size: int,
    max_length: int,
    device: Any,
) -> list[tuple[Units, Units]]:
    """Clean and perturbed texts, tokenised; texts of about one length together."""
    made = perturbed_rows(rows, perturb, seed)

    def length(k: int) -> int:
        return sum(len(text) for text in rows[k].values() if isinstance(text, str))

    order = sorted(range(len(rows)), key=length)

    def parts() -> Iterator[list[int]]:
        for start in range(0, len(order), batch_size):
            yield order[start : start + batch_size]

    return [
        paired_units(
            tokenizer,
            [rows[k] for k in part],
            [made[k][1] for k in part],
            [made[k][0] for k in part],
            device,
            max_length,
        )
        for part in parts()
    ]


def _state(found: Blocks, inputs: Mapping[str, Tensor], t: int, law: Mapping[int, Gain]) -> Tensor:
    """x_t under a law on the states before it; later blocks are not run."""
    seen: list[Tensor] = []
    static = Static(law)

    def control(s: int, x: Tensor, mask: Tensor | None) -> Tensor | None:
        if s == t:
            seen.append(x)
            raise _Enough
        return static(s, x, mask)

    with torch.inference_mode(), found.control(control, layers=[*law, t]):
        try:
            found.model(**inputs)
        except _Enough:
            pass
    return seen[0]
