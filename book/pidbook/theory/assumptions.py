"""Theorem 1 with one assumption broken at a time: tilt, condition, curvature, and the leak."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pidbook.theory.gains import generalised_error
from pidbook.theory.riccati import riccati
from pidbook.theory.systems import (
    LinearSystem,
    ResidualSystem,
    conditioned_system,
    residual_system,
    simulate,
    tilted_bases,
)
from pidlib.theory.gains import alphas, attenuation, predicted_error
from pidlib.theory.inputs import number

INPUTS = 40


class ViolatedErrors(NamedTuple):
    """Root mean square errors over inputs, as shares of the clean state's norm."""

    controlled: np.ndarray
    clean: np.ndarray
    free: np.ndarray
    theorem: np.ndarray


def violated_errors(
    tilt: float = 0.0,
    apart: float = 0.0,
    kappa: float = 1.0,
    bend: float = 0.0,
    d: int = 24,
    r: int = 6,
    T: int = 12,
    c: float = 1.0,
    size: float = 0.3,
    seed: int = 3,
    refit: bool = False,
) -> ViolatedErrors:
    """Run the law of Proposition 2 where its assumptions fail.

    With two subspaces it is the averaged law, as if both terms had the gain 1/2.

    Parameters
    ----------
    tilt : float
        Angle in degrees by which every fitted subspace is off the clean one.
    apart : float
        Angle in degrees between the clean subspaces and a second one, which the layers carry.
    kappa : float
        Condition number of every layer, at least 1.
    bend : float
        Strength of a tanh branch beside every layer.
    d, r, T, c
        Width, dimension of the subspaces, depth, cost.
    size : float
        Norm of the perturbations; clean inputs have norm 1.
    seed : int
        Of layers, tilt and inputs.
    refit : bool
        Take the subspaces that fit the clean states best, and no tilt, in place of those of the
        layers without the branch.

    Returns
    -------
    ViolatedErrors
        `controlled`, `clean` under control, `free` of control and of the `theorem`: root mean
        squares over inputs at t = 0 to T, as shares of the clean state's norm, (T + 1,) arrays.

    Raises
    ------
    ValueError
        Settings out of range.

    Examples
    --------
    >>> errors = violated_errors()
    >>> bool(np.allclose(errors.controlled, errors.theorem)), float(errors.clean.max()) < 1e-12
    (True, True)

    Source: equations assumptions-residual-network, assumptions-tilt, gains-averaged.
    """
    number("bend", bend)
    number("size", size, "positive")
    random = np.random.default_rng(seed)
    linear = conditioned_system(d, r, T, seed, kappa)
    inner, outer = random.standard_normal((2, T, d, d)) / np.sqrt(d)
    system = ResidualSystem(linear, inner, outer, float(bend))
    x0 = random.standard_normal((INPUTS, r)) @ linear.bases[0].T
    x0 /= np.linalg.norm(x0, axis=1, keepdims=True)
    z = random.standard_normal((INPUTS, d))
    z *= size / np.linalg.norm(z, axis=1, keepdims=True)
    clean = simulate(system, x0).states
    V = tilted_bases(linear, np.deg2rad(tilt), seed)
    if refit:
        V = np.linalg.svd(clean)[2][:, :r].swapaxes(1, 2)
    onto = V @ V.mT
    if apart:
        second = tilted_bases(linear, np.deg2rad(apart), seed)[:1]
        for layer in linear.thetas:
            second = np.append(second, np.linalg.qr(layer @ second[-1])[0][None], axis=0)
        onto = (onto + second @ second.mT) / 2
    K = (1 - alphas(T, c))[:, None, None] * (np.eye(d) - onto)[:-1]
    errors = []
    for start, feedback in ((x0 + z, K), (x0, K), (x0 + z, None)):
        gap = simulate(system, start, feedback).states - clean
        errors.append(np.sqrt(((gap**2).sum(-1) / (clean**2).sum(-1)).mean(axis=1)))
    off = ((z @ linear.complements[0]) ** 2).sum(-1)
    return ViolatedErrors(*errors, np.sqrt(predicted_error(size**2 - off, off, T, c).mean(axis=1)))


class Leak(NamedTuple):
    """Parts of an error under layers that are not orthogonal."""

    predicted: np.ndarray
    leak: np.ndarray
    share: np.ndarray


def leak(system: LinearSystem, z: np.ndarray, c: float) -> Leak:
    """Error of the law of Proposition 2 by the exact identity for any carried subspaces.

    Parameters
    ----------
    system : LinearSystem
        One system with invertible layers that carry their subspaces.
    z : (d,) array
        Perturbation of the input.
    c : float
        Cost of the control.

    Returns
    -------
    Leak
        `predicted` errors and their parts `leak`, (T + 1, d); `share` (T,), the size of each
        layer's leak over the most that its condition number allows.

    Raises
    ------
    ValueError
        A batch of systems, or a perturbation of the wrong size.

    Examples
    --------
    >>> from pidbook.theory.systems import orthogonal_system
    >>> parts = leak(orthogonal_system(6, 2, 4, seed=0), np.ones(6), c=1.0)
    >>> bool(abs(parts.leak).max() < 1e-12)          # orthogonal layers do not leak
    True

    Source: equations assumptions-condition, assumptions-leak.
    """
    if system.thetas.ndim != 3 or np.shape(z) != (system.d,):
        raise ValueError(
            f"thetas have shape {system.thetas.shape} and z {np.shape(z)}; give one system and a "
            f"vector of size {system.d}"
        )
    d, T, Q = system.d, system.T, system.complements
    a, Phi, total = attenuation(T, c), np.eye(d), np.zeros(d)
    off = Q[0] @ z
    on = z - off
    predicted, leaks, shares = [on + off], [total], []
    for t in range(T):
        oblique = np.linalg.solve(Phi, (np.eye(d) - Q[t]) @ Phi @ off)
        condition = np.linalg.cond(Phi)
        allowed = 0.5 * (condition - 1 / condition) * np.linalg.norm(off)
        shares.append(np.linalg.norm(oblique) / allowed if condition > 1 + 1e-9 else 0.0)
        total = total + (a[t] - a[t + 1]) * oblique
        Phi = system.thetas[t] @ Phi
        leaks.append(total)
        predicted.append(Phi @ (on + a[t + 1] * off + total))
    return Leak(np.array(predicted), np.array(leaks), np.array(shares))


def residual_gap(T: int, strength: float, systems: int = 20) -> float:
    """Error of Theorem 1 at the last state of random residual networks, for c = 1.

    The control is that of the linear part, whose subspaces it knows exactly. States have width
    32, clean inputs 8 dimensions; the perturbation has 0.3 of the length of the clean input.

    Parameters
    ----------
    T : int
        Number of layers.
    strength : float
        Of the tanh branch, at least 0; at 0 the theorem is exact.
    systems : int
        Networks, at least 1.

    Returns
    -------
    float
        Mean of |true - predicted| over the length of the perturbation.

    Examples
    --------
    >>> residual_gap(T=3, strength=0.0, systems=2) < 1e-9
    True

    Source: equations assumptions-residual-network, theorem-bias.
    """
    number("systems", systems, "at least 1")
    gaps, (d, r, c) = [], (32, 8, 1.0)
    for seed in range(systems):
        system = residual_system(d, r, T, seed, strength)
        linear, random = system.linear, np.random.default_rng([seed, 2])
        x0 = linear.bases[0] @ random.standard_normal(r)
        z = random.standard_normal(d)
        z *= 0.3 * np.linalg.norm(x0) / np.linalg.norm(z)
        K = riccati(linear.thetas, linear.complements[:T], c).K
        clean, controlled = simulate(system, x0), simulate(system, x0 + z, K)
        true = np.linalg.norm(controlled.states[-1] - clean.states[-1])
        q, vectors = np.linalg.eigh(linear.complements[0])
        predicted = generalised_error(vectors.T @ z, vectors.T @ x0, q.clip(0), T, c)[-1] ** 0.5
        gaps.append(abs(true - predicted) / np.linalg.norm(z))
    return float(np.mean(gaps))
