"""Theorem 1, and its general form, on random systems and matrix Riccati controllers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from pidbook.theory import orthogonal_system, riccati, rollout
from pidbook.theory.gains import generalised_error
from pidlib.theory.gains import alphas, attenuation, predicted_error, wiener_c

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


@given(seeds)
def test_identity_without_any_hypothesis(seed):
    random = np.random.default_rng(seed)
    d, T = int(random.integers(2, 8)), int(random.integers(1, 8))
    thetas = random.standard_normal((T, d, d)) / np.sqrt(d)
    root = random.standard_normal((T, d, d))
    A = riccati(thetas, root @ root.mT, c=1.0).A
    x0, z = random.standard_normal((2, d))
    clean = rollout(thetas, 0 * A, x0).states
    end = rollout(thetas, np.eye(d) - A, x0 + z).states[-1] - clean[-1]
    kept, lost = np.eye(d), np.zeros(d)
    for s in range(T - 1, -1, -1):  # kept: the product over the layers after s
        lost = lost + kept @ thetas[s] @ (clean[s] - A[s] @ clean[s])
        kept = kept @ thetas[s] @ A[s]
    assert np.allclose(end, kept @ z - lost, atol=1e-9 * (1 + np.abs(end).max()))


@given(seeds, costs)
def test_lemmas_of_appendix_b(seed, c):
    system, _ = drawn(seed)
    T, eye = system.T, np.eye(system.d)
    Pi = eye - system.complements
    alpha, eta = alphas(T, c), attenuation(T, c)
    A = riccati(system.thetas, system.complements[:-1], c).A
    product = eye
    for t in range(T):
        pulled = [Pi[t]]  # P_t^0, P_t^1, ..., P_t^t
        for s in range(t):
            back = system.thetas[t - s - 1]
            pulled.append(np.linalg.inv(back) @ pulled[-1] @ back)
            G, after = (alpha[t] * eye + (1 - alpha[t]) * P for P in pulled[-2:])
            assert np.allclose(back @ after, G @ back, atol=1e-10)
        for s, P in enumerate(pulled):
            assert np.allclose(P @ P, P, atol=1e-10)
            assert np.allclose(P, Pi[t - s], atol=1e-10)
        assert np.allclose(A[t], alpha[t] * eye + (1 - alpha[t]) * Pi[t], atol=1e-8)
        product = (alpha[t] * eye + (1 - alpha[t]) * pulled[-1]) @ product
        assert np.allclose(product, eta[t + 1] * eye + (1 - eta[t + 1]) * Pi[0], atol=1e-10)
