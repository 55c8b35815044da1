"""Fit the Wiener law on a model: state by state, with the states before already controlled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pidlib.batches import MAX_LENGTH
from pidlib.blocks import Blocks, find_blocks
from pidlib.laws import Gain, Static
from pidlib.perturbations import Perturb, perturbed_rows
from pidlib.units import Units, paired_units
from pidlib.wiener import Affine, regression_map, shrunk, wiener_map

RULES = ("wiener", "regression")


@dataclass(frozen=True, eq=False)
class Estimates:
    """Affine maps x -> A_t x + b_t of the controlled states.

    Attributes
    ----------
    A : dict of int to (d, d) float64 tensor
    b : dict of int to (d,) float64 tensor
    record : dict
        How they were fitted.
    """

    A: dict[int, Tensor]
    b: dict[int, Tensor]
    record: dict[str, Any] = field(default_factory=dict)

    def gain(self, t: int) -> Gain:
        """The control that makes A_t x + b_t of x."""
        eye = torch.eye(len(self.b[t]), dtype=torch.float64)
        return Gain((self.A[t] - eye).T.contiguous(), None, 0.0, self.b[t])


class _Enough(Exception):
    """The states asked for are there; the blocks after them need not run."""


class _Joint:
    """Running sums of two or three kinds of state of the same units."""

    def __init__(self, d: int, pairs: Sequence[tuple[str, str]]) -> None:
        self.n = 0
        self.pairs = {pair: torch.zeros(d, d, dtype=torch.float64) for pair in pairs}
        self.sums = {name: torch.zeros(d, dtype=torch.float64) for pair in pairs for name in pair}

    def add(self, states: Mapping[str, Tensor]) -> None:
        self.n += len(next(iter(states.values())))
        for name, total in self.sums.items():
            total += states[name].sum(0)
        for (a, b), total in self.pairs.items():
            total += states[a].T @ states[b]

    def mean(self, name: str) -> np.ndarray:
        return (self.sums[name] / self.n).numpy()

    def covariance(self, a: str, b: str) -> np.ndarray:
        second = self.pairs[a, b] / self.n - torch.outer(self.sums[a], self.sums[b]) / self.n**2
        return second.numpy()

    def moment(self, a: str) -> np.ndarray:
        return (self.pairs[a, a] / self.n).numpy()


def fit_estimates(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    perturb: Perturb,
    layers: Sequence[int],
    rho: float = 0.5,
    rule: str = "wiener",
    seed: int = 0,
    batch_size: int = 64,
    max_length: int = MAX_LENGTH,
    blocks: Any = None,
) -> Estimates:
    """Fit a map for each chosen state, the states before it already corrected.

    Parameters
    ----------
    model, tokenizer
        As for `PIDController.fit`; the tokenizer has to tell the places of its tokens.
    rows : sequence of mappings
        Clean text; labels are not used.
    perturb : callable
        `RandomEdits` or a function of one's own, see `pidlib.perturbations`.
    layers : sequence of int
        States to correct.
    rho : float
        Weight of the perturbations, at least 0.
    rule : {"wiener", "regression"}
        `wiener` takes a perturbation as independent of the state; `regression` uses how the
        two go together, and aims at the clean state *without* control.
    seed, batch_size, max_length : int
    blocks : str or sequence of modules, optional
        Where the blocks are, if they are not found.

    Returns
    -------
    Estimates

    Raises
    ------
    ValueError
        An unknown rule, or what `wiener_map` and `perturbed_rows` refuse.

    Source: ours.
    """
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule!r}; choose one of {RULES}")
    found = find_blocks(model, blocks)
    pairs = _prepare(tokenizer, rows, perturb, seed, batch_size, max_length, model.device)
    made = Estimates({}, {}, {"rho": rho, "rule": rule})
    for t in sorted(layers):
        joint = None
        law = {s: made.gain(s) for s in made.A}
        for clean, changed in pairs:
            both = clean.whole & changed.whole
            states = {
                "y": clean.means(_state(found, clean.inputs, t, law))[both].cpu(),
                "p": changed.means(_state(found, changed.inputs, t, law))[both].cpu(),
            }
            if rule == "regression":
                wanted = (
                    states["y"]
                    if not law
                    else clean.means(_state(found, clean.inputs, t, {}))[both].cpu()
                )
                states["x"] = wanted
                kinds = [("x", "x"), ("x", "y"), ("y", "y"), ("x", "p"), ("p", "p")]
            else:
                states["z"] = states["p"] - states["y"]
                kinds = [("y", "y"), ("z", "z")]
            if joint is None:
                joint = _Joint(states["y"].shape[1], kinds)
            joint.add(states)
        A, b = _solve(joint, rule, rho)
        made.A[t], made.b[t] = torch.from_numpy(A), torch.from_numpy(b)
    return made


def _solve(joint: _Joint, rule: str, rho: float) -> Affine:
    if rule == "wiener":
        sigma_x = shrunk(joint.covariance("y", "y"), joint.n)
        sigma_z = shrunk(joint.moment("z"), joint.n)
        return wiener_map(sigma_x, sigma_z, rho, joint.mean("y"))
    # a share rho of the states seen is perturbed
    share = rho / (1 + rho)
    mean_x = joint.mean("x")
    mean_y = (1 - share) * joint.mean("y") + share * joint.mean("p")

    def centred(a: str, b: str, ma: np.ndarray, mb: np.ndarray) -> np.ndarray:
        second = joint.covariance(a, b) + np.outer(joint.mean(a), joint.mean(b))
        return second - np.outer(ma, joint.mean(b)) - np.outer(joint.mean(a), mb) + np.outer(ma, mb)

    cross = (1 - share) * centred("x", "y", mean_x, mean_y) + share * centred(
        "x", "p", mean_x, mean_y
    )
    seen = (1 - share) * centred("y", "y", mean_y, mean_y) + share * centred(
        "p", "p", mean_y, mean_y
    )
    seen = seen + 1e-6 * np.trace(seen) / len(seen) * np.eye(len(seen))
    return regression_map(joint.covariance("x", "x"), cross, seen, mean_x, mean_y)


def _prepare(
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    perturb: Perturb,
    seed: int,
    batch_size: int,
    max_length: int,
    device: Any,
) -> list[tuple[Units, Units]]:
    made = perturbed_rows(rows, perturb, seed)
    order = sorted(
        range(len(rows)), key=lambda k: sum(len(v) for v in rows[k].values() if isinstance(v, str))
    )
    found = []
    for start in range(0, len(order), batch_size):
        part = order[start : start + batch_size]
        found.append(
            paired_units(
                tokenizer,
                [rows[k] for k in part],
                [made[k][1] for k in part],
                [made[k][0] for k in part],
                device,
                max_length,
            )
        )
    return found


def _state(found: Blocks, inputs: Mapping[str, Tensor], t: int, law: Mapping[int, Gain]) -> Tensor:
    """x_t under a law on the states before it; later blocks are not run."""
    seen: list[Tensor] = []
    static = Static(law)

    def control(s: int, x: Tensor, mask: Tensor | None) -> Tensor | None:
        if s == t:
            seen.append(x)
            raise _Enough
        return static(s, x, mask) if s in law else None

    with torch.inference_mode(), found.control(control, layers=[*law, t]):
        try:
            found.model(**inputs)
        except _Enough:
            pass
    return seen[0]
