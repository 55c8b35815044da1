"""The likely wrong answers to exercises fail, with a hint."""

import math

import numpy as np
import pytest

from pidbook import check
from pidbook.theory.pontryagin import sweep
from pidlib.theory.gains import alphas, attenuation, wiener_c


def the_control_before_the_layer(S_next, theta, Q, c):
    M = Q + theta.T @ S_next @ theta
    K = np.linalg.solve(M + c * np.eye(len(M)), M)
    return c * K, K


def left(X, r):
    return np.linalg.svd(X.reshape(-1, X.shape[-1]).T, full_matrices=False)[0][:, :r]


def of_the_other_factor(X, r):  # has another shape
    V = np.linalg.svd(X.reshape(-1, X.shape[-1]).T, full_matrices=False)[2].T[:, :r]
    return V @ V.T


def pairs(bend, share):
    return 2 * math.ceil(math.log(1 - share) / (2 * math.log(bend)))


WRONG = [
    (check.euler_step, lambda f, g, x, h: x + h * (f(x) + g(x))),
    (check.euler_step, lambda f, g, x, h: x + h * g(x + h * f(x))),
    (check.offset, lambda k, K_p, K_i, leak, r, w: (k * r - w) / (k + K_p)),
    (check.offset, lambda k, K_p, K_i, leak, r, w: (k * r - w) / (k + K_p + K_i)),
    (check.largest_gain, lambda a, h: 2 / h - a),
    (check.largest_gain, lambda a, h: 1 / h - a),
    (check.gap_left, lambda a, b, g: ((1 - g) * (a - b), (1 - g) * (a - b))),
    (check.halving_cost, 1.0),
    (check.feedback_cost, lambda thetas, Q, c, K, x0: float(x0 @ x0)),
    (check.bellman_step, lambda S, theta, Q, c: (Q, Q)),
    (check.bellman_step, the_control_before_the_layer),
    (check.two_projections, lambda phi: (np.sin(phi), np.cos(phi))),
    (check.split, lambda z, V: (z @ z, 0.0)),
    (check.exit_error, lambda on, off, cs: on + off * attenuation(len(cs), cs[0])[-1] ** 2),
    (check.price_that_breaks_even, lambda X, Z, T: wiener_c(X, Z, T)),
    (check.pd_control, lambda x, P, D, a: (1 - a) * (x - P @ (P.T @ x))),
    (check.direction_left, lambda outside, gains, alpha: 1 - (1 - alpha) * sum(gains)),
    (check.equal_length, lambda x, P, D: np.linalg.norm(D @ x) / np.linalg.norm(P @ x)),
    (check.states_within, lambda share, T, d, tokens: min(T, int(12 * T * share))),
    (check.orthogonal_sum, lambda d, r, k: np.repeat([0.0, 1.0], [k * r, d - k * r])),
    (
        check.augmented_step,
        lambda theta, rho: (
            np.block([[theta, 0 * theta], [np.eye(len(theta)), rho * np.eye(len(theta))]]),
            np.vstack([theta, 0 * theta]),
        ),
    ),
    (
        check.residual_control,
        lambda x, s, y, V, gains, alpha: (
            -(1 - alpha) * sum(g * (x - x @ W @ W.T) for g, W in zip(gains, V, strict=True))
        ),
    ),
    (check.gains_with_end, lambda T, c, end: alphas(T, c)),
    (check.cost_for_share, lambda share: share / (1 - share)),  # one layer
    (check.mean_gain_excess, lambda q, T, c: 0.0),
    (check.costate_step, lambda p, theta, Q, v: theta.T @ p - Q @ v),
    (check.costate_step, lambda p, theta, Q, v: theta.T @ ((1 - np.tanh(v) ** 2) * p) - Q @ v),
    (
        check.cost_gradient,
        lambda thetas, Q, W, c, x0, u: sweep(thetas, Q, c, x0, u).gradient,
    ),
    (check.history_costate, lambda theta, p, pull, after: theta.T @ p - pull - after),
    (check.distance_to_span, lambda x, W: np.linalg.norm(x - W @ (W.T @ x))),
    (check.curve_rank, pairs),  # always whole pairs
    (check.curve_rank, lambda bend, share: math.ceil(math.log(1 - share) / math.log(bend))),
    (check.embedding_projection, lambda X, r: left(X, r)),
    (check.embedding_projection, of_the_other_factor),
    (check.embedding_projection, lambda X, r: left(X - X.mean((0, 1)), r) @ left(X, r).T),
]


@pytest.mark.parametrize(("exercise", "wrong"), WRONG)
def test_wrong_answers_fail_with_a_hint(capsys, exercise, wrong):
    exercise(wrong)
    said = capsys.readouterr().out
    assert said.startswith("not yet: a test case comes out differently\nhint: ")
