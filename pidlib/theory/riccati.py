"""Optimal control of linear layers by the backward Riccati recursion.

The problem of Proposition 1, in the relaxed form that its formula solves:

    minimise  sum_t 1/2 v_t^T Q_t v_t + c_t/2 |u_t|^2,   v_t = x_t + u_t,
    subject to  x_{t+1} = theta_t v_t,   t = 0 .. T-1,   no terminal cost.

Both weights are named in full: `Q_state` weighs the controlled state, and c (as a
matrix, R_control = c I) weighs the control.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from pidlib.theory.systems import Trajectory

ROUNDING = 1e-13  # eigenvalues below this share of the largest, or of c, are read as 0


@dataclass(frozen=True)
class RiccatiSolution:
    """Value function and feedback of every layer.

    Attributes
    ----------
    S : (..., T + 1, d, d) array
        Value function V_t(x) = 1/2 x^T S_t x; S_T = 0.
    K : (..., T, d, d) array
        Feedback u_t = -K_t x_t.
    A : (..., T, d, d) array
        Controlled state v_t = A_t x_t, A_t = I - K_t.
    M : (..., T, d, d) array
        M_t = Q_t + theta_t^T S_{t+1} theta_t, what a layer and all later ones pay.

    Source: Proposition 1; equations riccati-m, riccati-feedback, riccati-recursion.
    """

    S: np.ndarray
    K: np.ndarray
    A: np.ndarray
    M: np.ndarray

    @property
    def P(self) -> np.ndarray:
        """The paper's matrices, V_t(x) = x^T P_t x: P_t = S_t / 2."""
        return self.S / 2

    def value(self, x0: ArrayLike) -> np.ndarray:
        """Least cost from x0, (..., d): 1/2 x0^T S_0 x0.

        Parameters
        ----------
        x0 : (..., d) array

        Returns
        -------
        (...) array
        """
        x = np.asarray(x0, dtype=np.float64)
        return 0.5 * np.einsum("...i,...ij,...j->...", x, self.S[..., 0, :, :], x)


class DenseSolution(NamedTuple):
    """Solution of the same problem as one quadratic program."""

    controls: np.ndarray
    value: float
    hessian: np.ndarray


def _check(
    thetas: ArrayLike, Q_state: ArrayLike, c: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    layers, weights = np.asarray(thetas, np.float64), np.asarray(Q_state, np.float64)
    costs = np.asarray(c, np.float64)
    if layers.ndim < 3 or layers.shape[-1] != layers.shape[-2] or layers.shape[-3] < 1:
        raise ValueError(f"thetas have shape {layers.shape}; expected (..., T, d, d), T at least 1")
    T = layers.shape[-3]
    if weights.ndim < 3 or weights.shape[-3:] != layers.shape[-3:]:
        raise ValueError(f"Q_state has shape {weights.shape}; expected (..., {T}, d, d) as thetas")
    if not (np.isfinite(layers).all() and np.isfinite(weights).all()):
        raise ValueError("thetas or Q_state have NaN or infinite entries")
    if not np.allclose(weights, np.swapaxes(weights, -1, -2), rtol=0, atol=1e-10):
        raise ValueError("Q_state is not symmetric; give (Q + Q^T) / 2")
    batch = np.broadcast_shapes(layers.shape[:-3], weights.shape[:-3])
    try:
        prices = np.broadcast_to(costs, (*batch, T))
    except ValueError:
        raise ValueError(
            f"the cost c has shape {costs.shape}; give one number, {T} of them (one a layer), "
            f"or an array that broadcasts to {(*batch, T)}"
        ) from None
    if not np.isfinite(costs).all() or (costs < 0).any():
        raise ValueError(f"the control cost c is {c}; it must be finite and not negative")
    return layers, weights, prices


def riccati(thetas: ArrayLike, Q_state: ArrayLike, c: ArrayLike) -> RiccatiSolution:
    """Solve the relaxed linear problem by the backward Riccati recursion.

    S_t = c M (M + c I)^-1,  K_t = (M + c I)^-1 M,  A_t = c (M + c I)^-1,
    M = Q_t + theta_t^T S_{t+1} theta_t,  S_T = 0.

    Parameters
    ----------
    thetas : (..., T, d, d) array
        Layers; any matrices. Leading axes are a batch of systems.
    Q_state : (..., T, d, d) array
        Weights of the controlled states, symmetric positive semi-definite.
    c : float, (T,) array, or array that broadcasts to (..., T)
        Cost of the control (R_control = c I), at least 0; with the shape (..., 1) one for
        each system of a batch. At 0 the limit is taken: the
        control removes everything that M_t penalises. For that, eigenvalues of M_t below
        1e-13 of the largest, or of c, are read as 0; else rounding in a direction without weight
        would be divided by c.

    Returns
    -------
    RiccatiSolution

    Raises
    ------
    ValueError
        Shapes that do not fit, a Q_state that is not symmetric or has a negative
        eigenvalue, a negative cost, entries that are not finite.

    Examples
    --------
    >>> solution = riccati(np.ones((40, 1, 1)), np.ones((40, 1, 1)), c=1.0)
    >>> round(float(1 / solution.S[0, 0, 0]), 6)           # the golden ratio
    1.618034

    Source: Proposition 1, in the form S_t = 2 P_t; equations riccati-m, riccati-feedback,
    riccati-recursion. Departure: the printed objective holds past states; the formula solves
    the relaxed problem above.
    """
    layers, weights, costs = _check(thetas, Q_state, c)
    T, d = layers.shape[-3], layers.shape[-1]
    batch = costs.shape[:-1]
    S = np.zeros((*batch, T + 1, d, d))
    K, A, M = (np.zeros((*batch, T, d, d)) for _ in range(3))
    for t in range(T - 1, -1, -1):
        theta, price = layers[..., t, :, :], costs[..., t, None]
        pull = weights[..., t, :, :] + np.swapaxes(theta, -1, -2) @ S[..., t + 1, :, :] @ theta
        M[..., t, :, :] = (pull + np.swapaxes(pull, -1, -2)) / 2
        m, U = np.linalg.eigh(M[..., t, :, :])
        if m.min() < -1e-10 * max(1.0, np.abs(m).max()):
            raise ValueError(
                f"Q_state of layer {t} has the eigenvalue {m.min():.3g}; it must not be negative"
            )
        tiny = ROUNDING * np.maximum(np.abs(m).max(-1, keepdims=True), price)
        m = np.where(m <= tiny, 0.0, m)
        total = np.where(m == 0, 1.0, m + price)
        kept = np.where(m == 0, 1.0, price / total)
        # K and A each from their own eigenvalues: I - K would lose digits where c is small
        for target, values in ((K, m / total), (A, kept)):
            target[..., t, :, :] = (U * values[..., None, :]) @ np.swapaxes(U, -1, -2)
        S[..., t, :, :] = price[..., None] * K[..., t, :, :]
    return RiccatiSolution(S, K, A, M)


def rollout(thetas: ArrayLike, K: ArrayLike, x0: ArrayLike) -> Trajectory:
    """Run linear layers under the feedback u_t = -K_t x_t.

    Parameters
    ----------
    thetas, K : (..., T, d, d) arrays
        Layers and feedback gains; leading axes are a batch of systems.
    x0 : (..., d) array
        One input for each system (leading axes broadcast).

    Returns
    -------
    Trajectory

    Raises
    ------
    ValueError
        Shapes that do not fit.

    Examples
    --------
    >>> path = rollout(np.ones((2, 1, 1)), np.full((2, 1, 1), 0.5), [8.0])
    >>> path.states.ravel().tolist(), path.controls.ravel().tolist()
    ([8.0, 4.0, 2.0], [-4.0, -2.0])

    Source: Eq. (1); equation riccati-dynamics.
    """
    layers, gains = np.asarray(thetas, np.float64), np.asarray(K, np.float64)
    if layers.shape[-3:] != gains.shape[-3:]:
        raise ValueError(f"thetas have shape {layers.shape} and K {gains.shape}; they must agree")
    x = np.asarray(x0, np.float64)
    if x.shape[-1:] != layers.shape[-1:]:
        raise ValueError(f"x0 has shape {x.shape}; its last axis must be {layers.shape[-1]}")
    shape = np.broadcast_shapes(layers.shape[:-3], gains.shape[:-3], x.shape[:-1])
    states, controls = [np.broadcast_to(x, (*shape, x.shape[-1]))], []
    for t in range(layers.shape[-3]):
        u = -np.einsum("...ij,...j->...i", gains[..., t, :, :], states[-1])
        states.append(np.einsum("...ij,...j->...i", layers[..., t, :, :], states[-1] + u))
        controls.append(u)
    return Trajectory(np.stack(states), np.stack(controls))


def cost(
    thetas: ArrayLike, Q_state: ArrayLike, c: ArrayLike, x0: ArrayLike, controls: ArrayLike
) -> float:
    """Cost of given controls, from the definition.

    Parameters
    ----------
    thetas, Q_state, c
        As for `riccati`, one system.
    x0 : (d,) array
        Input.
    controls : (T, d) array
        u_0 to u_{T-1}.

    Returns
    -------
    float
        Sum over layers of 1/2 v^T Q v + c/2 |u|^2.

    Raises
    ------
    ValueError
        Shapes that do not fit.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> cost(one, one, 2.0, x0=[3.0], controls=[[-1.0]])   # 1/2 * 4 + 2/2 * 1
    3.0

    Source: the relaxed running loss of Appendix A; equation riccati-cost.
    """
    layers, weights, costs = _check(thetas, Q_state, c)
    x, given = np.asarray(x0, np.float64), np.asarray(controls, np.float64)
    if layers.ndim != 3 or x.shape != layers.shape[-1:] or given.shape != layers.shape[:2]:
        raise ValueError(
            f"thetas have shape {layers.shape}, x0 {x.shape}, controls {given.shape}; "
            "expected (T, d, d), (d,), (T, d)"
        )
    total = 0.0
    for theta, weight, price, u in zip(layers, weights, costs, given, strict=True):
        v = x + u
        total += 0.5 * v @ weight @ v + 0.5 * price * u @ u
        x = theta @ v
    return float(total)


def dense_solution(
    thetas: ArrayLike, Q_state: ArrayLike, c: ArrayLike, x0: ArrayLike
) -> DenseSolution:
    """Solve the same problem without dynamic programming, as a check.

    All controlled states are stacked as v = G u + g; the cost is then one quadratic
    function of the T d numbers u, whose minimum solves one linear system.

    Parameters
    ----------
    thetas, Q_state, c
        As for `riccati`, one system; c above 0.
    x0 : (d,) array
        Input.

    Returns
    -------
    DenseSolution

    Raises
    ------
    ValueError
        Shapes that do not fit, or a cost that is not positive.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> found = dense_solution(one, one, 3.0, x0=[4.0])
    >>> found.controls.round(6).tolist(), round(found.value, 6)
    ([[-1.0]], 6.0)

    Source: ours; equation riccati-cost.
    """
    layers, weights, costs = _check(thetas, Q_state, c)
    x = np.asarray(x0, np.float64)
    if layers.ndim != 3 or x.shape != layers.shape[-1:]:
        raise ValueError(f"thetas have shape {layers.shape}, x0 {x.shape}; expected one system")
    if (costs <= 0).any():
        raise ValueError(f"the control cost c is {c}; the dense program needs it positive")
    T, d = layers.shape[:2]
    G, g = np.zeros((T, d, T, d)), np.zeros((T, d))
    for t in range(T):
        if t:
            G[t] = np.einsum("ij,jsk->isk", layers[t - 1], G[t - 1])
            x = layers[t - 1] @ x
        G[t, :, t, :] = np.eye(d)
        g[t] = x
    G, g = G.reshape(T * d, T * d), g.ravel()
    weight = scipy.linalg.block_diag(*weights)
    hessian = G.T @ weight @ G + np.diag(np.repeat(costs, d))
    linear = G.T @ weight @ g
    u = scipy.linalg.solve(hessian, -linear, assume_a="pos")
    value = 0.5 * u @ hessian @ u + linear @ u + 0.5 * g @ weight @ g
    return DenseSolution(u.reshape(T, d), float(value), hessian)
