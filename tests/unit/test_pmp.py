"""Pontryagin against finite differences, Riccati, dense programs and closed spectra."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from pidbook.theory import cost, orthogonal_system, residual_system, riccati, simulate
from pidbook.theory.augmented import Complements, history_cost
from pidbook.theory.chains import chain_msa, chain_sweep, quadratic_loss
from pidbook.theory.pontryagin import (
    basic_msa,
    basic_threshold,
    gradient_msa,
    hessian_eigenvalues,
    history_sweep,
    step_bound,
    sweep,
)
from tests.conftest import refusals

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


def test_printed_costates_are_not_those_of_the_gradient():
    thetas, Q, _, c, x0, random = history_problem(13)
    u = random.standard_normal((len(thetas), len(x0)))
    exact, printed = (
        history_sweep(thetas, Q, (1, 1, 1), c, x0, u, kind) for kind in ("exact", "printed")
    )
    assert exact.cost == printed.cost and not np.allclose(exact.gradient, printed.gradient)


@given(seeds)
def test_chain_agrees_with_the_linear_sweep(seed):
    thetas, Q, c, x0, random = problem(seed)
    u = random.standard_normal((len(thetas), len(x0)))
    back, loss = sweep(thetas, Q, c, x0, u), quadratic_loss(torch.from_numpy(Q), c)
    blocks = [lambda v, theta=theta: theta @ v for theta in map(torch.from_numpy, thetas)]
    found = chain_sweep(blocks, loss, torch.from_numpy(x0), torch.from_numpy(u))
    assert np.isclose(found.cost, back.cost)
    assert np.allclose(np.stack(found.costates), back.costates[:-1])
    assert np.allclose(np.stack(found.gradients), back.gradient)


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


ONE, x = np.ones((1, 1, 1)), torch.ones(1)
SQUARE = quadratic_loss(torch.ones(1, 1, 1), 1.0)


def uneven(t, states, control):
    return control.sum() if t else control.sum(-1)


BAD_INPUT = [
    (lambda: sweep(np.ones((1, 2)), ONE, 1.0, [1.0], ONE[0]), "thetas have shape"),
    (lambda: sweep(ONE, np.ones((2, 1, 1)), 1.0, [1.0], ONE[0]), "Q_state has shape"),
    (lambda: sweep(ONE, ONE, 0.0, [1.0], ONE[0]), "cost c is 0"),
    (lambda: sweep(ONE, ONE, 1.0, [1.0, 2.0], ONE[0]), "x0 has shape"),
    (lambda: sweep(ONE, ONE, 1.0, [1.0], np.ones((2, 1))), "controls have shape"),
    (lambda: gradient_msa(ONE, ONE, 1.0, [1.0], step=0, sweeps=1), "step 0"),
    (lambda: basic_msa(ONE, ONE, 1.0, [1.0], sweeps=1, damping=-1), "damping -1"),
    (lambda: step_bound(0, 1.0), "T = 0"),
    (
        lambda: history_sweep(ONE, [ONE] * 3, (1, 0, 0), 1.0, [1.0], [[0.0]], "none"),
        "adjoint 'none'",
    ),
    (lambda: chain_sweep([torch.tanh], SQUARE, x, [x] * 2), "2 controls for 1 blocks"),
    (lambda: chain_sweep([torch.tanh], lambda t, x, u: u, x, [x]), "give a scalar"),
    (lambda: chain_sweep([torch.tanh] * 2, uneven, x[None], [x[None]] * 2), "one shape at all"),
    (lambda: chain_sweep([torch.tanh], SQUARE, x, [torch.ones(2)]), "x0 has"),
    (lambda: chain_msa([torch.tanh], SQUARE, x, 0.1, -1), "sweeps -1"),
]


test_bad_input_is_named = refusals(BAD_INPUT)
