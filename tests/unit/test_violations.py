"""Broken assumptions: the identities stay, the errors grow, the laws rank as they must."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pidbook.theory import conditioned_system, rotating_system, simulate
from pidbook.theory.assumptions import leak, residual_gap, violated_errors
from pidbook.theory.augmented import Complements, history_cost, history_riccati, history_rollout
from pidbook.theory.law_comparison import contest, relaxed_law
from pidlib.theory.gains import alphas
from tests.conftest import refusals


@given(st.integers(0, 2**31 - 1), st.floats(1, 3), st.floats(-3, 3).map(np.exp))
def test_leak_identity_and_its_bound(seed, kappa, c):
    random = np.random.default_rng(seed)
    d, T = int(random.integers(2, 9)), int(random.integers(1, 7))
    system = conditioned_system(d, int(random.integers(1, d)), T, seed, kappa)
    z = random.standard_normal(d)
    K = (1 - alphas(T, c))[:, None, None] * system.complements[:-1]
    error = simulate(system, z, K).states
    found = leak(system, z, c)
    assert np.allclose(found.predicted, error, atol=1e-9 * (1 + np.abs(error).max()))
    assert found.share.max() <= 1 + 1e-9
    inside = system.complements[0] @ found.leak.T
    assert np.allclose(inside, 0, atol=1e-8 * (1 + np.abs(found.leak).max()))


@pytest.mark.parametrize("T", [2, 3, 12])
def test_equal_states_break_the_printed_bound_from_three_layers_on(T):
    def loss(T):  # without control the states of unit layers are equal
        one = np.ones((T, 1, 1))
        return history_cost(one, Complements(one, one, one), (1, 1, 1), 1.0, [1.0], 0 * one[..., 0])

    last = loss(T) - loss(T - 1)
    assert last == pytest.approx((T**2 + 1) / 2)
    assert (last <= 3 / 2 + T / 2) == (T < 3)


def test_nothing_broken_is_the_theorem():
    errors = violated_errors(size=0.5, c=3.0)
    assert np.allclose(errors.controlled, errors.theorem, atol=1e-12)
    assert errors.clean.max() < 1e-12
    assert np.allclose(errors.free, 0.5)


@pytest.mark.parametrize("angle", [1.0, 5.0, 20.0])
@pytest.mark.parametrize("T", [3, 12, 24])
def test_tilt_stays_within_its_bound_and_near_its_size(angle, T):
    phi, a = np.deg2rad(angle), alphas(T, 1.0)
    runs = [violated_errors(tilt=angle, T=T, seed=seed).clean for seed in range(10)]
    bound = np.sin(phi) * np.cumsum(1 - a)
    assert all(run[-1] > 0 and np.all(run[1:] <= bound + 1e-12) for run in runs)
    on, across = 0.0, 0.0
    for left in a:
        on += (1 - on) * (1 - left) * np.sin(phi) ** 2
        across = np.hypot(left * across, (1 - left) * np.sin(phi) * np.cos(phi))
    size = np.sqrt(np.mean([run[-1] ** 2 for run in runs]))
    assert np.hypot(on, across) == pytest.approx(size, rel=0.06)


def test_two_subspaces_harm_clean_inputs_most_where_they_are_orthogonal():
    runs = [violated_errors(apart=angle, r=4, T=6).clean for angle in (0, 30, 60, 90)]
    assert np.all(np.diff([run[-1] for run in runs]) > 0.1)
    left = np.cumprod(1 - (1 - alphas(6, 1.0)) / 2)  # of a state in one of them
    assert np.allclose(runs[-1][1:], 1 - left, atol=1e-12) and runs[0].max() < 1e-12


@pytest.mark.parametrize(("past", "rest"), [("controlled", 0), ("states", -0.1)])
def test_sums_of_controlled_states_answer_a_lasting_disturbance(past, rest):
    T, push = 24, np.array([0.0, 0.1])  # added after every layer, outside the subspace
    layers, off = np.array([np.eye(2)] * T), np.array([np.diag([0.0, 1.0])] * T)
    law = history_riccati(layers, Complements(off, off, off), (0.5, 0.5, 0), 1.0, past).law
    path = history_rollout(layers, law, [1.0, 0.0], past, push=push)
    v = path.states[:-1] + path.controls
    assert np.allclose(v[9:21, 1], rest, atol=0.002)


def test_exact_law_wins_and_laws_with_a_past_are_unbiased():
    found = contest((1, 1, 1), c=1.0, seeds=3)
    assert found["exact"].loss == pytest.approx(1)
    assert all(standing.loss >= 1 - 1e-12 for standing in found.values())
    for name in ("none", "P only", "myopic", "residual", "exact"):
        assert found[name].clean < 1e-10
    assert found["relaxed"].clean > 0.9 and found["averaged"].clean > 0.5


def test_proposition_1_costs_too_much_where_no_input_is_clean():
    excess = []
    for seed in range(200):
        random = np.random.default_rng(seed)
        V = np.linalg.qr(random.standard_normal((3, 4, 4, 4)))[0][..., :2]
        Q, x0 = Complements(*(np.eye(4) - V @ V.mT)), random.standard_normal(4)
        case = (rotating_system(4, 1, 4, seed, 3.0).thetas, Q, (1, 1, 1), 1.0)
        u = history_rollout(case[0], relaxed_law(*case), x0).controls
        excess.append(100 * (history_cost(*case, x0, u) / history_riccati(*case).value(x0) - 1))
    assert np.round(np.quantile(excess, (0, 0.5, 1))).tolist() == [6, 36, 93]


def test_theorem_is_exact_without_a_branch_and_worse_with_depth():
    assert residual_gap(12, 0.0, systems=3) < 1e-9
    gaps = [residual_gap(T, 0.1, systems=8) for T in (3, 6, 12)]
    assert gaps[0] < gaps[1] < gaps[2] < residual_gap(12, 0.3, systems=8)


BAD_SETTINGS = [
    (lambda: violated_errors(bend=-1), "bend is -1"),
    (lambda: leak(conditioned_system(4, 1, 2, 0, 2.0), np.ones(3), 1.0), "give one system"),
    (lambda: contest((1, 0, 0), c=1.0, seeds=0), "seeds is 0"),
    (lambda: violated_errors(apart=91), "between 0 and pi / 2"),
    (lambda: residual_gap(3, 0.1, systems=0), "systems is 0"),
]


test_bad_settings_are_named = refusals(BAD_SETTINGS)
