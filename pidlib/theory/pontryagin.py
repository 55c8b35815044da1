"""Pontryagin's principle by successive approximation (MSA), for linear layers.

The relaxed cost of `pidlib.theory.riccati`, solved for one input by sweeps: forward for the
states, backward for the costates, then better controls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pidlib.theory.augmented import Complements


class Sweep(NamedTuple):
    """One pass forward and one back."""

    states: np.ndarray
    costates: np.ndarray
    gradient: np.ndarray
    cost: np.ndarray


@dataclass(frozen=True)
class Approximation:
    """What successive approximation did.

    Attributes
    ----------
    controls : (T, ..., d) array
        The last controls.
    costs : (sweeps + 1, ...) array
        Cost before the first sweep and after each.
    gradients : (sweeps + 1,) array
        Norm of the whole gradient at the same times.

    Source: section 2.1; equations pontryagin-msa, pontryagin-basic.
    """

    controls: np.ndarray
    costs: np.ndarray
    gradients: np.ndarray


def _check(
    thetas: ArrayLike, Q_state: ArrayLike, c: float, x0: ArrayLike, controls: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray, np.ndarray]:
    layers, weights = np.asarray(thetas, np.float64), np.asarray(Q_state, np.float64)
    if layers.ndim != 3 or layers.shape[1] != layers.shape[2] or len(layers) < 1:
        raise ValueError(f"thetas have shape {layers.shape}; expected (T, d, d), T at least 1")
    if weights.shape != layers.shape:
        raise ValueError(f"Q_state has shape {weights.shape}; expected {layers.shape} as thetas")
    if not (np.isfinite(c) and c > 0):
        raise ValueError(f"the control cost c is {c}; it must be finite and positive")
    x = np.asarray(x0, np.float64)
    if x.shape[-1:] != layers.shape[-1:]:
        raise ValueError(f"x0 has shape {x.shape}; its last axis must be {layers.shape[-1]}")
    shape = (len(layers), *x.shape)
    u = np.zeros(shape) if controls is None else np.array(controls, np.float64)
    if u.shape != shape:
        raise ValueError(f"controls have shape {u.shape}; expected {shape}")
    return layers, weights, float(c), x, u


def sweep(
    thetas: ArrayLike, Q_state: ArrayLike, c: float, x0: ArrayLike, controls: ArrayLike
) -> Sweep:
    """Run the states forward and the costates back, for the relaxed cost.

    Parameters
    ----------
    thetas, Q_state : (T, d, d) arrays
        Layers; weights of the controlled states, symmetric.
    c : float
        Cost of the control, above 0.
    x0 : (..., d) array
        Inputs.
    controls : (T, ..., d) array
        u_0 to u_{T-1}.

    Returns
    -------
    Sweep

    Raises
    ------
    ValueError
        Shapes that do not fit, or a cost that is not positive.

    Examples
    --------
    >>> one = np.ones((2, 1, 1))
    >>> back = sweep(one, one, 1.0, x0=[1.0], controls=np.zeros((2, 1)))
    >>> back.costates.ravel().tolist(), back.gradient.ravel().tolist()
    ([-2.0, -1.0, 0.0], [2.0, 1.0])

    Source: section 2.1; equations pontryagin-forward, pontryagin-backward, pontryagin-gradient.
    """
    layers, weights, c, x, u = _check(thetas, Q_state, c, x0, controls)
    return _sweep(layers, weights, c, x, u)


def _sweep(
    layers: np.ndarray, weights: np.ndarray, c: float, x: np.ndarray, u: np.ndarray
) -> Sweep:
    states, pulls, cost = [x], [], np.zeros(x.shape[:-1])
    for t, theta in enumerate(layers):
        v = states[-1] + u[t]
        pulls.append(v @ weights[t])
        cost = cost + 0.5 * (v * pulls[-1]).sum(-1) + 0.5 * c * (u[t] ** 2).sum(-1)
        states.append(v @ theta.T)
    costates = np.zeros((len(layers) + 1, *x.shape))
    for t in range(len(layers) - 1, -1, -1):
        costates[t] = costates[t + 1] @ layers[t] - pulls[t]
    return Sweep(np.stack(states), costates, c * u - costates[:-1], cost)


def _iterate(
    layers: np.ndarray,
    weights: np.ndarray,
    c: float,
    x: np.ndarray,
    u: np.ndarray,
    sweeps: int,
    move: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Approximation:
    """Sweep, note cost and gradient, move the controls; one sweep more to note the end."""
    costs, norms = [], []
    for k in range(sweeps + 1):
        now = _sweep(layers, weights, c, x, u)
        costs.append(now.cost)
        norms.append(float(np.linalg.norm(now.gradient)))
        if k < sweeps:
            u = move(u, now.gradient)
    return Approximation(u, np.array(costs), np.array(norms))


def gradient_msa(
    thetas: ArrayLike,
    Q_state: ArrayLike,
    c: float,
    x0: ArrayLike,
    step: float,
    sweeps: int,
    momentum: float = 0.0,
    start: ArrayLike | None = None,
) -> Approximation:
    """Climb the Hamiltonian by its gradient: u <- u - step (c u - p).

    Parameters
    ----------
    thetas, Q_state, c, x0
        As for `sweep`.
    step : float
        Step size, above 0. `step_bound` tells where it stops converging.
    sweeps : int
        Number of steps, each of one pass forward and one back.
    momentum : float
        Share of the last step that is added to the next, 0 to below 1 (heavy ball).
    start : (T, ..., d) array, optional
        First controls; zero when left out.

    Returns
    -------
    Approximation

    Raises
    ------
    ValueError
        As for `sweep`, or a step, momentum or number of sweeps out of range.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> gradient_msa(one, one, 1.0, [1.0], step=0.5, sweeps=1).controls.ravel().tolist()
    [-0.5]

    Source: section 2.1; equation pontryagin-msa.
    """
    layers, weights, c, x, u = _check(thetas, Q_state, c, x0, start)
    if not step > 0 or not 0 <= momentum < 1 or sweeps < 0:
        raise ValueError(
            f"step {step}, momentum {momentum}, sweeps {sweeps}: the step must be positive, the "
            "momentum at least 0 and below 1, and the sweeps not negative"
        )
    before = u

    def move(u: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        nonlocal before
        moved = u - step * gradient + momentum * (u - before)
        before = u
        return moved

    return _iterate(layers, weights, c, x, u, sweeps, move)


def basic_msa(
    thetas: ArrayLike,
    Q_state: ArrayLike,
    c: float,
    x0: ArrayLike,
    sweeps: int,
    damping: float = 1.0,
    start: ArrayLike | None = None,
) -> Approximation:
    """Maximise the Hamiltonian of every layer exactly, states and costates held fixed.

    Parameters
    ----------
    thetas, Q_state, c, x0, sweeps, start
        As for `gradient_msa`.
    damping : float
        Share of the way to the maximiser that is gone, above 0; 1 is the basic method.

    Returns
    -------
    Approximation

    Raises
    ------
    ValueError
        As for `sweep`, or damping that is not positive.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> basic_msa(one, one, 1.0, [1.0], sweeps=1).controls.ravel().tolist()
    [-0.5]

    Source: section 2.1 (maximisation condition); equation pontryagin-basic.
    """
    layers, weights, c, x, u = _check(thetas, Q_state, c, x0, start)
    if not damping > 0 or sweeps < 0:
        raise ValueError(f"damping {damping}, sweeps {sweeps}: give damping above 0, sweeps >= 0")
    inverses = np.linalg.inv(weights + c * np.eye(weights.shape[-1]))

    def move(u: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        # u - argmax H = (Q + c)^-1 (c u - p): a gradient step, preconditioned
        return u - damping * np.einsum("tij,t...j->t...i", inverses, gradient)

    return _iterate(layers, weights, c, x, u, sweeps, move)


def hessian_eigenvalues(T: int, c: float, q: float = 1.0) -> np.ndarray:
    """Second derivatives of the cost in the controls, along one penalised direction.

    c + q sigma_k^2 with sigma_k = 1 / (2 sin((2 k - 1) pi / (4 T + 2))), k = 1 .. T. For
    orthogonal layers that carry one projection these, and c itself, are all eigenvalues.

    Parameters
    ----------
    T : int
        Number of layers, at least 1.
    c, q : float
        Cost of the control, above 0; weight, at least 0.

    Returns
    -------
    (T,) array
        Falling.

    Raises
    ------
    ValueError
        T below 1, or a cost or weight out of range.

    Examples
    --------
    >>> hessian_eigenvalues(2, c=1.0).round(4)      # 1 + golden ratio^2, 1 + its inverse
    array([3.618, 1.382])

    Source: ours; equation pontryagin-hessian.
    """
    if T < 1 or not (np.isfinite(c) and c > 0) or not (np.isfinite(q) and q >= 0):
        raise ValueError(f"T = {T}, c = {c}, q = {q}: T at least 1, c above 0, q not negative")
    k = np.arange(1, T + 1)
    return c + q / (4 * np.sin((2 * k - 1) * np.pi / (4 * T + 2)) ** 2)


def step_bound(T: int, c: float, q: float = 1.0) -> float:
    """Step size at and above which gradient MSA no longer converges.

    Parameters
    ----------
    T, c, q
        As for `hessian_eigenvalues`.

    Returns
    -------
    float
        2 / (largest eigenvalue of the Hessian).

    Raises
    ------
    ValueError
        As for `hessian_eigenvalues`.

    Examples
    --------
    >>> round(step_bound(12, c=1.0), 4)
    0.0311

    Source: ours; equation pontryagin-step.
    """
    return float(2 / hessian_eigenvalues(T, c, q)[0])


def basic_threshold(T: int) -> float:
    """Ratio c / q above which undamped basic MSA converges.

    Parameters
    ----------
    T : int
        Number of layers, at least 1.

    Returns
    -------
    float
        1 / (4 sin(pi / (4 T + 2))^2) - 2, and not below 0.

    Raises
    ------
    ValueError
        T below 1.

    Examples
    --------
    >>> [round(basic_threshold(T), 3) for T in (2, 6, 12)]
    [0.618, 15.207, 61.409]

    Source: ours; equation pontryagin-threshold.
    """
    return max(0.0, float(hessian_eigenvalues(T, 1.0)[0] - 3))


class HeavyBall(NamedTuple):
    """Settings of gradient MSA with momentum."""

    step: float
    momentum: float


def heavy_ball(T: int, c: float, q: float = 1.0) -> HeavyBall:
    """Best step and momentum of gradient MSA for a known spectrum.

    Parameters
    ----------
    T, c, q
        As for `hessian_eigenvalues`; the least eigenvalue is taken as c.

    Returns
    -------
    HeavyBall

    Raises
    ------
    ValueError
        As for `hessian_eigenvalues`.

    Examples
    --------
    >>> step, momentum = heavy_ball(12, c=1.0)
    >>> round(step, 4), round(momentum, 4)
    (0.0491, 0.6059)

    Source: ours, the textbook rule; equation pontryagin-heavy-ball.
    """
    large, small = np.sqrt(hessian_eigenvalues(T, c, q)[0]), np.sqrt(c)
    ratio = (large - small) / (large + small)
    return HeavyBall(float(4 / (large + small) ** 2), float(ratio**2))


def history_sweep(
    thetas: ArrayLike,
    Q: Complements,
    gains: tuple[float, float, float],
    c: float,
    x0: ArrayLike,
    controls: ArrayLike,
    adjoint: str = "exact",
) -> Sweep:
    """Forward and backward pass for the running loss with past states.

    Parameters
    ----------
    thetas, Q, gains, c, x0
        As for `pidlib.theory.augmented.history_riccati`, past states uncontrolled.
    controls : (T, ..., d) array
    adjoint : {"exact", "printed"}
        "printed" is p_t = the derivative in x_t of H at t alone, which forgets that x_t
        also enters the losses of later layers. "exact" counts them.

    Returns
    -------
    Sweep

    Raises
    ------
    ValueError
        Shapes that do not fit, or an unknown adjoint.

    Examples
    --------
    >>> one = np.ones((2, 1, 1))
    >>> Q, u = Complements(one, one, one), np.zeros((2, 1))
    >>> exact = history_sweep(one, Q, (0, 1, 0), 1.0, [1.0], u)
    >>> printed = history_sweep(one, Q, (0, 1, 0), 1.0, [1.0], u, adjoint="printed")
    >>> exact.costates[0].tolist(), printed.costates[0].tolist()
    ([-5.0], [-3.0])

    Source: section 2.1; equation pontryagin-history. Departure: the printed costate equation
    is wrong for the printed loss.
    """
    if adjoint not in ("exact", "printed"):
        raise ValueError(f"unknown adjoint {adjoint!r}; choose 'exact' or 'printed'")
    layers, _, c, x, u = _check(thetas, Q.P, c, x0, controls)
    K_P, K_I, K_D = gains
    s, y, cost, seen, states = np.zeros_like(x), np.zeros_like(x), np.zeros(x.shape[:-1]), [], [x]
    for t, theta in enumerate(layers):
        v = states[-1] + u[t]
        parts = (K_P * v @ Q.P[t], K_I * (v + s) @ Q.I[t], K_D * (v - y) @ Q.D[t])
        for part, whole in zip(parts, (v, v + s, v - y), strict=True):
            cost = cost + 0.5 * (part * whole).sum(-1)
        cost = cost + 0.5 * c * (u[t] ** 2).sum(-1)
        seen.append(parts)
        y, s = states[-1], s + states[-1]
        states.append(v @ theta.T)
    costates, gradient = np.zeros((len(layers) + 1, *x.shape)), np.zeros_like(u)
    later = np.zeros_like(x)  # what the losses after layer t feel of x_t through s and y
    sums = np.zeros_like(x)
    for t in range(len(layers) - 1, -1, -1):
        pull = sum(seen[t])
        gradient[t] = c * u[t] + pull - costates[t + 1] @ layers[t]
        costates[t] = costates[t + 1] @ layers[t] - pull
        if adjoint == "exact":
            costates[t] -= later
        sums = sums + seen[t][1]
        later = sums - seen[t][2]
    return Sweep(np.stack(states), costates, gradient, cost)
