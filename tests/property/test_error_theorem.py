"""Theorem 1, and its general form, on random systems and matrix Riccati controllers."""

import numpy as np
from hypothesis import given, strategies as st

from pidbook.theory import orthogonal_system, riccati, rollout
from pidbook.theory.gains import generalised_error
from pidlib.theory.gains import predicted_error, wiener_c

seeds = st.integers(0, 2**31 - 1)
costs = st.floats(-4, 6).map(np.exp)


def drawn(seed: int):
    random = np.random.default_rng(seed)
    d, T = int(random.integers(2, 20)), int(random.integers(1, 25))
    return orthogonal_system(d, int(random.integers(1, d)), T, seed), random


def errors(system, K, x0, z):
    clean = rollout(system.thetas, np.zeros_like(K), x0).states
    controlled = rollout(system.thetas, K, x0 + z).states
    return ((controlled - clean) ** 2).sum(-1)


@given(seeds, costs)
def test_theorem_one_at_every_layer(seed, c):
    system, random = drawn(seed)
    Q = system.complements
    K = riccati(system.thetas, Q[:-1], c).K
    x0 = system.bases[0] @ random.standard_normal(system.r)
    z = random.standard_normal(system.d)
    off = Q[0] @ z
    predicted = predicted_error(z @ z - off @ off, off @ off, system.T, c)
    scale = (z @ z + x0 @ x0) * max(1.0, 1 / c)
    assert np.allclose(errors(system, K, x0, z), predicted, atol=1e-11 * scale)


@given(seeds, costs)
def test_general_theorem_for_any_carried_weights(seed, c):
    system, random = drawn(seed)
    d, T = system.d, system.T
    frames = np.linalg.qr(random.standard_normal((3, d, d)))[0][..., : system.r]
    gains = random.random(3)
    Q = np.einsum("k,kij->ij", gains, np.eye(d) - frames @ frames.swapaxes(1, 2))
    weights = [Q]
    for theta in system.thetas:
        weights.append(theta @ weights[-1] @ theta.T)
    weights = np.array(weights[:-1])
    weights = (weights + weights.swapaxes(1, 2)) / 2
    q, E = np.linalg.eigh(weights[0])
    x0, z = random.standard_normal((2, d))
    seen = errors(system, riccati(system.thetas, weights, c).K, x0, z)
    wanted = generalised_error(E.T @ z, E.T @ x0, q.clip(0), T, c)
    scale = (z @ z + x0 @ x0) * max(1.0, 1 / c)
    assert np.allclose(seen, wanted, atol=1e-11 * scale)


@given(seeds)
def test_no_other_cost_beats_the_wiener_cost_on_average(seed):
    random = np.random.default_rng(seed)
    X, Z, T = *random.uniform(0.05, 3, 2), int(random.integers(1, 20))
    best = wiener_c(X, Z, T)

    def risk(c):  # the cross term has mean 0: average over the two signs of z
        pair = [generalised_error([s * Z**0.5], [X**0.5], [1.0], T, c)[-1] for s in (1, -1)]
        return sum(pair) / 2

    assert all(risk(best) <= risk(best * f) * (1 + 1e-12) for f in (0.2, 0.8, 1.25, 5.0))
