"""Properties of the Riccati solution for any layers, weights and costs."""

import numpy as np
from hypothesis import given, strategies as st

from pidbook.theory import cost, lambdas, orthogonal_system, riccati, rollout
from pidlib.theory.gains import alphas

seeds = st.integers(0, 2**31 - 1)


def problem(seed: int):
    random = np.random.default_rng(seed)
    d, T = int(random.integers(1, 6)), int(random.integers(1, 8))
    rank = int(random.integers(0, d + 1))
    # norms near 1: states that grow a thousandfold would measure the dense solver's rounding
    thetas = random.standard_normal((T, d, d)) * np.exp(random.uniform(-1, 1)) / (2 * d**0.5)
    root = random.standard_normal((T, d, rank))
    c = np.exp(random.uniform(-3, 3, T))
    return thetas, root @ root.swapaxes(1, 2), c, random.standard_normal(d), random


@given(seeds)
def test_value_function_is_symmetric_positive_and_below_the_cost(seed):
    thetas, Q, c, _, _ = problem(seed)
    S = riccati(thetas, Q, c).S
    assert np.array_equal(S[-1], np.zeros_like(S[-1]))
    assert np.allclose(S, S.swapaxes(1, 2), atol=1e-12 * c.max())
    values = np.linalg.eigvalsh(S[:-1])
    assert values.min() >= -1e-12 * c.max()
    assert np.all(values <= c[:, None] * (1 + 1e-12))


@given(seeds)
def test_excess_cost_identity_for_any_other_feedback(seed):
    thetas, Q, c, x0, random = problem(seed)
    thetas = thetas / (1 + np.linalg.norm(thetas, 2, axis=(1, 2), keepdims=True))
    solution = riccati(thetas, Q, c)
    other = solution.K + 0.3 * random.standard_normal(thetas.shape)
    path = rollout(thetas, other, x0)
    excess = 0.0
    for t, x in enumerate(path.states[:-1]):
        gap = (other[t] - solution.K[t]) @ x
        excess += 0.5 * gap @ (solution.M[t] + c[t] * np.eye(len(x0))) @ gap
    total = cost(thetas, Q, c, x0, path.controls)
    assert np.isclose(total - solution.value(x0), excess, rtol=1e-9, atol=1e-10 * (1 + total))


@given(seeds, st.floats(-4, 6).map(np.exp))
def test_orthogonal_case_is_the_scalar_recursion(seed, c):
    random = np.random.default_rng(seed)
    d, T = int(random.integers(2, 9)), int(random.integers(1, 10))
    system = orthogonal_system(d, int(random.integers(1, d)), T, seed)
    Q = system.complements
    solution = riccati(system.thetas, Q[:-1], c)
    assert np.allclose(solution.S, lambdas(T, c)[:, None, None] * Q, atol=1e-10 * max(1, c))
    kept = np.eye(d) - (1 - alphas(T, c))[:, None, None] * Q[:-1]
    assert np.allclose(solution.A, kept, atol=1e-10 * max(1, 1 / c))
