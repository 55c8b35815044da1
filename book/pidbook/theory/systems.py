"""Synthetic networks: stacks of layers whose clean states lie in known subspaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from pidbook.theory.inputs import inputs_of
from pidlib.theory.inputs import depth, number

PASTS = ("states", "controlled")
Feedback = Callable[[int, np.ndarray], np.ndarray]
HistoryLaw = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Trajectory(NamedTuple):
    """What a network did with one input, or with several.

    Attributes
    ----------
    states : (T + 1, ..., d) array
        x_0 to x_T, before the control of each layer.
    controls : (T, ..., d) array
        u_0 to u_{T-1}; the layer sees x_t + u_t.

    Source: Eq. (1); equation riccati-dynamics.
    """

    states: np.ndarray
    controls: np.ndarray


@dataclass(frozen=True)
class LinearSystem:
    """Linear layers x_{t+1} = theta_t (x_t + u_t) and the subspaces of clean states.

    Attributes
    ----------
    thetas : (..., T, d, d) array
        One matrix per layer; leading axes are a batch of systems.
    bases : (..., T + 1, d, r) array
        Orthonormal basis V_t of the clean subspace at x_t.

    Examples
    --------
    >>> system = orthogonal_system(d=4, r=2, T=3, seed=0)
    >>> system.T, system.d, system.r
    (3, 4, 2)

    Source: Assumption 1; equation riccati-dynamics.
    """

    thetas: np.ndarray
    bases: np.ndarray

    def __post_init__(self) -> None:
        """Refuse shapes that do not fit."""
        layers, frames = self.thetas.shape, self.bases.shape
        if len(layers) < 3 or layers[-1] != layers[-2]:
            raise ValueError(f"thetas have shape {layers}; expected (..., T, d, d)")
        if frames[:-2] != (*layers[:-3], layers[-3] + 1) or frames[-2] != layers[-1]:
            raise ValueError(f"bases have shape {frames}; expected (..., T + 1, d, r)")

    @property
    def T(self) -> int:
        """Number of layers."""
        return self.thetas.shape[-3]

    @property
    def d(self) -> int:
        """Size of a state."""
        return self.thetas.shape[-1]

    @property
    def r(self) -> int:
        """Dimension of the clean subspaces."""
        return self.bases.shape[-1]

    @property
    def complements(self) -> np.ndarray:
        """Projections Q_t = I - V_t V_t^T off the clean subspaces, (..., T + 1, d, d)."""
        return np.eye(self.d) - self.bases @ self.bases.mT

    def layer(self, t: int, v: np.ndarray) -> np.ndarray:
        """Image of the controlled states v, (..., d), under layer t."""
        return apply(self.thetas, t, v)


@dataclass(frozen=True)
class ResidualSystem:
    """Residual layers F_t(v) = theta_t v + g B_t tanh(C_t v), clean in a known subspace."""

    linear: LinearSystem
    inner: np.ndarray
    outer: np.ndarray
    strength: float

    @property
    def T(self) -> int:
        """Number of layers."""
        return self.linear.T

    @property
    def d(self) -> int:
        """Size of a state."""
        return self.linear.d

    def layer(self, t: int, v: np.ndarray) -> np.ndarray:
        """Image of the controlled states v, (..., d), under layer t."""
        bent = np.tanh(v @ self.inner[t].T) @ self.outer[t].T
        return self.linear.layer(t, v) + self.strength * bent


def apply(matrices: np.ndarray, t: int, x: np.ndarray) -> np.ndarray:
    """Product of matrix t of each system, (..., T, d, d), and its states (..., d)."""
    layer = matrices[..., t, :, :]
    return x @ layer.T if layer.ndim == 2 else np.einsum("...ij,...j->...i", layer, x)


def _orthogonal(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Random orthogonal matrices, uniform (Haar) over the group."""
    q, upper = np.linalg.qr(random.standard_normal(shape))
    return q * np.sign(np.diagonal(upper, axis1=-2, axis2=-1))[..., None, :]


def _carried(
    thetas: np.ndarray, random: np.random.Generator, r: int, orthogonal: bool = True
) -> LinearSystem:
    """Build the system whose subspaces are the images of a random first one."""
    bases = [_orthogonal(random, (*thetas.shape[:-3], *thetas.shape[-2:]))[..., :r]]
    for t in range(thetas.shape[-3]):
        image = thetas[..., t, :, :] @ bases[-1]
        bases.append(image if orthogonal else np.linalg.qr(image)[0])
    return LinearSystem(thetas, np.stack(bases, axis=-3))


def _generator(d: int, r: int, T: int, seed: int | list[int]) -> np.random.Generator:
    """Refuse sizes out of range; then a random generator."""
    depth(T)
    if not 1 <= r <= d:
        raise ValueError(f"the subspace has dimension r = {r}; it must lie in 1..{d}")
    return np.random.default_rng(seed)


def orthogonal_system(
    d: int, r: int, T: int, seed: int, batch: tuple[int, ...] = ()
) -> LinearSystem:
    """Random orthogonal layers that carry a random subspace along.

    The hypotheses of Theorem 1: theta_t orthogonal, and V_{t+1} = theta_t V_t.

    Parameters
    ----------
    d, r : int
        Size of a state, and dimension of the clean subspace, 1 to d.
    T : int
        Number of layers, at least 1.
    seed : int
        Of the random generator.
    batch : tuple of int
        Leading axes, to draw many systems at once.

    Returns
    -------
    LinearSystem

    Examples
    --------
    >>> system = orthogonal_system(d=4, r=2, T=3, seed=0)
    >>> bool(np.allclose(system.thetas @ system.thetas.mT, np.eye(4)))
    True

    Source: Assumption 2; equation theorem-one. Departure: the transport of the subspace is
    part of the construction; the paper's proof takes it for granted.
    """
    random = _generator(d, r, T, seed)
    return _carried(_orthogonal(random, (*batch, T, d, d)), random, r)


def rotating_system(
    d: int, r: int, T: int, seed: int, angle: float = 0.5, batch: tuple[int, ...] = ()
) -> LinearSystem:
    """Orthogonal layers that turn by at most an angle: theta_t = exp(angle * skew_t).

    Only small angles give layers near the identity, as in a residual network.

    Parameters
    ----------
    d, r, T, seed, batch
        As for `orthogonal_system`.
    angle : float
        Spectral norm of the exponent, in radians.

    Returns
    -------
    LinearSystem

    Examples
    --------
    >>> system = rotating_system(d=4, r=2, T=3, seed=0, angle=0.1)
    >>> bool(np.linalg.norm(system.thetas[0] - np.eye(4), 2) < 0.1)
    True

    Source: equation theorem-one.
    """
    random = _generator(d, r, T, seed)
    skew = random.standard_normal((*batch, T, d, d))
    skew = skew - skew.mT
    if d > 1:
        skew *= angle / np.linalg.norm(skew, 2, axis=(-2, -1), keepdims=True)
    return _carried(scipy.linalg.expm(skew), random, r)


def conditioned_system(
    d: int, r: int, T: int, seed: int, kappa: float, batch: tuple[int, ...] = ()
) -> LinearSystem:
    """Layers of a given condition number that carry a random subspace along.

    Parameters
    ----------
    d, r, T, seed, batch
        As for `orthogonal_system`.
    kappa : float
        Condition number of every layer, at least 1: singular values log-uniform between
        kappa^-1/2 and kappa^1/2, both ends taken. 1 gives orthogonal layers.

    Returns
    -------
    LinearSystem

    Examples
    --------
    >>> system = conditioned_system(d=4, r=2, T=3, seed=0, kappa=5.0)
    >>> np.linalg.cond(system.thetas).round(6)
    array([5., 5., 5.])

    Source: equation assumptions-condition.
    """
    random = _generator(d, r, T, seed)
    number("the condition number kappa", kappa, "at least 1")
    if d == 1 and kappa > 1:
        raise ValueError("a layer of size d = 1 has condition number 1; give kappa = 1")
    powers = random.uniform(-0.5, 0.5, (*batch, T, d))
    if d > 1:
        powers[..., 0], powers[..., 1] = 0.5, -0.5
    left, right = (_orthogonal(random, (*batch, T, d, d)) for _ in range(2))
    thetas = (left * (float(kappa) ** powers)[..., None, :]) @ right
    return _carried(thetas, random, r, orthogonal=False)


def tilted_bases(system: LinearSystem, angle: float, seed: int) -> np.ndarray:
    """Bases turned off the clean subspaces, each layer's by the same angle.

    Parameters
    ----------
    system : LinearSystem
        With 2 r at most d. A batch is tilted too.
    angle : float
        Every principal angle between V_t and its tilted copy, 0 to pi / 2 radians.
    seed : int
        Of the directions, random and new at each layer.

    Returns
    -------
    (..., T + 1, d, r) array
        Orthonormal columns.

    Raises
    ------
    ValueError
        A subspace too large to be turned out of itself, or an angle out of range.

    Examples
    --------
    >>> system = orthogonal_system(d=6, r=2, T=3, seed=0)
    >>> tilted = tilted_bases(system, 0.1, seed=1)
    >>> cosines = np.linalg.svd(system.bases[1].T @ tilted[1], compute_uv=False)
    >>> np.arccos(cosines).round(6)
    array([0.1, 0.1])

    Source: equation assumptions-tilt.
    """
    if not 0 <= angle <= np.pi / 2:
        raise ValueError(f"the angle is {angle}; it must lie between 0 and pi / 2 radians")
    if 2 * system.r > system.d:
        raise ValueError(
            f"a subspace of dimension r = {system.r} in d = {system.d} has no room to tilt; "
            "2 r must be at most d"
        )
    random = np.random.default_rng(seed)
    out = system.complements @ random.standard_normal(system.bases.shape)
    return np.cos(angle) * system.bases + np.sin(angle) * np.linalg.qr(out)[0]


def residual_system(d: int, r: int, T: int, seed: int, strength: float = 0.3) -> ResidualSystem:
    """Rotating layers with a tanh branch of a given strength.

    Parameters
    ----------
    d, r, T, seed
        As for `orthogonal_system`.
    strength : float
        Factor g of the tanh branch, at least 0.

    Returns
    -------
    ResidualSystem
        `linear`, `inner` and `outer` are theta_t, C_t and B_t of theta_t v + g B_t tanh(C_t v).

    Examples
    --------
    >>> system = residual_system(d=3, r=1, T=2, seed=0, strength=0.0)
    >>> v = np.ones(3)
    >>> bool(np.allclose(system.layer(0, v), system.linear.layer(0, v)))
    True

    Source: equation assumptions-residual-network.
    """
    number("the strength", strength)
    linear = rotating_system(d, r, T, seed)
    random = np.random.default_rng([seed, 1])
    inner, outer = random.standard_normal((2, T, d, d)) / np.sqrt(d)
    return ResidualSystem(linear, inner, outer, float(strength))


class Run(NamedTuple):
    """States and controls of a run, and v_t, v_t + s_t, v_t - y_t: what the running loss weighs."""

    states: list[np.ndarray]
    controls: list[np.ndarray]
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]


def run_layers(
    layer: Feedback, T: int, x: np.ndarray, law: HistoryLaw, past: str = "states"
) -> Run:
    """Run layers under a law of the state, the sum s of all past ones, and the last one y."""
    s = y = np.zeros_like(x)
    states, controls, parts = [x], [], []
    for t in range(T):
        u = law(t, x, s, y)
        v = x + u
        parts.append((v, v + s, v - y))
        y = v if past == "controlled" else x
        s, x = s + y, layer(t, v)
        states.append(x)
        controls.append(u)
    return Run(states, controls, parts)


def simulate(
    system: LinearSystem | ResidualSystem,
    x0: ArrayLike,
    feedback: Feedback | np.ndarray | None = None,
) -> Trajectory:
    """Run a network, with a feedback control or without.

    Parameters
    ----------
    system : LinearSystem or ResidualSystem
        Anything with `T`, `d` and `layer(t, v)`.
    x0 : (..., d) array
        Inputs.
    feedback : function (t, x) -> u, or (..., T, d, d) array, or None
        With an array K the control is u_t = -K_t x_t. None: no control.

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> system = orthogonal_system(d=4, r=2, T=3, seed=0)
    >>> clean = simulate(system, system.bases[0] @ np.array([1.0, 2.0]))
    >>> off = system.complements @ clean.states[:, :, None]
    >>> bool(abs(off).max() < 1e-12)        # clean states stay in their subspaces
    True

    Source: Eq. (1); equation riccati-dynamics.
    """
    x = inputs_of(x0, system.d)

    def law(t: int, x: np.ndarray, *_: np.ndarray) -> np.ndarray:
        if feedback is None:
            return np.zeros_like(x)
        return feedback(t, x) if callable(feedback) else -apply(feedback, t, x)

    states, controls, _ = run_layers(system.layer, system.T, x, law)
    return Trajectory(np.stack(np.broadcast_arrays(*states)), np.stack(controls))
