"""The exact PID problem against a dense program, its definition, and cases done by hand."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pidbook.theory import orthogonal_system, riccati
from pidbook.theory.augmented import (
    Complements,
    history_cost,
    history_dense,
    history_riccati,
    history_rollout,
)
from pidbook.theory.law_comparison import averaged_law, myopic_law, relaxed_law
from pidlib.theory.gains import alphas

seeds = st.integers(0, 2**31 - 1)
pasts = st.sampled_from(["states", "controlled"])
one = np.ones((1, 1, 1))


def problem(seed):
    random = np.random.default_rng(seed)
    d, T = int(random.integers(1, 6)), int(random.integers(1, 7))
    thetas = random.standard_normal((T, d, d)) / d**0.5
    frames = np.linalg.qr(random.standard_normal((3, T, d, d)))[0][..., : random.integers(0, d + 1)]
    Q = Complements(*(np.eye(d) - frames @ frames.swapaxes(-1, -2)))
    gains = tuple(random.random(3))
    return thetas, Q, gains, float(np.exp(random.uniform(-2, 2))), random.standard_normal(d), random


@given(seeds, pasts)
def test_augmented_recursion_and_dense_program_agree(seed, past):
    thetas, Q, gains, c, x0, _ = problem(seed)
    solution = history_riccati(thetas, Q, gains, c, past)
    dense = history_dense(thetas, Q, gains, c, x0, past)
    path = history_rollout(thetas, solution.law, x0, past)
    size = 1 + np.abs(dense.controls).max()
    assert np.allclose(path.controls, dense.controls, atol=1e-8 * size)
    paid = history_cost(thetas, Q, gains, c, x0, path.controls, past)
    assert np.isclose(paid, dense.value, rtol=1e-8, atol=1e-12)
    assert np.isclose(solution.value(x0), dense.value, rtol=1e-8, atol=1e-12)


@given(seeds)
def test_without_i_and_d_it_is_the_relaxed_problem(seed):
    thetas, Q, _, c, x0, _ = problem(seed)
    solution = history_riccati(thetas, Q, (1, 0, 0), c)
    plain = riccati(thetas, Q.P, c)
    d = len(x0)
    assert np.allclose(solution.K[:, :, :d], plain.K, atol=1e-9)
    assert np.allclose(solution.K[:, :, d:], 0, atol=1e-12)
    assert np.isclose(solution.value(x0), plain.value(x0))


def test_myopic_law_is_the_best_of_one_layer():
    thetas, Q, gains, c, x0, _ = problem(5)
    first = Complements(*(q[:1] for q in Q))
    exact = history_riccati(thetas[:1], first, gains, c)
    zero = np.zeros_like(x0)
    assert np.allclose(myopic_law(first, gains, c)(0, x0, zero, zero), exact.law(0, x0, zero, zero))


def test_laws_of_one_common_subspace_are_one_law():
    system = orthogonal_system(8, 3, 4, seed=2)
    common = system.complements[:-1]
    Q = Complements(common, common, common)
    x = np.random.default_rng(0).standard_normal(8)
    averaged = averaged_law(Q, (1, 2, 3), 0.7)
    relaxed = relaxed_law(system.thetas, Q, (0.2, 0.3, 0.5), 0.7)
    for t in range(4):
        wanted = -(1 - alphas(4, 0.7)[t]) * common[t] @ x
        assert np.allclose(averaged(t, x, None, None), wanted)
        assert np.allclose(relaxed(t, x, None, None), wanted)


def test_batches_of_inputs_are_their_inputs():
    thetas, Q, gains, c, _, random = problem(9)
    many = random.standard_normal((4, 3, thetas.shape[-1]))
    solution = history_riccati(thetas, Q, gains, c)
    path = history_rollout(thetas, solution.law, many)
    costs = history_cost(thetas, Q, gains, c, many, path.controls)
    alone = history_rollout(thetas, solution.law, many[2, 1])
    assert np.allclose(path.states[:, 2, 1], alone.states)
    assert np.allclose(costs, solution.value(many))


def test_push_acts_after_every_layer():
    path = history_rollout(np.ones((3, 1, 1)), lambda t, x, s, y: 0 * x, [1.0], push=[0.5])
    assert path.states.ravel().tolist() == [1.0, 1.5, 2.0, 2.5]


BAD_INPUT = [
    (dict(gains=(1, 1)), "three numbers"),
    (dict(gains=(1, -1, 0)), "none negative"),
    (dict(c=0.0), "cost c is 0"),
    (dict(past="both"), "unknown past"),
    (dict(Q=Complements(one, one, 2 * one)), "Q.D is not a projection"),
    (dict(Q=Complements(one, one, np.ones((2, 1, 1)))), "Q.D has shape"),
    (dict(thetas=np.ones((1, 1))), "thetas have shape"),
]


@pytest.mark.parametrize(("change", "says"), BAD_INPUT)
def test_bad_input_is_named(change, says):
    arguments = dict(thetas=one, Q=Complements(one, one, one), gains=(1, 1, 1), c=1.0) | change
    with pytest.raises(ValueError, match=says):
        history_riccati(**arguments)
