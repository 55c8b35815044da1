"""Pontryagin's principle by successive approximation (MSA), for linear layers.

The relaxed cost of `pidbook.theory.riccati`, solved for one input by sweeps: forward for the
states, backward for the costates, then better controls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pidbook.theory.augmented import Complements, Gains
from pidbook.theory.inputs import choice, inputs_of, layers_of, shaped
from pidbook.theory.systems import apply, run_layers
from pidlib.theory.inputs import control_cost


class Sweep(NamedTuple):
    """One pass forward and one back."""

    states: np.ndarray
    costates: np.ndarray
    gradient: np.ndarray
    cost: np.ndarray


@dataclass(frozen=True)
class Approximation:
    """Last controls (T, ..., d); costs, and norms of the gradient, before and after each sweep."""

    controls: np.ndarray
    costs: np.ndarray
    gradients: np.ndarray


def _checked(
    thetas: ArrayLike, Q_state: ArrayLike, c: float, x0: ArrayLike, controls: ArrayLike | None
) -> tuple[np.ndarray, list[np.ndarray], float, np.ndarray, np.ndarray]:
    layers = layers_of(thetas)
    weights = shaped("Q_state", Q_state, layers.shape)
    cost, x = float(control_cost(c, "positive")), inputs_of(x0, layers.shape[-1])
    shape = (len(layers), *x.shape)
    u = np.zeros(shape) if controls is None else shaped("controls", controls, shape)
    return layers, [weights], cost, x, u


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
        `states` and `costates` (T + 1, ..., d), the `gradient` of the cost in the controls
        (T, ..., d), and the `cost` (...).

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
    *problem, u = _checked(thetas, Q_state, c, x0, controls)
    return _sweep(*problem, u)


def _sweep(
    layers: np.ndarray,
    weights: list[np.ndarray],
    c: float,
    x: np.ndarray,
    u: np.ndarray,
    exact: bool = True,
) -> Sweep:
    """One weight: of v_t; three: of v_t, v_t + s_t and v_t - y_t, the past felt if `exact`."""
    states, _, parts = run_layers(partial(apply, layers), len(u), x, lambda t, *_: u[t])
    cost, pulls = 0.5 * c * (u**2).sum((0, -1)), []
    for t, part in enumerate(parts):
        pulls.append([p @ weight[t] for p, weight in zip(part, weights, strict=False)])
        cost = cost + 0.5 * sum((p * q).sum(-1) for p, q in zip(part, pulls[t], strict=False))
    costates, gradient = np.zeros((len(u) + 1, *x.shape)), np.zeros_like(u)
    sums = later = 0.0  # later: what the losses after layer t feel of x_t through s and y
    for t in range(len(u) - 1, -1, -1):
        pull, back = sum(pulls[t]), costates[t + 1] @ layers[t]
        gradient[t] = c * u[t] + pull - back
        costates[t] = back - pull - later
        if exact and len(weights) == 3:
            sums = sums + pulls[t][1]
            later = sums - pulls[t][2]
    return Sweep(np.stack(states), costates, gradient, cost)


def iterate(
    sweep: Callable[[Any], Any], u: Any, sweeps: int, move: Callable[[Any, Any], Any]
) -> Approximation:
    """Sweep, note cost and gradient, move the controls; one sweep more to note the end."""
    costs, norms = [], []
    for k in range(sweeps + 1):
        now = sweep(u)
        costs.append(now.cost)
        norms.append(float((now.gradient**2).sum()) ** 0.5)
        if k < sweeps:
            u = move(u, now.gradient)
    return Approximation(u, np.array(costs), np.array(norms))


def gradient_steps(sweep: Callable[[Any], Any], u: Any, step: float, sweeps: int) -> Approximation:
    """Steps down the gradient; arrays or tensors."""
    if not step > 0 or sweeps < 0:
        raise ValueError(
            f"step {step}, sweeps {sweeps}: the step must be positive, the sweeps not negative"
        )
    return iterate(sweep, u, sweeps, lambda u, gradient: u - step * gradient)


def gradient_msa(
    thetas: ArrayLike,
    Q_state: ArrayLike,
    c: float,
    x0: ArrayLike,
    step: float,
    sweeps: int,
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
    start : (T, ..., d) array, optional
        First controls; zero when left out.

    Returns
    -------
    Approximation
        The last `controls` (T, ..., d); `costs` (sweeps + 1, ...) and norms of the whole
        gradient, `gradients` (sweeps + 1,), before the first sweep and after each.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> gradient_msa(one, one, 1.0, [1.0], step=0.5, sweeps=1).controls.ravel().tolist()
    [-0.5]

    Source: section 2.1; equation pontryagin-msa.
    """
    *problem, u = _checked(thetas, Q_state, c, x0, start)
    return gradient_steps(partial(_sweep, *problem), u, step, sweeps)


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
        As that of `gradient_msa`.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> basic_msa(one, one, 1.0, [1.0], sweeps=1).controls.ravel().tolist()
    [-0.5]

    Source: section 2.1 (maximisation condition); equation pontryagin-basic.
    """
    *problem, u = _checked(thetas, Q_state, c, x0, start)
    if not damping > 0 or sweeps < 0:
        raise ValueError(f"damping {damping}, sweeps {sweeps}: give damping above 0, sweeps >= 0")
    _, (weights,), c, _ = problem
    inverses = np.linalg.inv(weights + c * np.eye(weights.shape[-1]))

    def move(u: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        # u - argmax H = (Q + c)^-1 (c u - p): a gradient step, preconditioned
        return u - damping * np.einsum("tij,t...j->t...i", inverses, gradient)

    return iterate(partial(_sweep, *problem), u, sweeps, move)


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

    Source: equation pontryagin-hessian.
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

    Examples
    --------
    >>> round(step_bound(12, c=1.0), 4)
    0.0311

    Source: equation pontryagin-step.
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

    Examples
    --------
    >>> [round(basic_threshold(T), 3) for T in (2, 6, 12)]
    [0.618, 15.207, 61.409]

    Source: equation pontryagin-threshold.
    """
    return max(0.0, float(hessian_eigenvalues(T, 1.0)[0] - 3))


def history_sweep(
    thetas: ArrayLike,
    Q: Complements,
    gains: Gains,
    c: float,
    x0: ArrayLike,
    controls: ArrayLike,
    adjoint: str = "exact",
) -> Sweep:
    """Forward and backward pass for the running loss with past states.

    Parameters
    ----------
    thetas, Q, gains, c, x0
        As for `history_riccati`, past states uncontrolled.
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
    choice("adjoint", adjoint, ("exact", "printed"))
    layers, _, c, x, u = _checked(thetas, Q.P, c, x0, controls)
    weights = [gain * shaped("Q", q, layers.shape) for gain, q in zip(gains, Q, strict=True)]
    return _sweep(layers, weights, c, x, u, adjoint == "exact")
