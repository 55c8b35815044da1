"""The Riccati recursion: closed forms, residuals, and solvers that agree."""

import math

import numpy as np
import pytest

from pidbook.theory import cost, dense_solution, orthogonal_system, riccati, rollout
from tests.conftest import refusals


def problem(seed: int, d: int = 5, T: int = 6):
    """Any layers, non-commuting projections as weights, a cost for each layer."""
    random = np.random.default_rng(seed)
    thetas = random.standard_normal((T, d, d)) / math.sqrt(d)
    frames = np.linalg.qr(random.standard_normal((3, T, d, d)))[0][..., :2]
    Q = (np.eye(d) - frames @ frames.swapaxes(-1, -2)).sum(0)
    return thetas, Q, np.exp(random.uniform(-3, 3, T)), random.standard_normal(d)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("weight", "rank"), [(1, 0), (0, 2), (1, 2)])
def test_recursion_and_dense_program_agree(seed, weight, rank):
    """With a weight on every layer, on the end of the network, and on both."""
    thetas, Q, c, x0 = problem(seed)
    root = np.random.default_rng(seed).standard_normal((rank, 5))
    weights, end = weight * Q, root.T @ root
    solution = riccati(thetas, weights, c, terminal=end)
    dense = dense_solution(thetas, weights, c, x0, terminal=end)
    path = rollout(thetas, solution.K, x0)
    assert np.allclose(path.controls, dense.controls, atol=1e-10)
    assert solution.value(x0) == pytest.approx(dense.value, rel=1e-10)
    last = root @ path.states[-1]
    paid = cost(thetas, weights, c, x0, path.controls) + 0.5 * float(last @ last)
    assert paid == pytest.approx(dense.value, rel=1e-10)


def test_free_control_projects():
    system = orthogonal_system(d=5, r=2, T=3, seed=4)
    solution = riccati(system.thetas, system.complements[:-1], 0.0)
    assert np.allclose(solution.A, np.eye(5) - system.complements[:-1], atol=1e-13)
    assert not solution.S.any()


def test_a_subspace_that_is_everything_needs_no_control():
    frames = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 3, 3)))[0]
    noise = np.eye(3) - frames @ frames.swapaxes(1, 2)  # 0, but for rounding of either sign
    noise = (noise + noise.swapaxes(1, 2)) / 2
    assert np.linalg.eigvalsh(noise).min() < 0
    assert np.abs(riccati(frames, noise, 0.1).K).max() < 1e-13


def test_a_batch_is_its_systems_and_each_can_have_its_own_cost():
    system = orthogonal_system(d=4, r=1, T=5, seed=6, batch=(3,))
    Q, x0 = system.complements[:, :-1], np.random.default_rng(0).standard_normal((3, 4))
    prices, by_layer = np.array([0.01, 1.0, 50.0]), np.linspace(0.1, 2.0, 5)
    many, layered = (riccati(system.thetas, Q, c) for c in (prices[:, None], by_layer))
    paths = rollout(system.thetas, many.K, x0)
    for k, price in enumerate(prices):
        alone = riccati(system.thetas[k], Q[k], price)
        assert np.allclose(many.K[k], alone.K, atol=1e-13)
        assert np.allclose(many.S[k], alone.S, atol=1e-13 * price)
        assert np.allclose(many.value(x0)[k], alone.value(x0[k]))
        assert np.allclose(layered.K[k], riccati(system.thetas[k], Q[k], by_layer).K, atol=1e-13)
        path = rollout(system.thetas[k], alone.K, x0[k])
        assert np.allclose(paths.states[:, k], path.states, atol=1e-13)


def test_the_parts_of_a_solution_fit_together():
    thetas, Q, c = problem(3)[:3]
    solution, eye = riccati(thetas, Q, c), np.eye(thetas.shape[-1])
    assert np.allclose(solution.A + solution.K, eye, atol=1e-13)
    assert np.array_equal(2 * solution.P, solution.S)  # the form of the paper
    prices = c[:, None, None]
    assert np.allclose(solution.S[:-1], prices * solution.K, atol=1e-13)
    assert np.allclose((solution.M + prices * eye) @ solution.K, solution.M, atol=1e-12)


THETAS, Q, C, X0 = problem(0)
LOPSIDED = Q + np.eye(5, k=1)
MANY = orthogonal_system(d=5, r=1, T=6, seed=6, batch=(3,)).thetas


BAD_INPUT = [
    (lambda: riccati(THETAS[0], Q, 1.0), "thetas have shape"),
    (lambda: riccati(THETAS[:, :, :3], Q, 1.0), "thetas have shape"),
    (lambda: riccati(THETAS, Q[:2], 1.0), "Q_state has shape"),
    (lambda: riccati(THETAS, LOPSIDED, 1.0), "not symmetric"),
    (lambda: riccati(THETAS, -Q, 1.0), "layer 5 has the eigenvalue"),
    (lambda: riccati(THETAS * np.nan, Q, 1.0), "NaN"),
    (lambda: riccati(THETAS, Q, -1.0), "cost c is -1.0"),
    (lambda: riccati(THETAS, Q, math.nan), "cost c is nan"),
    (lambda: riccati(THETAS, Q, [1.0, 2.0]), r"shape \(2,\)"),
    (lambda: riccati(MANY, [Q] * 3, np.ones((2, 1))), "broadcasts to"),
    (lambda: riccati(THETAS, Q, C, terminal=np.eye(3)), "shape"),
    (lambda: riccati(THETAS, Q, C, terminal=np.tri(5)), "symmetric"),
    (lambda: riccati(THETAS, Q, C, terminal=-np.eye(5)), "negative"),
    (lambda: dense_solution(THETAS, Q, 0.0, X0), "needs it positive"),
    (lambda: dense_solution(THETAS, Q, C, X0[:2]), "expected one system"),
    (lambda: cost(THETAS, Q, C, X0, np.zeros((2, 5))), "controls"),
    (lambda: rollout(THETAS, THETAS[:2], X0), "must agree"),
    (lambda: rollout(THETAS, THETAS, X0[:2]), "x0 has shape"),
]


test_bad_input_is_named = refusals(BAD_INPUT)
