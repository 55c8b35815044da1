"""Exercises on Pontryagin's principle that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pidlib.check.judge import judge
from pidlib.theory.augmented import Complements
from pidlib.theory.pontryagin import basic_msa, basic_threshold, history_sweep, step_bound, sweep


def _problem(seed: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    T, d = 2 + seed % 3, 3
    root = random.standard_normal((T, d, 2))
    thetas = random.standard_normal((T, d, d)) / 2
    x0, controls = random.standard_normal(d), random.standard_normal((T, d))
    return thetas, root @ root.swapaxes(1, 2), float(random.uniform(0.5, 2)), x0, controls


def costate_step(answer: Callable) -> None:
    """Check a function (p_next, theta, Q, v) -> p, one step of the costate equation.

    Parameters
    ----------
    answer : function
        Of the next costate (d,), a layer and a weight (d, d), and the controlled state
        (d,); returns a (d,) array.

    Examples
    --------
    >>> costate_step(lambda *arguments: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: section 2.1; equation pontryagin-backward.
    """

    def cases() -> Iterator:
        for seed in range(4):
            thetas, Q, c, x0, u = _problem(seed)
            back = sweep(thetas, Q, c, x0, u)
            for t, theta in enumerate(thetas):
                yield (back.costates[t + 1], theta, Q[t], back.states[t] + u[t]), back.costates[t]

    hint = "H = p_next . theta v - v.Q v / 2 - ...; its derivative in x is theta' p_next - Q v"
    judge(answer, cases(), hint, "back-propagation with another name")


def cost_gradient(answer: Callable) -> None:
    """Check a function (thetas, Q_state, c, x0, controls) -> gradient of the cost.

    Parameters
    ----------
    answer : function
        Of arrays (T, d, d), (T, d, d), a number, (d,) and (T, d); returns (T, d).

    Examples
    --------
    >>> cost_gradient(lambda *arguments: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: section 2.1; equation pontryagin-gradient.
    """
    problems = [_problem(seed) for seed in range(5)]
    cases = ((one, sweep(*one).gradient) for one in problems)
    hint = "one loop forward for x and v, one loop back for p, then c u - p"
    judge(answer, cases, hint, "two passes give the slope in all T d directions at once")


def largest_step(answer: Callable) -> None:
    """Check a function (T, c) -> step size at which gradient MSA stops converging, q = 1.

    Parameters
    ----------
    answer : function
        Of a depth and a cost; returns a number.

    Examples
    --------
    >>> largest_step(lambda T, c: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation pontryagin-step.
    """
    cases = (((T, c), step_bound(T, c)) for T, c in ((1, 1.0), (6, 1.0), (12, 0.1), (24, 50.0)))
    hint = "2 over the largest eigenvalue of the Hessian, which has k = 1"
    judge(answer, cases, hint, "four times the depth asks for sixteen times smaller steps")


def basic_sweep(answer: Callable) -> None:
    """Check a function (thetas, Q_state, c, x0, controls) -> controls after one sweep.

    Parameters
    ----------
    answer : function
        As in `cost_gradient`; returns the maximisers of the Hamiltonian, (T, d), with
        states and costates of the given controls.

    Examples
    --------
    >>> basic_sweep(lambda *arguments: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: section 2.1; equation pontryagin-basic.
    """

    def cases() -> Iterator:
        for seed in range(5):
            thetas, Q, c, x0, u = _problem(seed)
            yield (thetas, Q, c, x0, u), basic_msa(thetas, Q, c, x0, 1, start=u).controls

    hint = "solve (Q + c I) u = theta' p_next - Q x at every layer, x and p from the old controls"
    judge(answer, cases(), hint, "a Newton step that knows one layer only")


def converges(answer: Callable) -> None:
    """Check a function (T, c) -> whether undamped basic MSA converges, q = 1.

    Parameters
    ----------
    answer : function
        Of a depth and a cost; returns True or False.

    Examples
    --------
    >>> converges(lambda T, c: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation pontryagin-threshold.
    """
    draws = ((1, 0.1), (2, 0.5), (2, 0.7), (6, 15.0), (6, 15.5), (12, 1.0), (12, 70.0))
    cases = (((T, c), c > basic_threshold(T)) for T, c in draws)
    hint = "compare c with 1 / (4 sin(pi / (4 T + 2))^2) - 2"
    judge(answer, cases, hint, "cheap control, the interesting case, is where it diverges")


def history_costate(answer: Callable) -> None:
    """Check a function -> costate of the loss with sums of past states.

    Parameters
    ----------
    answer : function
        (theta, p_next, pull, later) -> p_t, for the running loss with the integral term
        alone: `pull` is Q (v_t + s_t), `later` the list of the same for all later layers.

    Examples
    --------
    >>> history_costate(lambda *arguments: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation pontryagin-history.
    """

    def cases() -> Iterator:
        for seed in range(4):
            thetas, _, c, x0, u = _problem(seed)
            T, d = u.shape
            Q = np.tile(np.diag([1.0, 1.0, 0.0]), (T, 1, 1))
            back = history_sweep(thetas, Complements(Q, Q, Q), (0, 1, 0), c, x0, u)
            v = back.states[:-1] + u
            sums = np.concatenate([np.zeros((1, d)), np.cumsum(back.states[:-2], axis=0)])
            pulls = [Q[t] @ (v[t] + sums[t]) for t in range(T)]
            for t in range(T):
                yield (thetas[t], back.costates[t + 1], pulls[t], pulls[t + 1 :]), back.costates[t]

    hint = "x_t also enters s_{t+1}, s_{t+2}, ...: subtract every later pull as well"
    judge(
        answer, cases(), hint, "a state that is remembered is paid for as long as it is remembered"
    )
