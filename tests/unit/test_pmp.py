"""Pontryagin against finite differences, Riccati, dense programs and closed spectra."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from pidbook.theory import (
    cost,
    dense_solution,
    orthogonal_system,
    residual_system,
    riccati,
    rollout,
    simulate,
)
from pidbook.theory.augmented import Complements, history_cost, history_dense
from pidbook.theory.chains import chain_msa, chain_sweep, quadratic_loss
from pidbook.theory.pontryagin import (
    basic_msa,
    basic_threshold,
    gradient_msa,
    heavy_ball,
    hessian_eigenvalues,
    history_sweep,
    step_bound,
    sweep,
)

seeds = st.integers(0, 2**31 - 1)


def problem(seed):
    random = np.random.default_rng(seed)
    d, T = int(random.integers(1, 5)), int(random.integers(1, 6))
    thetas = random.standard_normal((T, d, d)) / d**0.5
    root = random.standard_normal((T, d, d))
    Q = root @ root.swapaxes(1, 2) / d
    return thetas, Q, float(np.exp(random.uniform(-1, 1))), random.standard_normal(d), random


def slopes(function, u, h=1e-6):
    """Central differences."""
    found = np.zeros_like(u)
    for place in np.ndindex(u.shape):
        e = np.zeros_like(u)
        e[place] = h
        found[place] = (function(u + e) - function(u - e)) / (2 * h)
    return found


@given(seeds)
def test_gradient_is_the_derivative_of_the_cost(seed):
    thetas, Q, c, x0, random = problem(seed)
    u = random.standard_normal((len(thetas), len(x0)))
    back = sweep(thetas, Q, c, x0, u)
    assert np.isclose(back.cost, cost(thetas, Q, c, x0, u))
    wanted = slopes(lambda w: cost(thetas, Q, c, x0, w), u)
    assert np.allclose(back.gradient, wanted, atol=1e-5 * (1 + np.abs(wanted).max()))
    assert np.allclose(back.gradient, c * u - back.costates[:-1])


@given(seeds)
def test_costates_of_the_optimum_are_minus_the_value_gradient(seed):
    thetas, Q, c, x0, _ = problem(seed)
    solution = riccati(thetas, Q, c)
    path = rollout(thetas, solution.K, x0)
    back = sweep(thetas, Q, c, x0, path.controls)
    size = 1 + np.abs(back.costates).max()
    assert np.allclose(
        back.costates, -np.einsum("tij,tj->ti", solution.S, path.states), atol=1e-10 * size
    )
    assert np.allclose(path.controls, back.costates[:-1] / c, atol=1e-10 * size)
    assert np.abs(back.gradient).max() < 1e-10 * size


@pytest.mark.parametrize(("T", "c", "q"), [(1, 1.0, 1.0), (5, 0.3, 1.0), (12, 2.0, 0.5)])
def test_hessian_spectrum_in_closed_form(T, c, q):
    system = orthogonal_system(4, 2, T, seed=T)
    found = dense_solution(system.thetas, q * system.complements[:-1], c, np.ones(4)).hessian
    wanted = np.sort(np.concatenate([np.full(2 * T, c), *[hessian_eigenvalues(T, c, q)] * 2]))
    assert np.allclose(np.linalg.eigvalsh(found), wanted)


@pytest.mark.parametrize("T", [2, 6, 12])
def test_gradient_msa_converges_below_its_bound_and_not_above(T):
    system = orthogonal_system(4, 2, T, seed=1)
    Q, x0 = system.complements[:-1], np.arange(1.0, 5.0)
    best = riccati(system.thetas, Q, 1.0).value(x0)
    below = gradient_msa(system.thetas, Q, 1.0, x0, 0.95 * step_bound(T, 1.0), 3000)
    assert np.isclose(below.costs[-1], best, rtol=1e-10)
    above = gradient_msa(system.thetas, Q, 1.0, x0, 1.05 * step_bound(T, 1.0), 300)
    assert above.gradients[-1] > 1e3 * above.gradients[0]


@pytest.mark.parametrize("T", [2, 3, 6])
def test_basic_msa_converges_above_its_threshold_and_not_below(T):
    system = orthogonal_system(4, 2, T, seed=2)
    Q, x0 = system.complements[:-1], np.arange(1.0, 5.0)
    for factor, converges in ((1.25, True), (0.8, False)):
        c = factor * basic_threshold(T)
        found = basic_msa(system.thetas, Q, c, x0, 600)
        assert (found.gradients[-1] < 1e-6 * found.gradients[0]) == converges
    c = 0.8 * basic_threshold(T)
    cured = basic_msa(system.thetas, Q, c, x0, 600, damping=(1 + c) / hessian_eigenvalues(T, c)[0])
    assert np.isclose(cured.costs[-1], riccati(system.thetas, Q, c).value(x0), rtol=1e-9)


def test_basic_msa_goes_to_the_maximiser_of_the_hamiltonian():
    thetas, Q, c, x0, random = problem(3)
    u = random.standard_normal((len(thetas), len(x0)))
    back = sweep(thetas, Q, c, x0, u)
    new = basic_msa(thetas, Q, c, x0, 1, start=u).controls
    for t, theta in enumerate(thetas):
        pull = theta.T @ back.costates[t + 1]
        slope = pull - Q[t] @ (back.states[t] + new[t]) - c * new[t]  # dH/du at the new control
        assert np.allclose(slope, 0, atol=1e-12)


def test_heavy_ball_is_faster():
    T, c = 12, 1.0
    system = orthogonal_system(4, 2, T, seed=4)
    Q, x0 = system.complements[:-1], np.ones(4)
    step, momentum = heavy_ball(T, c)
    plain = gradient_msa(system.thetas, Q, c, x0, 0.95 * step_bound(T, c), 60)
    heavy = gradient_msa(system.thetas, Q, c, x0, step, 60, momentum)
    assert heavy.gradients[-1] < 0.05 * plain.gradients[-1]


def history_problem(seed):
    thetas, _, c, x0, random = problem(seed)
    T, d, _ = thetas.shape
    frames = np.linalg.qr(random.standard_normal((3, T, d, d)))[0][..., : d // 2]
    Q = Complements(*(np.eye(d) - frames @ frames.swapaxes(-1, -2)))
    return thetas, Q, tuple(random.random(3)), c, x0, random


@given(seeds)
def test_exact_history_costates_give_the_gradient(seed):
    thetas, Q, gains, c, x0, random = history_problem(seed)
    u = random.standard_normal((len(thetas), len(x0)))
    back = history_sweep(thetas, Q, gains, c, x0, u)
    assert np.isclose(back.cost, history_cost(thetas, Q, gains, c, x0, u))
    wanted = slopes(lambda w: history_cost(thetas, Q, gains, c, x0, w), u)
    assert np.allclose(back.gradient, wanted, atol=1e-5 * (1 + np.abs(wanted).max()))
    # equation pontryagin-history-gradient, from the definition of the loss
    x = back.states[:-1]
    s, y = np.cumsum(x, axis=0) - x, np.concatenate([0 * x[:1], x[:-1]])
    seen = zip(gains, Q, (x + u, x + u + s, x + u - y), strict=True)
    pull = sum(K * np.einsum("tij,tj->ti", q, w) for K, q, w in seen)
    later = np.einsum("tji,tj->ti", thetas, back.costates[1:])
    assert np.allclose(back.gradient, c * u + pull - later)


def test_with_a_past_the_control_is_not_the_costate_over_its_price():
    thetas, Q, _, c, x0, _ = history_problem(13)
    best = history_dense(thetas, Q, (1, 1, 1), c, x0).controls
    back = history_sweep(thetas, Q, (1, 1, 1), c, x0, best)
    assert np.abs(back.gradient).max() < 1e-9
    gap = np.abs(c * best - back.costates[:-1]).max(axis=1)
    assert gap[:-1].max() > 0.05 * np.abs(c * best).max() and gap[-1] < 1e-9


def test_printed_costates_end_at_worse_controls():
    thetas, Q, _, c, x0, _ = history_problem(13)
    assert len(thetas) > 2
    best = history_dense(thetas, Q, (1, 1, 1), c, x0)
    u = {kind: np.zeros((len(thetas), len(x0))) for kind in ("exact", "printed")}
    step = 1 / np.linalg.eigvalsh(best.hessian)[-1]
    for kind in u:
        for _ in range(4000):
            u[kind] -= step * history_sweep(thetas, Q, (1, 1, 1), c, x0, u[kind], kind).gradient
    assert np.allclose(u["exact"], best.controls, atol=1e-6)
    back = history_sweep(thetas, Q, (1, 1, 1), c, x0, u["printed"], "printed")
    assert np.abs(back.gradient).max() < 1e-6  # it does converge, but elsewhere
    assert back.cost > best.value * 1.001


@given(seeds)
def test_chain_agrees_with_the_linear_sweep(seed):
    thetas, Q, c, x0, random = problem(seed)
    u = random.standard_normal((len(thetas), len(x0)))
    back = sweep(thetas, Q, c, x0, u)
    tensors = [torch.from_numpy(theta) for theta in thetas]
    blocks = [lambda v, theta=theta: theta @ v for theta in tensors]
    found = chain_sweep(
        blocks, quadratic_loss(torch.from_numpy(Q), c), torch.from_numpy(x0), torch.from_numpy(u)
    )
    assert np.isclose(found.cost, back.cost)
    assert np.allclose(np.stack(found.costates), back.costates[:-1])
    assert np.allclose(np.stack(found.gradients), back.gradient)


def test_chain_counts_losses_that_look_back():
    thetas, Q, gains, c, x0, random = history_problem(13)
    u = random.standard_normal((len(thetas), len(x0)))
    back = history_sweep(thetas, Q, gains, c, x0, u)
    P, sums, D = (torch.from_numpy(q) for q in Q)

    def loss(t, states, control):
        v = states[t] + control
        s = sum(states[:t], torch.zeros_like(v))
        y = states[t - 1] if t else torch.zeros_like(v)
        squares = [(part @ q[t] * part).sum() for part, q in ((v, P), (v + s, sums), (v - y, D))]
        return 0.5 * (
            sum(g * a for g, a in zip(gains, squares, strict=True)) + c * control @ control
        )

    tensors = [torch.from_numpy(theta) for theta in thetas]
    blocks = [lambda v, theta=theta: theta @ v for theta in tensors]
    found = chain_sweep(blocks, loss, torch.from_numpy(x0), torch.from_numpy(u))
    assert np.isclose(found.cost, back.cost)
    assert np.allclose(np.stack(found.costates), back.costates[:-1])
    assert np.allclose(np.stack(found.gradients), back.gradient)


def test_the_best_first_control_can_be_a_minimum_of_its_hamiltonian():
    size, x0, low = 4.899, 3.625, 0.01
    u = np.linspace(-12, 12, 240001)
    x1 = size * np.tanh(x0 + u)
    J = (low * (x0 + u) ** 2 + u**2 + x1**2 / 2) / 2  # the best second control is -x1 / 2
    best = J.argmin()
    assert u[best] == pytest.approx(-3.3114, abs=1e-4) and J[best] == pytest.approx(
        6.0366, abs=1e-4
    )
    valleys = np.flatnonzero((J[1:-1] < J[:-2]) & (J[1:-1] < J[2:])) + 1
    assert np.allclose(np.sort(J[valleys]), [6.0366, 6.0461], atol=1e-4)
    bent = [
        -(x1[k] / 2) * size * -2 * np.tanh(x0 + u[k]) / np.cosh(x0 + u[k]) ** 2 - low - 1
        for k in valleys
    ]
    assert bent[0] == pytest.approx(0.999, abs=1e-3) and bent[1] < 0  # H_uu


def test_nonlinear_chain_ends_where_u_is_p_over_c():
    system, c = residual_system(6, 2, 4, seed=0, strength=0.5), 2.0
    Q = torch.from_numpy(system.linear.complements[:-1])

    def block(t):
        theta, inner, outer = (
            torch.from_numpy(part[t]) for part in (system.linear.thetas, system.inner, system.outer)
        )
        return lambda v: v @ theta.T + system.strength * torch.tanh(v @ inner.T) @ outer.T

    blocks, loss = [block(t) for t in range(4)], quadratic_loss(Q, c)
    x0 = torch.from_numpy(np.random.default_rng(1).standard_normal((3, 6)))
    found = chain_msa(blocks, loss, x0, step=0.05, sweeps=800)
    last = chain_sweep(blocks, loss, x0, found.controls)
    assert found.costs[-1] < found.costs[0] and found.gradients[-1] < 1e-8
    for u, p in zip(found.controls, last.costates, strict=True):
        assert torch.allclose(u, p / c, atol=1e-8)
    path = simulate(system, x0.numpy())
    free = chain_sweep(blocks, loss, x0, [torch.zeros_like(x0)] * 4)
    assert np.allclose(np.stack(free.states), path.states)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (dict(thetas=np.ones((1, 2))), "thetas have shape"),
        (dict(Q_state=np.ones((2, 1, 1))), "Q_state has shape"),
        (dict(c=0.0), "cost c is 0"),
        (dict(x0=[1.0, 2.0]), "x0 has shape"),
        (dict(controls=np.ones((2, 1))), "controls have shape"),
    ],
)
def test_bad_input_is_named(change, says):
    one = np.ones((1, 1, 1))
    arguments = dict(thetas=one, Q_state=one, c=1.0, x0=[1.0], controls=np.ones((1, 1))) | change
    with pytest.raises(ValueError, match=says):
        sweep(**arguments)


def test_bad_settings_are_named():
    one = np.ones((1, 1, 1))
    with pytest.raises(ValueError, match="step 0"):
        gradient_msa(one, one, 1.0, [1.0], step=0, sweeps=1)
    with pytest.raises(ValueError, match="damping -1"):
        basic_msa(one, one, 1.0, [1.0], sweeps=1, damping=-1)
    with pytest.raises(ValueError, match="T = 0"):
        step_bound(0, 1.0)
    with pytest.raises(ValueError, match="adjoint 'none'"):
        history_sweep(one, Complements(one, one, one), (1, 0, 0), 1.0, [1.0], [[0.0]], "none")
    loss = quadratic_loss(torch.ones(1, 1, 1), 1.0)
    with pytest.raises(ValueError, match="2 controls for 1 blocks"):
        chain_sweep([torch.tanh], loss, torch.ones(1), [torch.ones(1)] * 2)
    with pytest.raises(ValueError, match="give a scalar"):
        chain_sweep([torch.tanh], lambda t, x, u: u, torch.ones(1), [torch.ones(1)])
    with pytest.raises(ValueError, match="one shape at all states"):
        chain_sweep(
            [torch.tanh] * 2,
            lambda t, x, u: u.sum() if t else u.sum(-1),
            torch.ones(2, 1),
            [torch.ones(2, 1)] * 2,
        )
    with pytest.raises(ValueError, match="x0 has"):
        chain_sweep([torch.tanh], loss, torch.ones(1), [torch.ones(2)])
    with pytest.raises(ValueError, match="momentum 1"):
        chain_msa([torch.tanh], loss, torch.ones(1), 0.1, 1, momentum=1)
