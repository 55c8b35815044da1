"""Exercises on Pontryagin's principle that check themselves."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise
from pidbook.theory.augmented import Complements
from pidbook.theory.pontryagin import history_sweep, sweep


def _problem(seed: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray, np.ndarray]:
    """Layers, weights, cost, input and controls of a small random problem."""
    random = np.random.default_rng(seed)
    T, d = 2 + seed % 3, 3
    root = random.standard_normal((T, d, 2))
    thetas = random.standard_normal((T, d, d)) / 2
    x0, controls = random.standard_normal(d), random.standard_normal((T, d))
    return thetas, root @ root.swapaxes(1, 2), float(random.uniform(0.5, 2)), x0, controls


@exercise(
    "the layer is v -> theta tanh(v): its transposed Jacobian is (1 - tanh(v)^2) theta', by rows"
)
def costate_step(answer: Answer) -> Cases:
    """Check a function (p_next, theta, Q, v) -> p, a costate step of the layer theta tanh(v)."""
    for seed in range(4):
        thetas, Q, _, p_next, controls = _problem(seed)
        for theta, weight, v in zip(thetas, Q, controls, strict=True):
            slope = theta * (1 - np.tanh(v) ** 2)  # the Jacobian
            yield slope.T @ p_next - weight @ v, answer(p_next, theta, weight, v)
    return "back-propagation with another name"


@exercise("x_T is in p_T . x_T and in x_T . W x_T / 2, so p_T = -W x_T; the loop back is as before")
def cost_gradient(answer: Answer) -> Cases:
    """Check a function (thetas, Q_state, W, c, x0, controls) -> gradient, with a loss at the exit."""
    for thetas, Q, c, x0, u in map(_problem, range(5)):
        W = Q[0] + Q[-1]
        ones, more = np.eye(3)[None], np.concatenate([Q, W[None]])
        # The exit's loss is the running loss of one more layer, whose control stays 0.
        longer = sweep(np.concatenate([thetas, ones]), more, c, x0, np.vstack([u, np.zeros(3)]))
        yield longer.gradient[:-1], answer(thetas, Q, W, c, x0, u)
    return "two passes give the slope in all T d directions at once"


@exercise("x_t enters the next loss through y, with a minus: its gradient comes with a plus")
def history_costate(answer: Answer) -> Cases:
    """Check a function (theta, p_next, g, g_next) -> p_t of the loss with changes alone."""
    for seed in range(4):
        thetas, _, c, x0, u = _problem(seed)
        Q = np.tile(np.diag([1.0, 1.0, 0.0]), (len(u), 1, 1))
        states, p, *_ = history_sweep(thetas, Complements(Q, Q, Q), (0, 0, 1), c, x0, u)
        before = np.vstack([np.zeros((1, 3)), states[:-2]])
        pulls = [*((states[:-1] + u - before) @ Q[0]), np.zeros(3)]
        for t, theta in enumerate(thetas):
            yield p[t], answer(theta, p[t + 1], pulls[t], pulls[t + 1])
    return "a state that is remembered is paid for twice"
