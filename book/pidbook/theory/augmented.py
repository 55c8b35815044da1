"""The exact PID problem: the running loss with past states, solved by an augmented state.

    minimise  sum_t  K_P/2 |Q^P_t v_t|^2 + K_I/2 |Q^I_t (v_t + s_t)|^2
                   + K_D/2 |Q^D_t (v_t - y_t)|^2 + c/2 |u_t|^2,   v_t = x_t + u_t,
    subject to  x_{t+1} = theta_t v_t,

with s_t the sum of all past states and y_t the last one (both 0 at t = 0). The paper's
running loss counts past states x; its text speaks of past controlled states v. Both are
here: `past="states"` and `past="controlled"`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from pidbook.theory.inputs import choice, inputs_of, layers_of, shaped
from pidbook.theory.riccati import DenseSolution, quadratic_program, total_cost
from pidbook.theory.systems import PASTS, HistoryLaw, LinearSystem, Trajectory, run_layers
from pidlib.theory.inputs import control_cost
from pidlib.theory.subspaces import rank_for

Gains = tuple[float, float, float]


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
    """Exact projections off the clean states, sums and differences of a linear system.

    Parameters
    ----------
    system : LinearSystem

    Returns
    -------
    Complements

    Source: §2.1; equation subspaces-projection.
    """
    layers_of(system.thetas)
    x = run_layers(system.layer, system.T - 1, system.bases[0].T, lambda t, x, *_: 0 * x).states
    x = np.array(x)
    changes = np.concatenate([x[:1], np.diff(x, axis=0)])
    return Complements(*(_off(states) for states in (x, x.cumsum(axis=0), changes)))


def _off(states: np.ndarray) -> np.ndarray:
    """Projections off the spans of vectors (T, n, d), a layer each."""
    projections = []
    for vectors in states:
        sizes, directions = np.linalg.svd(vectors, full_matrices=False)[1:]
        V = directions[: rank_for(sizes**2, 1.0)].T
        projections.append(np.eye(len(V)) - V @ V.T)
    return np.array(projections)


@dataclass(frozen=True)
class HistorySolution:
    """Value function S (T + 1, 3 d, 3 d), feedback K (T, d, 3 d) on (x_t, s_t, y_t), Hessian M."""

    S: np.ndarray
    K: np.ndarray
    M: np.ndarray

    def value(self, x0: ArrayLike) -> np.ndarray:
        """Least cost from x0, (..., d), with an empty past."""
        x = np.asarray(x0, np.float64)
        d = x.shape[-1]
        return 0.5 * np.einsum("...i,ij,...j->...", x, self.S[0, :d, :d], x)

    def law(self, t: int, x: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Control of layer t, for `history_rollout`."""
        return -np.concatenate(np.broadcast_arrays(x, s, y), axis=-1) @ self.K[t].T


def _checked(
    thetas: ArrayLike, Q: Complements, gains: Gains, c: float, past: str
) -> tuple[np.ndarray, list[np.ndarray], float]:
    """Layers, weights K_i Q^i of the three terms, and the cost."""
    layers = layers_of(thetas)
    if len(gains) != 3 or min(gains) < 0 or not np.isfinite(gains).all():
        raise ValueError(f"gains are {gains}; give three numbers (K_P, K_I, K_D), none negative")
    weights = []
    for name, q, gain in zip("PID", Q, gains, strict=True):
        weight = shaped(f"Q.{name}", q, layers.shape)
        if not np.allclose(weight @ weight, weight, rtol=0, atol=1e-8):
            raise ValueError(f"Q.{name} is not a projection: Q Q differs from Q")
        weights.append(gain * weight.mT @ weight)
    choice("past", past, PASTS)
    return layers, weights, float(control_cost(c, "positive"))


def history_riccati(
    thetas: ArrayLike, Q: Complements, gains: Gains, c: float, past: str = "states"
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
        `S` (T + 1, 3 d, 3 d): the value function 1/2 zeta^T S_t zeta of zeta = (x_t, s_t, y_t);
        `K` (T, d, 3 d): the feedback u_t = -K_t zeta_t; `M` (T, d, d): the second derivative of
        the cost to go in u_t. `value(x0)` is the least cost, `law` goes into `history_rollout`.

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

    Source: Eq. (3), solved exactly; equations assumptions-augmented,
    assumptions-augmented-riccati. Departure: the paper drops the past by a bound that fails.
    """
    layers, (P, I, D), c = _checked(thetas, Q, gains, c, past)  # noqa: E741
    T, d = layers.shape[:2]
    eye, zero = np.eye(d), np.zeros((d, d))
    S, K, M = np.zeros((T + 1, 3 * d, 3 * d)), np.zeros((T, d, 3 * d)), np.zeros((T, d, d))
    carry = eye if past == "controlled" else zero
    for t in range(T - 1, -1, -1):
        A = np.block([[layers[t], zero, zero], [eye, eye, zero], [eye, zero, zero]])
        B = np.vstack([layers[t], carry, carry])
        # The running loss is 1/2 zeta' W zeta + u' N zeta + 1/2 u' (P + I + D + c) u.
        N = np.hstack([P[t] + I[t] + D[t], I[t], -D[t]])
        W = np.block([[N], [I[t], I[t], zero], [-D[t], zero, D[t]]])
        M[t] = N[:, :d] + B.T @ S[t + 1] @ B + c * eye
        cross = N + B.T @ S[t + 1] @ A
        K[t] = scipy.linalg.solve(M[t], cross, assume_a="pos")
        S[t] = W + A.T @ S[t + 1] @ A - cross.T @ K[t]
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
    layers = layers_of(thetas)
    x = inputs_of(x0, layers.shape[-1])
    choice("past", past, PASTS)
    states, controls, _ = run_layers(lambda t, v: v @ layers[t].T + push, len(layers), x, law, past)
    return Trajectory(np.stack(states), np.stack(controls))


def history_cost(
    thetas: ArrayLike,
    Q: Complements,
    gains: Gains,
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

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> cost = history_cost(one, Complements(one, one, one), (1, 1, 1), 1.0, [2.0], [[-1.5]])
    >>> float(cost)
    1.5

    Source: Eq. (3); equation assumptions-history.
    """
    layers, weights, c = _checked(thetas, Q, gains, c, past)
    x = inputs_of(x0, layers.shape[-1])
    u = shaped("controls", controls, (len(layers), *x.shape))
    return total_cost(layers, weights, np.full(len(u), c), x, u, past)


def history_dense(
    thetas: ArrayLike,
    Q: Complements,
    gains: Gains,
    c: float,
    x0: ArrayLike,
    past: str = "states",
) -> DenseSolution:
    """Solve the same problem as one quadratic program, as a check.

    Parameters
    ----------
    thetas, Q, gains, c, past
        As for `history_riccati`.
    x0 : (d,) array
        Input.

    Returns
    -------
    DenseSolution
        As that of `dense_solution`.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> best = history_dense(one, Complements(one, one, one), (1, 1, 1), 1.0, [2.0])
    >>> best.controls.round(6).tolist(), round(best.value, 6)
    ([[-1.5]], 1.5)

    Source: equation assumptions-history.
    """
    layers, weights, c = _checked(thetas, Q, gains, c, past)
    x = shaped("x0", x0, layers.shape[-1:])
    return quadratic_program(layers, weights, np.full(len(layers), c), x, past)
