"""Broken assumptions: the identities stay, the errors grow, the laws rank as they must."""

from __future__ import annotations

import numpy as np
import pytest

from pidbook.theory import (
    conditioned_system,
    law_comparison as contests,
    rotating_system,
    simulate,
    tilted_bases,
)
from pidbook.theory.assumptions import residual_gap, violated_errors
from pidbook.theory.augmented import (
    Complements,
    history_cost,
    history_riccati,
    history_rollout,
)
from pidbook.theory.law_comparison import (
    averaged_law,
    bent_contest,
    contest,
    relaxed_law,
    residual_law,
)
from pidlib.theory.gains import alphas, attenuation


def test_the_bound_of_the_leak_is_attained_in_two_dimensions():
    squeeze, most = np.diag([2.0, 0.5]), 0.0  # condition number 4
    for angle in np.linspace(0, np.pi, 2001):
        line = squeeze @ [np.cos(angle), np.sin(angle)]
        oblique = np.linalg.solve(squeeze, np.outer(line, line) / (line @ line) @ squeeze)
        most = max(most, np.linalg.norm(oblique @ [-np.sin(angle), np.cos(angle)]))
    assert most == pytest.approx((4 - 1 / 4) / 2, rel=1e-5)


@pytest.mark.parametrize("T", [2, 3, 12, 24])
def test_equal_states_break_the_printed_bound_from_three_layers_on(T):
    one = np.ones((T, 1, 1))
    x = np.ones(T)  # no control: the states of unit layers are equal
    Q = Complements(one, one, one)
    losses = [
        float(
            history_cost(
                one[:t], Complements(*(q[:t] for q in Q)), (1, 1, 1), 1.0, [1.0], 0 * x[:t, None]
            )
        )
        for t in (T - 1, T)
    ]
    last = losses[1] - losses[0]
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


@pytest.mark.parametrize("angle", [0.02, 0.4])
def test_a_tilt_that_the_layers_carry_costs_no_more_than_its_sine(angle):
    T, c = 24, 0.3
    system = conditioned_system(12, 3, T, 0, 1.0)
    frames = tilted_bases(system, angle, 0)
    for t in range(T):
        frames[t + 1] = system.thetas[t] @ frames[t]
    K = (1 - alphas(T, c))[:, None, None] * (np.eye(12) - frames[:-1] @ frames[:-1].mT)
    x0 = system.bases[0].T
    gap = simulate(system, x0, K).states - simulate(system, x0).states
    wanted = (1 - attenuation(T, c)) * np.sin(angle)
    assert np.allclose(np.linalg.norm(gap, axis=-1), wanted[:, None], atol=1e-12)


def test_every_dial_makes_it_worse():
    base = violated_errors()
    for change in (dict(tilt=20.0), dict(kappa=5.0), dict(bend=0.3)):
        assert violated_errors(**change).controlled[-1] > 1.2 * base.controlled[-1]


def test_exact_law_wins_and_laws_with_a_past_are_unbiased():
    found = contest((1, 1, 1), c=1.0, seeds=3)
    assert found["exact"].loss == pytest.approx(1)
    assert all(standing.loss >= 1 - 1e-12 for standing in found.values())
    for name in ("none", "P only", "myopic", "residual", "exact"):
        assert found[name].clean < 1e-10
    assert found["relaxed"].clean > 0.9 and found["averaged"].clean > 0.5


def test_relaxed_law_is_worse_than_none_in_its_own_loss():
    found = contest((0.5, 0, 0.5), c=1.0, size=0.1, seeds=3)
    assert found["relaxed"].loss > found["none"].loss > found["residual"].loss


def test_bending_networks_punish_static_mixtures():
    gains = (0.5, 0, 0.5)
    static, residual = (bent_contest(law, gains, 0.3) for law in (averaged_law, residual_law))
    assert np.all(residual.perturbed < static.perturbed)
    assert np.all(residual.clean < static.clean)
    assert residual.c in contests.COSTS[:-1]  # a dearer price would not serve better
    with pytest.raises(ValueError, match="seeds is 0"):
        bent_contest(averaged_law, gains, 0.3, seeds=0)
    with pytest.raises(ValueError, match="variance is 0"):
        bent_contest(averaged_law, gains, 0.3, seeds=1, variance=0)


def test_a_tangent_at_clean_runs_serves_better_than_one_at_zero():
    def at_zero(network, clean):
        return network.linear.thetas + network.strength * network.outer @ network.inner

    def along(network, clean):
        slopes = 1 - np.tanh(clean @ network.inner.mT) ** 2
        branch = (network.outer * slopes.mean(axis=1)[:, None, :]) @ network.inner
        return network.linear.thetas + network.strength * branch

    def exact_law(layers, Q, gains, c):
        return history_riccati(layers, Q, gains, c).law

    settings = dict(gains=(1, 0, 0), strength=1.0, seeds=2, scales=(1.5, 0.7))
    zero, runs = (
        bent_contest(exact_law, linearise=where, **settings) for where in (at_zero, along)
    )
    plain = bent_contest(averaged_law, **settings)
    assert np.all(runs.perturbed < 0.8 * zero.perturbed)
    assert np.allclose(runs.perturbed, plain.perturbed, rtol=0.1)


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


@pytest.mark.parametrize("strength", [0.3, 1.0])
@pytest.mark.parametrize("variance", [0.99, 0.999])
def test_bent_contest_fits_no_rounding_errors(monkeypatch, strength, variance):
    """Disturbing the inputs as another processor's rounding would must change nothing."""
    draw, random = contests._inputs, np.random.default_rng(0)

    def disturbed(*sizes):
        return tuple(w + 1e-13 * random.standard_normal(w.shape) for w in draw(*sizes))

    settings = dict(gains=(0.5, 0, 0.5), strength=strength, variance=variance, seeds=3)
    plain = bent_contest(residual_law, **settings)
    monkeypatch.setattr(contests, "_inputs", disturbed)
    again = bent_contest(residual_law, **settings)
    assert np.allclose(again.perturbed, plain.perturbed, rtol=1e-9)
    assert np.allclose(again.clean, plain.clean, rtol=1e-9)
    assert again.c == plain.c and np.array_equal(again.ranks, plain.ranks)
    assert np.all(plain.ranks[:, :, 0] == 4)  # clean inputs span four directions


def test_theorem_is_exact_without_a_branch_and_worse_with_depth():
    assert residual_gap(12, 0.0, systems=3) < 1e-9
    gaps = [residual_gap(T, 0.1, systems=8) for T in (3, 6, 12)]
    assert gaps[0] < gaps[1] < gaps[2] < residual_gap(12, 0.3, systems=8)
    with pytest.raises(ValueError, match="systems is 0"):
        residual_gap(3, 0.1, systems=0)


def test_bad_settings_are_named():
    with pytest.raises(ValueError, match="bend is -1"):
        violated_errors(bend=-1)
