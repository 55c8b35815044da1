"""Weights and gains by direction, against matrices that know nothing of directions."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pidbook.theory import diagonal_gains, lambdas, orthogonal_system, pair_weights, riccati, steady
from pidlib.theory.gains import alphas
from pidlib.theory.subspaces import principal_angles
from tests.conftest import refusals

seeds = st.integers(0, 2**31 - 1)


@given(seeds)
def test_directions_of_a_matrix_problem_come_apart(seed):
    random = np.random.default_rng(seed)
    d, T = int(random.integers(1, 7)), int(random.integers(1, 9))
    frames = np.linalg.qr(random.standard_normal((T + 1, d, d)))[0]
    q = random.exponential(size=(T, d)) * (random.random((T, d)) < 0.7)
    c, s = np.exp(random.uniform(-3, 3, T)), random.uniform(0.2, 2, (T, d))
    thetas = (frames[1:] * s[:, None, :]) @ frames[:-1].swapaxes(1, 2)
    Q = (frames[:-1] * q[:, None, :]) @ frames[:-1].swapaxes(1, 2)
    solution = riccati(thetas, (Q + Q.swapaxes(1, 2)) / 2, c)
    found = diagonal_gains(q, c, s)
    A = (frames[:-1] * found.alphas[:, None, :]) @ frames[:-1].swapaxes(1, 2)
    S = (frames * found.lambdas[:, None, :]) @ frames.swapaxes(1, 2)
    assert np.allclose(solution.A, A, atol=1e-9)
    assert np.allclose(solution.S, S, atol=1e-9 * c.max())


@given(seeds, st.floats(-5, 5).map(np.exp), st.floats(0, 4))
def test_equal_layers_are_the_gains_of_proposition_two(seed, c, q):
    T = seed % 20 + 1
    found = diagonal_gains(np.full((T, 1), q), c)
    assert np.allclose(found.alphas[:, 0], alphas(T, c, q), rtol=1e-10)
    assert np.allclose(found.lambdas[:, 0], lambdas(T, c, q), rtol=1e-10)


def test_relative_costs_undo_growing_norms():
    T, d, growth = 8, 5, 1.7
    system = orthogonal_system(d, 2, T, seed=3)
    size = growth ** np.arange(T)[:, None, None]
    relative = riccati(
        growth * system.thetas, system.complements[:-1] / size**2, 0.4 / size[:, 0, 0] ** 2
    )
    plain = riccati(system.thetas, system.complements[:-1], 0.4)
    assert np.allclose(relative.A, plain.A, atol=1e-12)


@given(seeds, st.floats(0.05, 2), st.floats(0.05, 2))
def test_pair_weights_are_the_eigenvalues(seed, first, second):
    random = np.random.default_rng(seed)
    d = int(random.integers(2, 10))
    r = int(random.integers(1, d // 2 + 1))
    V, W = np.linalg.qr(random.standard_normal((2, d, d)))[0][..., :r]
    Q = first * (np.eye(d) - V @ V.T) + second * (np.eye(d) - W @ W.T)
    rest = np.full(d - 2 * r, first + second)
    wanted = np.concatenate(
        [pair_weights(principal_angles(V, W).numpy(), first, second).ravel(), rest]
    )
    assert np.allclose(np.sort(wanted), np.linalg.eigvalsh(Q), atol=1e-10)


def test_small_angles_keep_their_digits():
    assert pair_weights([1e-9])[0, 0] == pytest.approx(2.5e-19, rel=1e-6)


@pytest.mark.parametrize(("c", "q"), [(0.1, 1.0), (1.0, 1.0), (100.0, 1.0), (3.0, 0.2)])
def test_steady_gains_are_the_limit_of_deep_networks(c, q):
    limit = steady(c, q)
    assert limit.alpha == pytest.approx(alphas(400, c, q)[0], rel=1e-12)
    assert limit.lambda_ == pytest.approx(lambdas(400, c, q)[0], rel=1e-12)
    assert limit.lambda_ == pytest.approx((-q + np.sqrt(q * q + 4 * q * c)) / 2)
    assert np.exp(-1 / limit.lifetime) == pytest.approx(limit.alpha)


def test_steady_ends():
    assert steady(0.0).alpha == 0 and steady(0.0).lifetime == 0
    assert steady(2.0, 0.0).alpha == 1 and np.isinf(steady(2.0, 0.0).lifetime)


BAD_INPUT = [
    (lambda: diagonal_gains(np.ones(3)), r"shape \(3,\)"),
    (lambda: diagonal_gains(-np.ones((2, 1))), "least weight is -1"),
    (lambda: diagonal_gains(np.ones((2, 1)), 0.0), "least cost 0"),
    (lambda: diagonal_gains(np.ones((2, 1)), np.ones(3)), "must broadcast"),
    (lambda: diagonal_gains(np.full((2, 1), np.nan)), "NaN"),
    (lambda: pair_weights([2.0]), "radians"),
    (lambda: pair_weights([1.0], first=-1.0), "negative"),
]


test_bad_input_is_named = refusals(BAD_INPUT)
