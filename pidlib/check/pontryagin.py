"""Exercises on Pontryagin's principle that check themselves."""

from __future__ import annotations

import numpy as np

from pidlib.check.judge import Answer, Cases, exercise
from pidlib.theory.augmented import Complements
from pidlib.theory.pontryagin import basic_msa, basic_threshold, history_sweep, step_bound, sweep


def _problem(seed: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray, np.ndarray]:
    """Layers, weights, cost, input and controls of a small random problem."""
    random = np.random.default_rng(seed)
    T, d = 2 + seed % 3, 3
    root = random.standard_normal((T, d, 2))
    thetas = random.standard_normal((T, d, d)) / 2
    x0, controls = random.standard_normal(d), random.standard_normal((T, d))
    return thetas, root @ root.swapaxes(1, 2), float(random.uniform(0.5, 2)), x0, controls


@exercise("H = p_next . theta v - v.Q v / 2 - ...; its derivative in x is theta' p_next - Q v")
def costate_step(answer: Answer) -> Cases:
    """Check a function (p_next, theta, Q, v) -> p, one step of the costate equation."""
    for seed in range(4):
        thetas, Q, c, x0, u = _problem(seed)
        states, p, *_ = sweep(thetas, Q, c, x0, u)
        for t, theta in enumerate(thetas):
            yield p[t], answer(p[t + 1], theta, Q[t], states[t] + u[t])
    return "back-propagation with another name"


@exercise("one loop forward for x and v, one loop back for p, then c u - p")
def cost_gradient(answer: Answer) -> Cases:
    """Check a function (thetas, Q_state, c, x0, controls) -> gradient of the cost."""
    for problem in map(_problem, range(5)):
        yield sweep(*problem).gradient, answer(*problem)
    return "two passes give the slope in all T d directions at once"


@exercise("2 over the largest eigenvalue of the Hessian, which has k = 1")
def largest_step(answer: Answer) -> Cases:
    """Check a function (T, c) -> step size at which gradient MSA stops converging, q = 1."""
    for T, c in ((1, 1.0), (6, 1.0), (12, 0.1), (24, 50.0)):
        yield step_bound(T, c), answer(T, c)
    return "four times the depth asks for sixteen times smaller steps"


@exercise("solve (Q + c I) u = theta' p_next - Q x at every layer, x and p from the old controls")
def basic_sweep(answer: Answer) -> Cases:
    """Check a function (thetas, Q_state, c, x0, controls) -> controls after one sweep."""
    for seed in range(5):
        *problem, u = _problem(seed)
        yield basic_msa(*problem, sweeps=1, start=u).controls, answer(*problem, u)
    return "a Newton step that knows one layer only"


@exercise("compare c with 1 / (4 sin(pi / (4 T + 2))^2) - 2")
def converges(answer: Answer) -> Cases:
    """Check a function (T, c) -> whether undamped basic MSA converges, q = 1."""
    for T, c in ((1, 0.1), (2, 0.5), (2, 0.7), (6, 15.0), (6, 15.5), (12, 1.0), (12, 70.0)):
        yield c > basic_threshold(T), answer(T, c)
    return "cheap control, the interesting case, is where it diverges"


@exercise("x_t also enters s_{t+1}, s_{t+2}, ...: subtract every later pull as well")
def history_costate(answer: Answer) -> Cases:
    """Check a function (theta, p_next, pull, later) -> p_t of the loss with sums of past states."""
    for seed in range(4):
        thetas, _, c, x0, u = _problem(seed)
        Q = np.tile(np.diag([1.0, 1.0, 0.0]), (len(u), 1, 1))
        states, p, *_ = history_sweep(thetas, Complements(Q, Q, Q), (0, 1, 0), c, x0, u)
        pulls = [Q[t] @ (states[: t + 1].sum(0) + u[t]) for t in range(len(u))]
        for t, theta in enumerate(thetas):
            yield p[t], answer(theta, p[t + 1], pulls[t], pulls[t + 1 :])
    return "a state that is remembered is paid for as long as it is remembered"
