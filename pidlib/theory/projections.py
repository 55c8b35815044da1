"""Weights between 0 and 1: eigenvalues of mixed projections, and the gains they ask for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pidlib.theory.gains import recursion


class DiagonalGains(NamedTuple):
    """Gains of a network that acts on every direction by itself."""

    alphas: np.ndarray
    lambdas: np.ndarray


def diagonal_gains(q: ArrayLike, c: ArrayLike = 1.0, scale: ArrayLike = 1.0) -> DiagonalGains:
    """Gains for weights, costs and growth that differ by layer and direction.

    If theta_t carries direction j of x_t to direction j of x_{t+1} and stretches it by
    s_{t,j}, and Q_t weighs it with q_{t,j}, the Riccati recursion splits into one
    recursion for each direction.

    Parameters
    ----------
    q : (T, d) array
        Weights, at least 0.
    c : float, (T,) array, or array that broadcasts to (T, d)
        Cost of the control, above 0.
    scale : float or array that broadcasts to (T, d)
        Stretch s of each layer. 1 for orthogonal layers.

    Returns
    -------
    DiagonalGains
        `alphas` (T, d), the share that the control of layer t leaves of direction j, and
        `lambdas` (T + 1, d), eigenvalues of the value function.

    Raises
    ------
    ValueError
        Shapes that do not fit, a negative weight, a cost that is not positive, or
        entries that are not finite.

    Examples
    --------
    >>> diagonal_gains(np.ones((3, 1)), c=1.0).alphas.ravel().round(4)
    array([0.3846, 0.4   , 0.5   ])

    Source: Proposition 2, extended; equation gains-diagonal. Departure: any weights, costs and
    stretches; the proposition has q in {0, 1}, one c and no stretch.
    """
    weights, costs, stretch = (np.asarray(v, dtype=np.float64) for v in (q, c, scale))
    if weights.ndim != 2 or len(weights) < 1:
        raise ValueError(f"q has shape {weights.shape}; expected (T, d), T at least 1")
    costs = costs[:, None] if costs.ndim == 1 else costs
    if not all(np.isfinite(v).all() for v in (weights, costs, stretch)):
        raise ValueError("q, c or scale have NaN or infinite entries")
    if (weights < 0).any() or (costs <= 0).any():
        raise ValueError(
            f"the least weight is {weights.min():g} and the least cost {costs.min():g}; weights "
            "must not be negative and costs must be positive"
        )
    try:
        return DiagonalGains(*recursion(weights, costs, stretch))
    except ValueError:
        raise ValueError(
            f"c has shape {np.shape(c)} and scale {np.shape(scale)}; they must broadcast to "
            f"the shape {weights.shape} of q"
        ) from None


def pair_weights(angles: ArrayLike, first: float = 0.5, second: float = 0.5) -> np.ndarray:
    """Eigenvalues of a weighted sum of two projections, from the principal angles.

    On the plane that one principal angle phi spans, K_1 Q_1 + K_2 Q_2 has the
    eigenvalues (K_1 + K_2 -+ sqrt((K_1 - K_2)^2 + 4 K_1 K_2 cos(phi)^2)) / 2.

    Parameters
    ----------
    angles : (k,) array
        Principal angles between the two subspaces, in radians, 0 to pi / 2.
    first, second : float
        Weights K_1, K_2 of the projections off the subspaces, at least 0.

    Returns
    -------
    (k, 2) array
        The smaller and the larger eigenvalue of each angle.

    Raises
    ------
    ValueError
        Angles outside 0 .. pi / 2, or a negative weight.

    Examples
    --------
    >>> pair_weights([0.0, np.pi / 3]).round(3)
    array([[0.  , 1.  ],
           [0.25, 0.75]])

    Source: equation gains-pair.
    """
    phi = np.asarray(angles, dtype=np.float64)
    if phi.ndim != 1 or (phi < 0).any() or (phi > np.pi / 2 + 1e-12).any():
        raise ValueError(f"the angles are {angles}; expected a list of radians from 0 to pi / 2")
    if first < 0 or second < 0:
        raise ValueError(f"the weights are {first} and {second}; they must not be negative")
    total = first + second
    large = total + np.sqrt((first - second) ** 2 + 4 * first * second * np.cos(phi) ** 2)
    with np.errstate(invalid="ignore"):  # product of the two is K_1 K_2 sin^2, without cancellation
        small = np.where(large > 0, 4 * first * second * np.sin(phi) ** 2 / large, 0.0)
    return np.stack([small / 2, large / 2], axis=1)
