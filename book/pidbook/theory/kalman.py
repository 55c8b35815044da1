"""Estimates over depth: what the memory of earlier states adds to the estimate of one.

The clean state moves as

    x_{t+1} = theta_t x_t + w_t,

where w_t, of covariance W, is what block t brings in that x_t did not tell. What is seen moves
under a control u_t as

    s_0 = x_0 + z,    s_{t+1} = theta_t (s_t + u_t) + w_t + d_t,

where z, of covariance Sigma_z, is the disturbance of the text and d_t, of covariance D, what
arises anew at block t. All are uncorrelated, of mean 0. The whole of s_t is seen, and the
control that was added is known: only the split of s_t into x_t and its error is not. The
control is u_t = xhat_t - s_t, which puts the estimate in the state's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pidlib.theory.wiener import wiener_map


def expected_error(A: ArrayLike, sigma_x: ArrayLike, sigma_z: ArrayLike) -> tuple[float, float]:
    """Mean squared error of x -> m + A (y - m): what it takes from x, and what z leaves.

    Parameters
    ----------
    A, sigma_x, sigma_z : (d, d) arrays

    Returns
    -------
    (bias, variance) : tuple of float
        tr (I - A) Sigma_x (I - A)^T and tr A Sigma_z A^T; their sum is the error.

    Examples
    --------
    >>> expected_error([[0.75]], [[3.0]], [[1.0]])
    (0.1875, 0.5625)

    Source: equation wiener-error.
    """
    A, x, z = (np.asarray(v, dtype=np.float64) for v in (A, sigma_x, sigma_z))
    rest = np.eye(len(A)) - A
    return float(np.trace(rest @ x @ rest.T)), float(np.trace(A @ z @ A.T))


class Estimation(NamedTuple):
    """The best linear estimate of one state: its map A and the covariance of its error, (d, d)."""

    A: np.ndarray
    error: np.ndarray


def parallel_sum(X: ArrayLike, Z: ArrayLike) -> np.ndarray:
    """Return X (X + Z)^-1 Z: the error of the best linear estimate of x from x + z.

    Parameters
    ----------
    X, Z : (d, d) arrays
        Covariances of x and z.

    Returns
    -------
    (d, d) array
        At most X and at most Z, in the order of symmetric matrices, and rising in both.

    Examples
    --------
    >>> parallel_sum([[3.0]], [[1.0]])
    array([[0.75]])

    Source: equation wiener-parallel; Anderson & Duffin 1969.
    """
    product = wiener_map(X, Z).A @ np.asarray(Z, dtype=np.float64)
    return (product + product.T) / 2


def estimates_over_depth(
    thetas: Sequence[ArrayLike],
    sigma_x: ArrayLike,
    sigma_z: ArrayLike,
    W: ArrayLike,
    D: ArrayLike,
    memory: bool = True,
) -> list[Estimation]:
    """Return the best linear estimate of every state, each controlled by those before it.

    Parameters
    ----------
    thetas : sequence of T (d, d) arrays
        The blocks.
    sigma_x, sigma_z : (d, d) arrays
        Covariance of clean states x_0 and of the disturbance of the text.
    W, D : (d, d) arrays
        Covariance of what each block brings in, and of the disturbance that arises there.
    memory : bool
        Whether the estimate may use the estimates before it, or s_t alone.

    Returns
    -------
    list of T + 1 Estimation
        Of x_0, ..., x_T: `A`, with xhat_t = A s_t without memory, and with it xhat_t = m_t +
        A (s_t - m_t), where m_t = theta_{t-1} xhat_{t-1} is what the state would be without
        noise (m_0 = 0), if all of the control is applied; `error`, the covariance of xhat_t - x_t.

    Raises
    ------
    ValueError
        A block of another shape, or as `wiener_map`.

    Notes
    -----
    With xhat_t in the state's place, s_{t+1} - theta_t xhat_t = w_t + d_t tells nothing about
    x_t - xhat_t. So with memory the surprise is split into w_t and d_t by W (W + D)^-1; without,
    M_t = theta_t Cov(xhat_t) theta_t' has to be guessed again, by M_t + W in place of W. Errors:

        P_{t+1} = theta_t P_t theta_t' + W : D            with memory,
        P_{t+1} = theta_t P_t theta_t' + (M_t + W) : D    without,

    X : Z the parallel sum. For D = 0 both are the same.

    Examples
    --------
    >>> one = [[1.0]]
    >>> with_it, without = (
    ...     estimates_over_depth([one] * 3, one, [[0.5]], [[0.1]], [[0.1]], memory)[-1].error
    ...     for memory in (True, False)
    ... )
    >>> bool(with_it < without)
    True

    Source: equations kalman-memory, kalman-none; Kalman 1960.
    """
    x, z, W, D = (np.asarray(m, dtype=np.float64) for m in (sigma_x, sigma_z, W, D))
    A = wiener_map(x, z).A
    known, error = A @ x, parallel_sum(x, z)  # Cov(xhat) = A Sigma_x, for it is a projection
    estimates = [Estimation(A, error)]
    for t, theta in enumerate(thetas):
        theta = np.asarray(theta, dtype=np.float64)
        if theta.shape != x.shape:
            raise ValueError(f"block {t} has shape {theta.shape}; the states have {x.shape}")
        image = theta @ known @ theta.T
        image = (image + image.T) / 2
        guessed = W if memory else image + W
        A = wiener_map(guessed, D).A
        error = theta @ error @ theta.T + parallel_sum(guessed, D)
        known = (image if memory else 0) + (A @ guessed + (A @ guessed).T) / 2
        estimates.append(Estimation(A, (error + error.T) / 2))
    return estimates


def simulated_errors(
    thetas: Sequence[ArrayLike],
    sigma_x: ArrayLike,
    sigma_z: ArrayLike,
    W: ArrayLike,
    D: ArrayLike,
    memory: bool = True,
    share: float = 1.0,
    draws: int = 4000,
    seed: int = 0,
) -> np.ndarray:
    """Squared errors of the estimates, drawn and not computed.

    Parameters
    ----------
    thetas, sigma_x, sigma_z, W, D, memory
        As for `estimates_over_depth`.
    share : float
        Share of the control that is applied: u_t = share (xhat_t - s_t). With memory the
        error of the estimate does not depend on it (separation); without, the maps are
        right for 1 only.
    draws : int
    seed : int

    Returns
    -------
    (draws, T + 1) array
        ||xhat_t - x_t||^2 of Gaussian draws.

    Source: equation kalman-system.
    """
    random, d = np.random.default_rng(seed), len(np.asarray(sigma_x))

    def draw(covariance: ArrayLike) -> np.ndarray:
        return random.multivariate_normal(np.zeros(d), covariance, size=draws, method="eigh")

    estimates = estimates_over_depth(thetas, sigma_x, sigma_z, W, D, memory)
    x = draw(sigma_x)
    s, errors = x + draw(sigma_z), []
    predicted = sent = np.zeros((draws, d))  # images of the estimate and of the controlled state
    for t, (A, _) in enumerate(estimates):
        guess = predicted + (s - sent) @ A.T if memory else s @ A.T
        errors.append(((guess - x) ** 2).sum(1))
        if t < len(thetas):
            theta, new = np.asarray(thetas[t]), draw(W)
            predicted = guess @ theta.T
            sent = (s + share * (guess - s)) @ theta.T
            x = x @ theta.T + new
            s = sent + new + draw(D)
    return np.stack(errors, axis=1)
