"""Gains of the orthogonal case: by recursion, in the limit, by direction, and for mixed projections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pidlib.theory.gains import attenuation, rate, rates_and_layers
from pidlib.theory.inputs import control_cost


class Steady(NamedTuple):
    """Gains far from the last layer of a deep network."""

    lambda_: np.ndarray
    alpha: np.ndarray
    lifetime: np.ndarray


def steady(c: float, q: ArrayLike = 1.0) -> Steady:
    """Gains of a network of infinite depth.

    Parameters
    ----------
    c : float
        Control cost, at least 0.
    q : float or array
        State weight, at least 0.

    Returns
    -------
    Steady
        Arrays of the shape of `q`: `lambda_`, eigenvalue of the value function, 0 to c; `alpha`,
        the share exp(-mu) that one layer leaves; `lifetime`, the number of layers 1 / mu over
        which an error falls by the factor e, infinite where q = 0 and 0 where c = 0.

    Examples
    --------
    >>> limit = steady(c=1.0)               # the golden ratio
    >>> round(float(limit.alpha), 4), round(float(limit.lambda_), 4)
    (0.382, 0.618)

    Source: equation gains-steady.
    """
    mu = rate(c, q)
    with np.errstate(divide="ignore"):
        return Steady(-float(c) * np.expm1(-mu), np.exp(-mu), 1.0 / mu)


def recursion(
    weights: np.ndarray, costs: ArrayLike, stretch: ArrayLike = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Alphas (T, ...) and lambdas (T + 1, ...) of weights (T, ...), from the last layer back."""
    costs, stretch = (np.broadcast_to(v, weights.shape) for v in (costs, stretch))
    factors, values = np.ones(weights.shape), np.zeros((len(weights) + 1, *weights.shape[1:]))
    for t in range(len(weights) - 1, -1, -1):
        pull = weights[t] + stretch[t] ** 2 * values[t + 1]
        # where cost and pull are both 0, nothing is penalised and all is left
        np.divide(costs[t], costs[t] + pull, out=factors[t : t + 1], where=pull > 0)
        values[t] = pull * factors[t]  # c m / (c + m), without cancellation
    return factors, values


def lambdas(T: int, c: float, q: ArrayLike = 1.0) -> np.ndarray:
    """Eigenvalues of the value function, lambda_0 to lambda_T.

    lambda_t = c (q + lambda_{t+1}) / (q + lambda_{t+1} + c), lambda_T = 0.

    Parameters
    ----------
    T : int
        Number of controlled states, at least 1.
    c : float
        Control cost, at least 0.
    q : float or array of shape S
        State weight: an eigenvalue of Q, at least 0.

    Returns
    -------
    (T + 1, *S) array
        Entry t is lambda_t, between 0 and c.

    Raises
    ------
    ValueError
        T below 1, negative or not finite `c` or `q`.

    Examples
    --------
    >>> lambdas(3, c=1.0).round(4)          # Fibonacci: 8/13, 3/5, 1/2, 0
    array([0.6154, 0.6   , 0.5   , 0.    ])

    Source: Proposition 2 (recursion); equations gains-recursion, gains-closed.
    """
    mu, layers = rates_and_layers(T, c, q)
    left = layers[::-1]
    with np.errstate(invalid="ignore"):
        one_more_change = np.where(left == 0, 0.0, -np.expm1(-2.0 * left * mu))
    # 2 sinh(mu / 2) exp(-mu / 2) = 1 - exp(-mu)
    return (
        float(control_cost(c))
        * -np.expm1(-mu)
        * one_more_change
        / (1.0 + np.exp(-(2.0 * left + 1.0) * mu))
    )


def generalised_error(z: ArrayLike, x: ArrayLike, q: ArrayLike, T: int, c: float) -> np.ndarray:
    """Squared error for any weights and any clean input, for t = 0 to T.

    The sum over directions k of (eta_t(q_k) z_k - (1 - eta_t(q_k)) x_k)^2. The control
    fades the perturbation, and also what the clean input has off the subspace: the
    second term is that bias. With x_k = 0 wherever q_k > 0, and q in {0, 1}, this is
    Theorem 1.

    Parameters
    ----------
    z, x : (..., d) array
        Perturbation and clean input, as coordinates in an eigenbasis of Q_0.
    q : (d,) array
        Eigenvalues of Q_0 in the same order, at least 0.
    T, c
        As for `alphas`.

    Returns
    -------
    (T + 1, ...) array
        Squared distance of the controlled perturbed state from the clean one.

    Raises
    ------
    ValueError
        Sizes that differ, or as for `alphas`.

    Examples
    --------
    >>> generalised_error(z=[0.5, 1.0], x=[3.0, 0.2], q=[0.0, 1.0], T=2, c=1.0).round(4)
    array([1.25  , 0.3284, 0.2516])

    Source: equation theorem-bias. Departure: extends Theorem 1, which has q in {0, 1} and
    no bias.
    """
    left, weights = attenuation(T, c, q), np.asarray(q)
    noise, clean = np.broadcast_arrays(np.asarray(z, float), np.asarray(x, float))
    if weights.ndim != 1 or noise.shape[-1:] != weights.shape:
        raise ValueError(
            f"z has shape {noise.shape} and q {weights.shape}; the last axis of z and x "
            "must have one entry for each eigenvalue"
        )
    left = left.reshape(len(left), *[1] * (noise.ndim - 1), -1)
    return ((left * noise - (1.0 - left) * clean) ** 2).sum(axis=-1)


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
