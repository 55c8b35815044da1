"""Feedback gains of the orthogonal case, and the errors they leave.

Under Proposition 2 the whole control is one number per layer, alpha_t: what a
controlled layer leaves of a direction that the loss penalises with weight q.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from pidlib.theory.inputs import control_cost, depth, number


def rate(c: float, q: ArrayLike = 1.0) -> np.ndarray:
    """Decay rate mu of the penalised directions, per layer.

    It solves 2 sinh(mu / 2) = sqrt(q / c), or equally 2 cosh(mu) = 2 + q / c. Far from
    the last layer each layer multiplies an error by exp(-mu); 1 / mu is the number of
    layers that the control looks ahead.

    Parameters
    ----------
    c : float
        Control cost, at least 0. No unit: only q / c matters.
    q : float or array
        State weight, at least 0: an eigenvalue of Q.

    Returns
    -------
    array of the shape of `q`
        Infinite where c = 0 < q, and 0 where q = 0.

    Raises
    ------
    ValueError
        Negative or not finite `c` or `q`.

    Examples
    --------
    >>> round(float(np.exp(-rate(c=1.0))), 4)
    0.382

    Source: equation gains-rate. Departure: the paper gives only the recursion.
    """
    weights, cost = number("the weight q", q), control_cost(c)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        ratio = np.where(weights == 0, 0.0, np.sqrt(weights) / np.sqrt(cost))
    return 2.0 * np.arcsinh(ratio / 2.0)


def rates_and_layers(T: int, c: float, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The rate of each weight, and the layers 0 to T as a column beside the weights."""
    layers, mu = np.arange(depth(T) + 1.0), rate(float(control_cost(c)), q)
    return mu, layers.reshape(-1, *[1] * mu.ndim)


def alphas(T: int, c: float, q: ArrayLike = 1.0) -> np.ndarray:
    """Factors alpha_0 to alpha_{T-1} left by the control of each layer.

    alpha_t = c / (c + q + lambda_{t+1}); the controlled state keeps alpha_t of a
    direction of weight q, so the control removes 1 - alpha_t.

    Parameters
    ----------
    T : int
        Number of controlled states (the number of blocks of a model), at least 1.
    c : float
        Control cost, at least 0. At c = 0 a penalised direction is removed whole.
    q : float or array of shape S
        State weight: an eigenvalue of Q, at least 0.

    Returns
    -------
    (T, *S) array
        Entry t is alpha_t, between 0 and 1, and it grows with t.

    Raises
    ------
    ValueError
        T below 1, negative or not finite `c` or `q`.

    Examples
    --------
    >>> alphas(3, c=1.0).round(4)           # Fibonacci: 5/13, 2/5, 1/2
    array([0.3846, 0.4   , 0.5   ])

    Source: Proposition 2 and Theorem 1 (recursion); equations gains-alpha, gains-closed.
    """
    mu, layers = rates_and_layers(T, c, q)
    left = layers[:0:-1]
    top, bottom = np.exp(-(2.0 * left - 1.0) * mu), np.exp(-(2.0 * left + 1.0) * mu)
    return np.exp(-mu) * (1.0 + top) / (1.0 + bottom)


def attenuation(T: int, c: float, q: ArrayLike = 1.0) -> np.ndarray:
    """Share of a penalised direction left at each layer, eta_0 = 1 to eta_T.

    eta_t is the product of alpha_s over s < t.

    Parameters
    ----------
    T, c, q
        As for `alphas`.

    Returns
    -------
    (T + 1, *S) array
        Entry t is eta_t, falling from 1.

    Examples
    --------
    >>> attenuation(2, c=1.0).round(4)      # Fibonacci: 1, 2/5, 1/5
    array([1. , 0.4, 0.2])

    Source: Theorem 1 (product); equations gains-product, theorem-error.
    """
    mu, t = rates_and_layers(T, c, q)
    with np.errstate(invalid="ignore"):
        decay = np.where(t == 0, 1.0, np.exp(-t * mu))
    return decay * (1.0 + np.exp(-(2.0 * (T - t) + 1.0) * mu)) / (1.0 + np.exp(-(2 * T + 1) * mu))


def predicted_error(on: ArrayLike, off: ArrayLike, T: int, c: float, q: float = 1.0) -> np.ndarray:
    """Squared error of the controlled states by Theorem 1, for t = 0 to T.

    eta_t^2 * off + on, for orthogonal layers that carry the subspace along, and a clean
    input inside it.

    Parameters
    ----------
    on, off : float or array of shape S
        Squared norms of the parts of the perturbation in and off the subspace.
    T, c, q
        As for `alphas`; `q` is one number here.

    Returns
    -------
    (T + 1, *S) array
        Entry t is the squared distance of the controlled perturbed state from the
        clean one.

    Raises
    ------
    ValueError
        Negative squared norms, or as for `alphas`.

    Examples
    --------
    >>> predicted_error(on=0.25, off=1.0, T=2, c=1.0).round(4)
    array([1.25, 0.41, 0.29])

    Source: Theorem 1; equation theorem-error. Departure: also t = 0, where it is plain.
    """
    inside, outside = np.broadcast_arrays(np.asarray(on, float), np.asarray(off, float))
    if np.any(inside < 0) or np.any(outside < 0):
        raise ValueError("`on` and `off` are squared norms; they cannot be negative")
    left = attenuation(T, c, float(q)).reshape(-1, *[1] * inside.ndim)
    return left**2 * outside + inside


def wiener_c(X: float, Z: float, T: int, q: float = 1.0) -> float:
    """Control cost c with the least mean squared error at the last layer.

    With clean energy X and perturbation energy Z off the subspace, uncorrelated, the
    mean squared error eta^2 Z + (1 - eta)^2 X is least at eta = X / (X + Z). This returns
    the c for which eta_T(c) is that value. For one layer it is c = q X / Z.

    Parameters
    ----------
    X, Z : float
        Mean squared norms off the subspace, of clean inputs and of perturbations. X is
        at least 0 and Z above 0.
    T : int
        Number of controlled states, at least 1.
    q : float
        State weight, above 0.

    Returns
    -------
    float
        0 when X = 0: then the projection is best.

    Raises
    ------
    ValueError
        X negative, Z or q not positive, any of them not finite, or T below 1.

    Examples
    --------
    >>> round(wiener_c(X=0.5, Z=2.0, T=1), 6)
    0.25
    >>> c = wiener_c(X=1.0, Z=1.0, T=12)
    >>> round(float(attenuation(12, c)[-1]), 6)
    0.5

    Source: equation theorem-wiener. Departure: the paper gives no rule for c.
    """
    T = depth(T)
    number("X", X)
    number("Z", Z, "positive")
    number("q", q, "positive")
    if X == 0:
        return 0.0
    goal = math.log(Z) - math.log(X)  # (1 - a) / a = Z / X at the best a

    def log_sinh(y: float) -> float:
        return y + math.log(-math.expm1(-2.0 * y)) - math.log(2.0)

    def excess(log_mu: float) -> float:
        mu = math.exp(log_mu)
        log_cosh = mu / 2 + math.log1p(math.exp(-mu)) - math.log(2.0)
        both = log_sinh((T + 1) * mu / 2) + log_sinh(T * mu / 2)
        return math.log(2.0) + both - log_cosh - goal

    # excess grows by 2 per unit of log mu for small mu, and like T mu for large mu
    low, high = -1.0, 1.0
    while excess(low) > 0:
        low -= 2.0
    while excess(high) < 0:
        high += 1.0
    mu = math.exp(brentq(excess, low, high, xtol=1e-14, rtol=1e-14))
    return q * math.exp(-2.0 * (math.log(2.0) + log_sinh(mu / 2)))
