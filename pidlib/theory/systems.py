"""Synthetic networks: stacks of layers whose clean states lie in known subspaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

Feedback = Callable[[int, np.ndarray], np.ndarray]


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

    Raises
    ------
    ValueError
        Shapes that do not fit.

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
        return np.eye(self.d) - self.bases @ np.swapaxes(self.bases, -1, -2)

    def layer(self, t: int, v: np.ndarray) -> np.ndarray:
        """Image of the controlled states v, (..., d), under layer t.

        Parameters
        ----------
        t : int
            Layer, from 0.
        v : (..., d) array

        Returns
        -------
        (..., d) array
        """
        return np.einsum("...ij,...j->...i", self.thetas[..., t, :, :], v)


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


def _check_sizes(d: int, r: int, T: int) -> None:
    if T < 1:
        raise ValueError(f"the number of layers T is {T}; it must be at least 1")
    if not 1 <= r <= d:
        raise ValueError(f"the subspace has dimension r = {r}; it must lie in 1..{d}")


def _orthogonal(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Random orthogonal matrices, uniform (Haar) over the group."""
    q, upper = np.linalg.qr(random.standard_normal(shape))
    return q * np.sign(np.diagonal(upper, axis1=-2, axis2=-1))[..., None, :]


def _carried(thetas: np.ndarray, first: np.ndarray, orthogonal: bool) -> LinearSystem:
    """Build the system whose subspaces are the images of the first one."""
    bases = [first]
    for t in range(thetas.shape[-3]):
        image = thetas[..., t, :, :] @ bases[-1]
        bases.append(image if orthogonal else np.linalg.qr(image)[0])
    return LinearSystem(thetas, np.stack(bases, axis=-3))


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

    Raises
    ------
    ValueError
        Sizes out of range.

    Examples
    --------
    >>> system = orthogonal_system(d=4, r=2, T=3, seed=0)
    >>> bool(np.allclose(system.thetas @ system.thetas.swapaxes(1, 2), np.eye(4)))
    True

    Source: Assumption 2; equation theorem-one. Departure: the transport of the subspace is
    part of the construction; the paper's proof takes it for granted.
    """
    _check_sizes(d, r, T)
    random = np.random.default_rng(seed)
    thetas = _orthogonal(random, (*batch, T, d, d))
    return _carried(thetas, _orthogonal(random, (*batch, d, d))[..., :r], orthogonal=True)


def rotating_system(
    d: int, r: int, T: int, seed: int, angle: float = 0.5, batch: tuple[int, ...] = ()
) -> LinearSystem:
    """Orthogonal layers that turn by at most an angle: theta_t = exp(angle * skew_t).

    The distance from the identity is 2 sin(angle / 2) up to an angle of pi; only small
    angles give layers near the identity, as in a residual network.

    Parameters
    ----------
    d, r, T, seed, batch
        As for `orthogonal_system`.
    angle : float
        Scale of the rotation in radians: the spectral norm of the exponent.

    Returns
    -------
    LinearSystem

    Raises
    ------
    ValueError
        Sizes out of range.

    Examples
    --------
    >>> system = rotating_system(d=4, r=2, T=3, seed=0, angle=0.1)
    >>> bool(np.linalg.norm(system.thetas[0] - np.eye(4), 2) < 0.1)
    True

    Source: ours; equation theorem-one.
    """
    _check_sizes(d, r, T)
    random = np.random.default_rng(seed)
    skew = random.standard_normal((*batch, T, d, d))
    skew = skew - np.swapaxes(skew, -1, -2)
    if d > 1:
        skew *= angle / np.linalg.norm(skew, 2, axis=(-2, -1), keepdims=True)
    thetas = scipy.linalg.expm(skew)
    return _carried(thetas, _orthogonal(random, (*batch, d, d))[..., :r], orthogonal=True)


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

    Raises
    ------
    ValueError
        Sizes out of range, or kappa below 1.

    Examples
    --------
    >>> system = conditioned_system(d=4, r=2, T=3, seed=0, kappa=5.0)
    >>> np.linalg.cond(system.thetas).round(6)
    array([5., 5., 5.])

    Source: ours; equation assumptions-condition.
    """
    _check_sizes(d, r, T)
    if not kappa >= 1 or not np.isfinite(kappa):
        raise ValueError(f"the condition number kappa is {kappa}; it must be at least 1")
    if d == 1 and kappa > 1:
        raise ValueError("a layer of size d = 1 has condition number 1; give kappa = 1")
    random = np.random.default_rng(seed)
    powers = random.uniform(-0.5, 0.5, (*batch, T, d))
    if d > 1:
        powers[..., 0], powers[..., 1] = 0.5, -0.5
    left, right = (_orthogonal(random, (*batch, T, d, d)) for _ in range(2))
    thetas = (left * (float(kappa) ** powers)[..., None, :]) @ right
    return _carried(thetas, _orthogonal(random, (*batch, d, d))[..., :r], orthogonal=False)


def tilted_bases(system: LinearSystem, angle: float, seed: int) -> np.ndarray:
    """Bases turned off the clean subspaces, each layer's by the same angle.

    Every principal angle between V_t and its tilted copy is `angle`; the direction of
    the tilt is random and new at each layer.

    Parameters
    ----------
    system : LinearSystem
        With 2 r at most d. A batch is tilted too.
    angle : float
        In radians, 0 to pi / 2.
    seed : int
        Of the directions.

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

    Source: ours; equation assumptions-tilt.
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

    Raises
    ------
    ValueError
        Sizes out of range, or a negative strength.

    Examples
    --------
    >>> system = residual_system(d=3, r=1, T=2, seed=0, strength=0.0)
    >>> v = np.ones(3)
    >>> bool(np.allclose(system.layer(0, v), system.linear.layer(0, v)))
    True

    Source: ours; equation assumptions-residual-network.
    """
    if not strength >= 0:
        raise ValueError(f"the strength is {strength}; it cannot be negative")
    linear = rotating_system(d, r, T, seed)
    random = np.random.default_rng([seed, 1])
    inner, outer = random.standard_normal((2, T, d, d)) / np.sqrt(d)
    return ResidualSystem(linear, inner, outer, float(strength))


def simulate(
    system: LinearSystem | ResidualSystem,
    x0: np.ndarray,
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

    Raises
    ------
    ValueError
        An input of the wrong size.

    Examples
    --------
    >>> system = orthogonal_system(d=4, r=2, T=3, seed=0)
    >>> clean = simulate(system, system.bases[0] @ np.array([1.0, 2.0]))
    >>> off = system.complements @ clean.states[:, :, None]
    >>> bool(abs(off).max() < 1e-12)        # clean states stay in their subspaces
    True

    Source: Eq. (1); equation riccati-dynamics.
    """
    x = np.asarray(x0, dtype=np.float64)
    if x.shape[-1:] != (system.d,):
        raise ValueError(f"x0 has shape {x.shape}; its last axis must have size d = {system.d}")
    if isinstance(feedback, np.ndarray):
        gains = feedback

        def feedback(t: int, x: np.ndarray) -> np.ndarray:
            return -np.einsum("...ij,...j->...i", gains[..., t, :, :], x)

    states, controls = [x], []
    for t in range(system.T):
        u = np.zeros_like(x) if feedback is None else feedback(t, x)
        x = system.layer(t, x + u)
        states.append(x)
        controls.append(u)
    return Trajectory(np.stack(np.broadcast_arrays(*states)), np.stack(controls))
