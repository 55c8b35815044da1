"""Estimates over depth: predictions against drawn systems, and what memory is worth."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pidbook.theory import estimates_over_depth, parallel_sum, simulated_errors


def covariance(random, d, scale=1.0):
    root = random.standard_normal((d, d))
    return scale * root @ root.T / d


def system(seed, d, T):
    random = np.random.default_rng(seed)
    thetas = random.standard_normal((T, d, d)) / np.sqrt(d)  # not orthogonal
    return thetas, *(covariance(random, d, s) for s in (1.0, 0.5, 0.2, 0.1))


@pytest.mark.parametrize("memory", [True, False])
def test_predicted_errors_are_the_simulated_ones(memory):
    setting = system(0, 4, 4)
    drawn = simulated_errors(*setting, memory, draws=40_000)
    half = 4 * drawn.std(0) / 200
    predicted = [np.trace(one.error) for one in estimates_over_depth(*setting, memory)]
    assert (np.abs(drawn.mean(0) - predicted) < half).all()


@given(seed=st.integers(0, 10**6), d=st.integers(1, 5), T=st.integers(1, 4))
def test_memory_never_harms_and_is_worth_nothing_without_new_disturbances(seed, d, T):
    thetas, x, z, W, D = system(seed, d, T)
    errors = {}
    for disturbed in (D, 0 * D):
        for memory in (True, False):
            errors[memory] = [
                one.error for one in estimates_over_depth(thetas, x, z, W, disturbed, memory)
            ]
        for kept, guessed in zip(errors[True], errors[False], strict=True):
            size = np.abs(guessed).max()
            assert np.linalg.eigvalsh(guessed - kept)[0] > -1e-8 * size
            if not disturbed.any():
                assert np.allclose(kept, guessed, atol=1e-8 * size)


@given(seed=st.integers(0, 10**6), d=st.integers(1, 5))
def test_the_parallel_sum_is_symmetric_and_below_both(seed, d):
    random = np.random.default_rng(seed)
    X, Z, more = (covariance(random, d) for _ in range(3))
    found = parallel_sum(X, Z)
    assert np.allclose(found, parallel_sum(Z, X), atol=1e-7)
    for above in (X - found, Z - found, parallel_sum(X + more, Z) - found):
        assert np.linalg.eigvalsh(above)[0] > -1e-7


def test_no_map_of_the_whole_history_does_better():
    """Regress the last clean state on all that was seen, drawn: not below the prediction."""
    thetas, x, z, W, D = system(3, 2, 2)
    random, n = np.random.default_rng(0), 200_000
    made = estimates_over_depth(thetas, x, z, W, D)

    def draw(c):
        return random.multivariate_normal(np.zeros(2), c, n)

    clean = draw(x)
    seen = clean + draw(z)
    history, guess, told = [seen], None, np.zeros_like(seen)
    for t, theta in enumerate(thetas):
        guess = told + (seen - told) @ made[t].A.T
        told, new = guess @ theta.T, draw(W)
        clean, seen = clean @ theta.T + new, told + new + draw(D)
        history.append(seen)
    features = np.concatenate(history, axis=1)
    weights = np.linalg.lstsq(features, clean, rcond=None)[0]
    least = ((features @ weights - clean) ** 2).sum(1).mean()
    assert least == pytest.approx(np.trace(made[-1].error), rel=0.01)


def test_a_block_of_another_shape_is_refused():
    one = np.eye(2)
    with pytest.raises(ValueError, match=r"block 0 has shape \(3, 3\)"):
        estimates_over_depth([np.eye(3)], one, one, one, one)
