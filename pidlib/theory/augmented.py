"""The exact PID problem: the running loss with past states, solved by an augmented state.

    minimise  sum_t  K_P/2 |Q^P_t v_t|^2 + K_I/2 |Q^I_t (v_t + s_t)|^2
                   + K_D/2 |Q^D_t (v_t - y_t)|^2 + c/2 |u_t|^2,   v_t = x_t + u_t,
    subject to  x_{t+1} = theta_t v_t,

with s_t the sum of all past states and y_t the last one (both 0 at t = 0). The paper's
running loss counts past states x; its text speaks of past controlled states v. Both are
here: `past="states"` and `past="controlled"`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from pidlib.theory.riccati import DenseSolution
from pidlib.theory.systems import LinearSystem, Trajectory

PASTS = ("states", "controlled")
HistoryLaw = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Complements(NamedTuple):
    """Projections off the clean subspaces of states, sums and differences.

    Attributes
    ----------
    P, I, D : (T, d, d) arrays
        Orthogonal projections; P at t is off the clean x_t, I off x_0 + ... + x_t, and D
        off x_t - x_{t-1} (off x_0 at t = 0).

    Source: Assumption 1; equation assumptions-history.
    """

    P: np.ndarray
    I: np.ndarray  # noqa: E741 - the integral term's name in the paper
    D: np.ndarray


def clean_complements(system: LinearSystem) -> Complements:
    """Exact projections off the clean states, sums and differences of a linear system."""
    if system.thetas.ndim != 3:
        raise ValueError(f"thetas have shape {system.thetas.shape}; give one system (T, d, d)")
    states = [system.bases[0]]
    for theta in system.thetas[:-1]:
        states.append(theta @ states[-1])
    states = np.array(states)
    changes = np.concatenate([states[:1], np.diff(states, axis=0)])
    eye, found = np.eye(system.d), []
    for columns in (states, states.cumsum(axis=0), changes):
        frames = [scipy.linalg.orth(part) for part in columns]
        found.append(np.array([eye - V @ V.T for V in frames]))
    return Complements(*found)


@dataclass(frozen=True)
class HistorySolution:
    """Value function and feedback on the augmented state (x_t, s_t, y_t).

    Attributes
    ----------
    S : (T + 1, 3 d, 3 d) array
        Value function 1/2 zeta^T S_t zeta; S_T = 0.
    K : (T, d, 3 d) array
        Feedback u_t = -K_t zeta_t.
    M : (T, d, d) array
        Second derivative of the cost to go in u_t, c I included.

    Source: ours; equations assumptions-augmented, assumptions-augmented-riccati.
    """

    S: np.ndarray
    K: np.ndarray
    M: np.ndarray

    def value(self, x0: ArrayLike) -> np.ndarray:
        """Least cost from x0, (..., d), with an empty past.

        Parameters
        ----------
        x0 : (..., d) array

        Returns
        -------
        (...) array
        """
        x = np.asarray(x0, np.float64)
        d = x.shape[-1]
        return 0.5 * np.einsum("...i,ij,...j->...", x, self.S[0, :d, :d], x)

    def law(self, t: int, x: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Control of layer t, for `history_rollout`.

        Parameters
        ----------
        t : int
            Layer, from 0.
        x, s, y : (..., d) arrays
            State, sum of all past states, and the state before.

        Returns
        -------
        (..., d) array
        """
        return -np.concatenate(np.broadcast_arrays(x, s, y), axis=-1) @ self.K[t].T


def _check(
    thetas: ArrayLike, Q: Complements, gains: tuple[float, float, float], c: float, past: str
) -> tuple[np.ndarray, list[np.ndarray], float]:
    layers = np.asarray(thetas, np.float64)
    if layers.ndim != 3 or layers.shape[1] != layers.shape[2] or len(layers) < 1:
        raise ValueError(f"thetas have shape {layers.shape}; expected (T, d, d), T at least 1")
    if len(gains) != 3 or min(gains) < 0 or not np.isfinite(gains).all():
        raise ValueError(f"gains are {gains}; give three numbers (K_P, K_I, K_D), none negative")
    weights = []
    for name, q, gain in zip("PID", Q, gains, strict=True):
        weight = np.asarray(q, np.float64)
        if weight.shape != layers.shape:
            raise ValueError(f"Q.{name} has shape {weight.shape}; expected {layers.shape}")
        if not np.allclose(weight @ weight, weight, rtol=0, atol=1e-8):
            raise ValueError(f"Q.{name} is not a projection: Q Q differs from Q")
        weights.append(np.sqrt(gain) * weight)
    if not (np.isfinite(c) and c > 0):
        raise ValueError(f"the control cost c is {c}; it must be finite and positive")
    if past not in PASTS:
        raise ValueError(f"unknown past {past!r}; choose one of {PASTS}")
    return layers, weights, float(c)


def history_riccati(
    thetas: ArrayLike,
    Q: Complements,
    gains: tuple[float, float, float],
    c: float,
    past: str = "states",
) -> HistorySolution:
    """Solve the exact PID problem by the Riccati recursion of the augmented state.

    Parameters
    ----------
    thetas : (T, d, d) array
        Layers; any matrices.
    Q : Complements
        Projections, each (T, d, d).
    gains : (K_P, K_I, K_D)
        Weights of the three terms, at least 0.
    c : float
        Cost of the control, above 0.
    past : {"states", "controlled"}
        What the sum and the last state are of: x (the running loss as printed), or v.

    Returns
    -------
    HistorySolution

    Raises
    ------
    ValueError
        Shapes that do not fit, Q that are not projections, negative gains, a cost that
        is not positive, or an unknown `past`.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> solution = history_riccati(one, Complements(one, one, one), (1, 1, 1), c=1.0)
    >>> round(float(solution.value([2.0])), 6)     # 1/2 (3 c / (3 + c)) 2^2
    1.5

    Source: Eq. (3), solved exactly (ours); equations assumptions-augmented,
    assumptions-augmented-riccati. Departure: the paper drops the past by a bound that fails.
    """
    layers, (P, sums, D), c = _check(thetas, Q, gains, c, past)
    T, d = layers.shape[:2]
    eye, zero = np.eye(d), np.zeros((d, d))
    S, K, M = np.zeros((T + 1, 3 * d, 3 * d)), np.zeros((T, d, 3 * d)), np.zeros((T, d, d))
    carry = eye if past == "controlled" else zero
    for t in range(T - 1, -1, -1):
        A = np.block([[layers[t], zero, zero], [eye, eye, zero], [eye, zero, zero]])
        B = np.vstack([layers[t], carry, carry])
        C = np.block([[P[t], zero, zero], [sums[t], sums[t], zero], [D[t], zero, -D[t]]])
        E = np.vstack([P[t], sums[t], D[t]])
        M[t] = E.T @ E + B.T @ S[t + 1] @ B + c * eye
        cross = E.T @ C + B.T @ S[t + 1] @ A
        K[t] = scipy.linalg.solve(M[t], cross, assume_a="pos")
        S[t] = C.T @ C + A.T @ S[t + 1] @ A - cross.T @ K[t]
        S[t] = (S[t] + S[t].T) / 2
    return HistorySolution(S, K, M)


def history_rollout(
    thetas: ArrayLike, law: HistoryLaw, x0: ArrayLike, past: str = "states", push: ArrayLike = 0.0
) -> Trajectory:
    """Run linear layers under a law that sees the present state and the past.

    Parameters
    ----------
    thetas : (T, d, d) array
        Layers.
    law : function (t, x, s, y) -> u
        `s` is the sum of all past states and `y` the last one, of the shape of x.
    x0 : (..., d) array
        Inputs.
    past : {"states", "controlled"}
        What is summed: x or v.
    push : (..., d) array, optional
        Disturbance added after every layer.

    Returns
    -------
    Trajectory

    Raises
    ------
    ValueError
        An input of the wrong size, or an unknown `past`.

    Examples
    --------
    >>> path = history_rollout(np.ones((3, 1, 1)), lambda t, x, s, y: -0.5 * s, [1.0])
    >>> path.states.ravel().tolist()
    [1.0, 1.0, 0.5, -0.5]

    Source: Eq. (1); equation assumptions-augmented.
    """
    layers, x = np.asarray(thetas, np.float64), np.asarray(x0, np.float64)
    if past not in PASTS:
        raise ValueError(f"unknown past {past!r}; choose one of {PASTS}")
    if x.shape[-1:] != layers.shape[-1:]:
        raise ValueError(f"x0 has shape {x.shape}; its last axis must be {layers.shape[-1]}")
    s, y = np.zeros_like(x), np.zeros_like(x)
    states, controls = [x], []
    for t, theta in enumerate(layers):
        u = law(t, x, s, y)
        v = x + u
        y = v if past == "controlled" else x
        s = s + y
        x = v @ theta.T + push
        states.append(x)
        controls.append(u)
    return Trajectory(np.stack(states), np.stack(controls))


def history_cost(
    thetas: ArrayLike,
    Q: Complements,
    gains: tuple[float, float, float],
    c: float,
    x0: ArrayLike,
    controls: ArrayLike,
    past: str = "states",
) -> np.ndarray:
    """Cost of given controls, from the definition of the running loss.

    Parameters
    ----------
    thetas, Q, gains, c, past
        As for `history_riccati`.
    x0 : (..., d) array
        Inputs.
    controls : (T, ..., d) array
        u_0 to u_{T-1}.

    Returns
    -------
    array of the leading shape of x0

    Raises
    ------
    ValueError
        As for `history_riccati`, or controls that do not fit.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> cost = history_cost(one, Complements(one, one, one), (1, 1, 1), 1.0, [2.0], [[-1.5]])
    >>> float(cost)
    1.5

    Source: Eq. (3); equation assumptions-history.
    """
    layers, weights, c = _check(thetas, Q, gains, c, past)
    x, given = np.asarray(x0, np.float64), np.asarray(controls, np.float64)
    if given.shape != (len(layers), *x.shape):
        raise ValueError(f"controls have shape {given.shape}; expected {(len(layers), *x.shape)}")
    s, y, total = np.zeros_like(x), np.zeros_like(x), np.zeros(x.shape[:-1])
    for t, theta in enumerate(layers):
        v = x + given[t]
        for weight, part in zip(weights, (v, v + s, v - y), strict=True):
            total = total + 0.5 * ((part @ weight[t]) ** 2).sum(-1)
        total = total + 0.5 * c * (given[t] ** 2).sum(-1)
        y = v if past == "controlled" else x
        s = s + y
        x = v @ theta.T
    return total


def history_dense(
    thetas: ArrayLike,
    Q: Complements,
    gains: tuple[float, float, float],
    c: float,
    x0: ArrayLike,
    past: str = "states",
) -> DenseSolution:
    """Solve the same problem as one quadratic program, as a check.

    Every state is an affine function of all controls; the cost is then one sum of squares.

    Parameters
    ----------
    thetas, Q, gains, c, past
        As for `history_riccati`.
    x0 : (d,) array
        Input.

    Returns
    -------
    DenseSolution

    Raises
    ------
    ValueError
        As for `history_riccati`, or an input of the wrong size.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> found = history_dense(one, Complements(one, one, one), (1, 1, 1), 1.0, [2.0])
    >>> found.controls.round(6).tolist(), round(found.value, 6)
    ([[-1.5]], 1.5)

    Source: ours; equation assumptions-history.
    """
    layers, weights, c = _check(thetas, Q, gains, c, past)
    T, d = layers.shape[:2]
    start = np.asarray(x0, np.float64)
    if start.shape != (d,):
        raise ValueError(f"x0 has shape {start.shape}; expected ({d},)")
    x = np.zeros((d, T * d + 1))  # columns: one for each control entry, then the constant
    x[:, -1] = start
    s, y, rows = np.zeros_like(x), np.zeros_like(x), []
    for t, theta in enumerate(layers):
        v = x.copy()
        v[:, t * d : (t + 1) * d] += np.eye(d)
        parts = zip(weights, (v, v + s, v - y), strict=True)
        rows += [weight[t] @ part for weight, part in parts]
        y = v if past == "controlled" else x
        s = s + y
        x = theta @ v
    R = np.concatenate(rows)
    slope, fixed = R[:, :-1], R[:, -1]
    hessian = slope.T @ slope + c * np.eye(T * d)
    u = scipy.linalg.solve(hessian, -slope.T @ fixed, assume_a="pos")
    value = 0.5 * np.sum((slope @ u + fixed) ** 2) + 0.5 * c * u @ u
    return DenseSolution(u.reshape(T, d), float(value), hessian)
