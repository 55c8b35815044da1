"""The Wiener rule: optimal among affine maps, Proposition 2 in its limits, predicted error."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pidbook.theory import expected_error
from pidlib.theory.gains import attenuation, wiener_c
from pidlib.theory.wiener import regression_map, shrunk, wiener_map
from tests.conftest import refusals


def covariance(random, d, rank=None):
    root = random.standard_normal((d, rank or d))
    return root @ root.T


@given(seed=st.integers(0, 10**6), d=st.integers(1, 6))
def test_no_other_affine_map_does_better(seed, d):
    random = np.random.default_rng(seed)
    x, z = covariance(random, d), covariance(random, d, max(1, d // 2))
    best = wiener_map(x, z).A
    least = sum(expected_error(best, x, z))
    for size in (1e-3, 0.1, 1.0):
        other = best + size * random.standard_normal((d, d))
        assert sum(expected_error(other, x, z)) >= least - 1e-9 * np.trace(x)


def test_predicted_error_is_the_simulated_one():
    random = np.random.default_rng(0)
    x, z, m = covariance(random, 4), covariance(random, 4, 2), random.standard_normal(4)
    clean = random.multivariate_normal(m, x, size=40_000)
    seen = clean + random.multivariate_normal(np.zeros(4), z, size=40_000)
    for rho in (0.3, 1.0, 3.0):
        estimate = wiener_map(x, z, rho, m)
        errors = ((estimate(seen) - clean) ** 2).sum(1)
        half = 4 * errors.std() / np.sqrt(len(errors))
        assert abs(errors.mean() - sum(expected_error(estimate.A, x, z))) < half


@given(seed=st.integers(0, 10**6), T=st.integers(1, 8), X=st.floats(0.05, 5), Z=st.floats(0.05, 5))
def test_on_a_subspace_it_is_proposition_2(seed, T, X, Z):
    random = np.random.default_rng(seed)
    V = np.linalg.qr(random.standard_normal((6, 2)))[0]
    on, off = V @ V.T, np.eye(6) - V @ V.T
    A = wiener_map(7.0 * on + X * off, Z * off).A
    share = attenuation(T, wiener_c(X, Z, T))[-1]  # what all layers together leave
    assert np.allclose(A, on + share * off, atol=1e-6)


def test_limits_are_the_projection_and_no_control():
    V = np.linalg.qr(np.random.default_rng(2).standard_normal((5, 2)))[0]
    on, off = V @ V.T, np.eye(5) - V @ V.T
    assert np.allclose(wiener_map(on, off).A, on)
    assert np.allclose(wiener_map(on + off, off, rho=0.0).A, np.eye(5))
    assert np.allclose(wiener_map(on, off, rho=0.0).A, on)  # nothing clean is ever off it


def test_regression_is_the_wiener_rule_without_correlation_and_better_with_it():
    random = np.random.default_rng(3)
    x, z, m = covariance(random, 3), covariance(random, 3), random.standard_normal(3)
    free = regression_map(x, x + z, m, m)
    assert np.allclose(free.A, wiener_map(x, z).A) and np.allclose(free.b, wiener_map(x, z, 1, m).b)
    clean = random.multivariate_normal(m, x, size=20_000)
    seen = 0.5 * clean + random.standard_normal((20_000, 3))  # z pulls towards the origin
    both = np.cov(np.hstack([clean, seen]).T)
    fitted = regression_map(both[:3, 3:], both[3:, 3:], clean.mean(0), seen.mean(0))
    off = seen - clean
    naive = wiener_map(both[:3, :3], off.T @ off / len(off), 1.0, clean.mean(0))
    errors = [((f(seen) - clean) ** 2).sum(1).mean() for f in (fitted, naive)]
    assert errors[0] < 0.95 * errors[1]


def test_shrinkage_keeps_the_trace_and_fades_with_samples():
    random = np.random.default_rng(4)
    truth = np.diag([9.0, 4.0, 1.0, 1.0, 1.0, 1.0])
    for n, most in ((4, None), (4000, 0.05)):
        s = np.cov(random.multivariate_normal(np.zeros(6), truth, size=n).T, bias=True)
        pulled = shrunk(s, n)
        assert np.trace(pulled) == pytest.approx(np.trace(s))
        assert np.linalg.eigvalsh(pulled)[0] >= np.linalg.eigvalsh(s)[0]
        if most is None:
            assert np.linalg.norm(pulled - truth) < np.linalg.norm(s - truth)
        else:
            assert np.linalg.norm(pulled - s) < most * np.linalg.norm(s)
    assert np.array_equal(shrunk(np.eye(3), 10), np.eye(3))


ONE = np.eye(2)


BAD_INPUT = [
    (lambda: wiener_map(np.ones((2, 3)), ONE), "sigma_x has shape"),
    (lambda: wiener_map([[1.0, 0.0], [1.0, 1.0]], ONE), "not symmetric"),
    (lambda: wiener_map(ONE, -ONE), "sigma_z has a negative eigenvalue"),
    (lambda: wiener_map(ONE, [[np.nan, 0], [0, 1]]), "not finite"),
    (lambda: wiener_map(ONE, np.eye(3)), "one d"),
    (lambda: wiener_map(ONE, ONE, rho=-1.0), "rho is -1.0"),
    (lambda: wiener_map(ONE, ONE, mean=np.ones(3)), "one d"),
    (lambda: wiener_map(ONE, ONE, mean=[np.nan, 0]), "the mean has"),
    (lambda: regression_map([[np.nan]], [[4.0]], [4.0], [4.0]), "cross or a mean"),
    (lambda: shrunk(ONE, 0), "0 samples"),
]


test_bad_input_is_named = refusals(BAD_INPUT)
