"""Optimal control of linear layers by the backward Riccati recursion.

The problem of Proposition 1, in the relaxed form that its formula solves:

    minimise  sum_t 1/2 v_t^T Q_t v_t + c_t/2 |u_t|^2,   v_t = x_t + u_t,
    subject to  x_{t+1} = theta_t v_t,   t = 0 .. T-1.

The paper has no terminal cost; 1/2 x_T^T S_T x_T is added where `terminal` gives S_T. Both weights are named in full: `Q_state` weighs the controlled state, and c (as a
matrix, R_control = c I) weighs the control.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from pidbook.theory.inputs import inputs_of, layers_of, shaped
from pidbook.theory.systems import Trajectory, apply, run_layers
from pidlib.theory.inputs import control_cost

ROUNDING = 1e-13  # eigenvalues below this share of the largest, or of c, are read as 0


@dataclass(frozen=True)
class RiccatiSolution:
    """Value function and feedback of every layer.

    Attributes
    ----------
    S : (..., T + 1, d, d) array
        Value function V_t(x) = 1/2 x^T S_t x; S_T is the terminal weight, 0 in the paper.
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
        """Least cost from x0, (..., d): 1/2 x0^T S_0 x0."""
        x = np.asarray(x0, dtype=np.float64)
        return 0.5 * np.einsum("...i,...ij,...j->...", x, self.S[..., 0, :, :], x)


class DenseSolution(NamedTuple):
    """Solution of a problem of control as one quadratic program."""

    controls: np.ndarray
    value: float
    hessian: np.ndarray


def _checked(
    thetas: ArrayLike, Q_state: ArrayLike, c: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    layers = layers_of(thetas, batch=True)
    weights, costs = shaped("Q_state", Q_state, layers.shape[-3:], True), control_cost(c)
    if not (np.isfinite(layers).all() and np.isfinite(weights).all()):
        raise ValueError("thetas or Q_state have NaN or infinite entries")
    if not np.allclose(weights, weights.mT, rtol=0, atol=1e-10):
        raise ValueError("Q_state is not symmetric; give (Q + Q^T) / 2")
    T, batch = layers.shape[-3], np.broadcast_shapes(layers.shape[:-3], weights.shape[:-3])
    try:
        return layers, weights, np.broadcast_to(costs, (*batch, T))
    except ValueError:
        raise ValueError(
            f"the cost c has shape {costs.shape}; give one number, {T} of them (one a layer), "
            f"or an array that broadcasts to {(*batch, T)}"
        ) from None


def _end(terminal: ArrayLike | None, d: int) -> np.ndarray:
    """The weight S_T of the last state, checked."""
    end = np.zeros((d, d)) if terminal is None else np.asarray(terminal, dtype=np.float64)
    if end.shape[-2:] != (d, d) or not np.isfinite(end).all():
        raise ValueError(f"terminal has shape {end.shape}; give finite numbers, (..., {d}, {d})")
    size = max(1.0, np.abs(end).max())
    if not np.allclose(end, end.mT, rtol=0, atol=1e-10 * size):
        raise ValueError("terminal is not symmetric; give (S + S^T) / 2")
    if np.linalg.eigvalsh(end).min() < -1e-10 * size:
        raise ValueError("terminal has a negative eigenvalue; a weight has none")
    return end


def riccati(
    thetas: ArrayLike, Q_state: ArrayLike, c: ArrayLike, terminal: ArrayLike | None = None
) -> RiccatiSolution:
    """Solve the relaxed linear problem by the backward Riccati recursion.

    S_t = c M (M + c I)^-1,  K_t = (M + c I)^-1 M,  A_t = c (M + c I)^-1,
    M = Q_t + theta_t^T S_{t+1} theta_t,  S_T = terminal, by default 0.

    Parameters
    ----------
    thetas : (..., T, d, d) array
        Layers; any matrices. Leading axes are a batch of systems.
    Q_state : (..., T, d, d) array
        Weights of the controlled states, symmetric positive semi-definite.
    c : float, (T,) array, or array that broadcasts to (..., T)
        Cost of the control (R_control = c I), at least 0; with the shape (..., 1) one for
        each system of a batch. At 0 the limit is taken: the control removes everything that
        M_t penalises. For that, eigenvalues of M_t below 1e-13 of the largest, or of c, are
        read as 0; else rounding in a direction without weight would be divided by c.
    terminal : (..., d, d) array, optional
        Weight S_T of the last state, symmetric positive semi-definite.

    Returns
    -------
    RiccatiSolution

    Raises
    ------
    ValueError
        Shapes that do not fit, a weight that is not symmetric or has a negative
        eigenvalue, a negative cost, entries that are not finite.

    Examples
    --------
    >>> solution = riccati(np.ones((40, 1, 1)), np.ones((40, 1, 1)), c=1.0)
    >>> round(float(1 / solution.S[0, 0, 0]), 6)           # the golden ratio
    1.618034
    >>> last = riccati(np.ones((1, 1, 1)), np.zeros((1, 1, 1)), c=1.0, terminal=[[3.0]])
    >>> float(last.K[0, 0, 0])                             # 3 / (3 + 1)
    0.75

    Source: Proposition 1, in the form S_t = 2 P_t; equations riccati-m, riccati-feedback,
    riccati-recursion. Departure: the printed objective holds past states; the formula solves
    the relaxed problem above. The paper has no terminal weight.
    """
    layers, weights, costs = _checked(thetas, Q_state, c)
    (*batch, T), d = costs.shape, layers.shape[-1]
    S = np.zeros((*batch, T + 1, d, d))
    S[..., T, :, :] = _end(terminal, d)
    K, A, M = (np.zeros((*batch, T, d, d)) for _ in range(3))
    for t in range(T - 1, -1, -1):
        theta, price = layers[..., t, :, :], costs[..., t, None]
        pull = weights[..., t, :, :] + theta.mT @ S[..., t + 1, :, :] @ theta
        M[..., t, :, :] = (pull + pull.mT) / 2
        m, U = np.linalg.eigh(M[..., t, :, :])
        if m.min() < -1e-10 * max(1.0, np.abs(m).max()):
            raise ValueError(
                f"Q_state of layer {t} has the eigenvalue {m.min():.3g}; it must not be negative"
            )
        tiny = ROUNDING * np.maximum(np.abs(m).max(-1, keepdims=True), price)
        m = np.where(m <= tiny, 0.0, m)
        total = np.where(m == 0, 1.0, m + price)
        left = np.where(m == 0, 1.0, price / total)
        # K and A each from their own eigenvalues: I - K would lose digits where c is small
        for target, values in ((K, m / total), (A, left)):
            target[..., t, :, :] = (U * values[..., None, :]) @ U.mT
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

    Examples
    --------
    >>> path = rollout(np.ones((2, 1, 1)), np.full((2, 1, 1), 0.5), [8.0])
    >>> path.states.ravel().tolist(), path.controls.ravel().tolist()
    ([8.0, 4.0, 2.0], [-4.0, -2.0])

    Source: Eq. (1); equation riccati-dynamics.
    """
    layers, gains = layers_of(thetas, batch=True), np.asarray(K, np.float64)
    T, d = layers.shape[-3:-1]
    if layers.shape[-3:] != gains.shape[-3:]:
        raise ValueError(f"thetas have shape {layers.shape} and K {gains.shape}; they must agree")
    x = inputs_of(x0, d)
    batch = np.broadcast_shapes(layers.shape[:-3], gains.shape[:-3], x.shape[:-1])
    x = np.broadcast_to(x, (*batch, d))
    states, controls, _ = run_layers(
        partial(apply, layers), T, x, lambda t, x, *_: -apply(gains, t, x)
    )
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

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> cost(one, one, 2.0, x0=[3.0], controls=[[-1.0]])   # 1/2 * 4 + 2/2 * 1
    3.0

    Source: the relaxed running loss of Appendix A; equation riccati-cost.
    """
    layers, weights, costs = _checked(thetas, Q_state, c)
    x, u = np.asarray(x0, np.float64), np.asarray(controls, np.float64)
    if layers.ndim != 3 or x.shape != layers.shape[-1:] or u.shape != layers.shape[:2]:
        raise ValueError(
            f"thetas have shape {layers.shape}, x0 {x.shape}, controls {u.shape}; "
            "expected (T, d, d), (d,), (T, d)"
        )
    return float(total_cost(layers, [weights], costs, x, u))


def total_cost(
    layers: np.ndarray,
    weights: list[np.ndarray],
    costs: np.ndarray,
    x0: np.ndarray,
    controls: np.ndarray,
    past: str = "states",
) -> np.ndarray:
    """Cost of controls under losses that weigh v_t, and v_t + s_t and v_t - y_t if given."""
    total = 0.5 * np.tensordot(costs, (controls**2).sum(-1), axes=1)
    path = run_layers(partial(apply, layers), len(layers), x0, lambda t, *_: controls[t], past)
    for t, parts in enumerate(path.parts):
        for part, weight in zip(parts, weights, strict=False):
            total = total + 0.5 * (part @ weight[t] * part).sum(-1)
    return total


def dense_solution(
    thetas: ArrayLike,
    Q_state: ArrayLike,
    c: ArrayLike,
    x0: ArrayLike,
    terminal: ArrayLike | None = None,
) -> DenseSolution:
    """Solve the same problem without dynamic programming, as a check.

    Parameters
    ----------
    thetas, Q_state, c, terminal
        As for `riccati`, one system; c above 0.
    x0 : (d,) array
        Input.

    Returns
    -------
    DenseSolution
        `controls` (T, d), the least cost `value`, and the `hessian` (T d, T d) of the cost.

    Raises
    ------
    ValueError
        Shapes that do not fit, or a cost that is not positive.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> best = dense_solution(one, one, 3.0, x0=[4.0])
    >>> best.controls.round(6).tolist(), round(best.value, 6)
    ([[-1.0]], 6.0)

    Source: equation riccati-cost.
    """
    layers, weights, costs = _checked(thetas, Q_state, c)
    x = np.asarray(x0, np.float64)
    if layers.ndim != 3 or x.shape != layers.shape[-1:]:
        raise ValueError(f"thetas have shape {layers.shape}, x0 {x.shape}; expected one system")
    if (costs <= 0).any():
        raise ValueError(f"the control cost c is {c}; the dense program needs it positive")
    return quadratic_program(layers, [weights], costs, x, end=_end(terminal, len(x)))


def quadratic_program(
    layers: np.ndarray,
    weights: list[np.ndarray],
    costs: np.ndarray,
    x0: np.ndarray,
    past: str = "states",
    end: np.ndarray | None = None,
) -> DenseSolution:
    """Least cost of linear layers whose losses weigh v_t, and v_t + s_t and v_t - y_t if given.

    Every state is an affine function of all T d numbers u. As a matrix it has one row for each
    of them, and a last one for x0: the layers carry these rows as they carry states.
    """
    T, d = layers.shape[:2]
    rows = np.eye(T * d + 1)
    controls = rows[:, :-1].reshape(-1, T, d)
    path = run_layers(
        partial(apply, layers), T, rows[:, -1:] * x0, lambda t, *_: controls[:, t], past
    )
    form = np.diag([*np.repeat(costs, d), 0.0])
    if end is not None:
        form += path.states[-1] @ end @ path.states[-1].T
    for t, part in enumerate(path.parts):
        form += sum(p @ weight[t] @ p.T for p, weight in zip(part, weights, strict=False))
    hessian, slope = form[:-1, :-1], form[:-1, -1]
    u = scipy.linalg.solve(hessian, -slope, assume_a="pos")
    value = 0.5 * (u @ hessian @ u + form[-1, -1]) + slope @ u
    return DenseSolution(u.reshape(T, d), float(value), hessian)
