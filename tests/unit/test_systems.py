"""Synthetic systems have the properties that their names promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pidbook.theory import (
    LinearSystem,
    conditioned_system,
    orthogonal_system,
    residual_system,
    rotating_system,
    simulate,
)
from pidlib.theory.subspaces import principal_angles

BUILDERS = {
    "orthogonal": lambda: orthogonal_system(8, 3, 5, seed=1),
    "rotating": lambda: rotating_system(8, 3, 5, seed=1, angle=0.4),
    "conditioned": lambda: conditioned_system(8, 3, 5, seed=1, kappa=7.0),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_layers_carry_the_subspace(name):
    system = BUILDERS[name]()
    assert (system.T, system.d, system.r) == (5, 8, 3)
    for t, theta in enumerate(system.thetas):
        assert principal_angles(theta @ system.bases[t], system.bases[t + 1]).max() < 1e-12
    frames = system.bases.swapaxes(1, 2) @ system.bases
    assert np.allclose(frames, np.eye(3), atol=1e-13)
    Q = system.complements
    assert np.allclose(Q @ Q, Q, atol=1e-13)
    assert np.allclose(Q @ system.bases, 0, atol=1e-13)


@pytest.mark.parametrize("name", ["orthogonal", "rotating"])
def test_orthogonal_layers_keep_norms(name):
    system = BUILDERS[name]()
    assert np.allclose(system.thetas @ system.thetas.swapaxes(1, 2), np.eye(8), atol=1e-13)


@pytest.mark.parametrize(
    "build",
    [
        lambda batch: orthogonal_system(6, 2, 3, 1, batch),
        lambda batch: rotating_system(6, 2, 3, 1, 0.4, batch),
        lambda batch: conditioned_system(6, 2, 3, 1, 7.0, batch),
    ],
    ids=list(BUILDERS),
)
def test_a_batch_of_systems_is_as_good_as_one(build):
    many, one = build((2, 4)), build(())
    assert many.thetas.shape == (2, 4, 3, 6, 6) and many.bases.shape == (2, 4, 4, 6, 2)
    moved = many.thetas @ many.bases[:, :, :-1]
    assert np.allclose(many.complements[:, :, 1:] @ moved, 0, atol=1e-12)
    assert np.allclose(np.linalg.cond(many.thetas), np.linalg.cond(one.thetas[0]))
    flat = many.thetas.reshape(8, -1)
    assert np.linalg.matrix_rank(flat) == 8  # no two systems alike


def test_condition_number_is_the_one_asked_for():
    assert np.allclose(np.linalg.cond(BUILDERS["conditioned"]().thetas), 7.0)
    assert np.allclose(np.linalg.cond(conditioned_system(4, 1, 3, 0, kappa=1.0).thetas), 1.0)


def test_rotation_turns_by_the_angle():
    thetas = BUILDERS["rotating"]().thetas
    turns = np.abs(np.angle(np.linalg.eigvals(thetas))).max(1)
    assert np.allclose(turns, 0.4)


def test_orthogonal_layers_are_uniform_over_the_group():
    thetas = orthogonal_system(3, 1, 4000, seed=0).thetas
    assert abs(np.linalg.det(thetas).mean()) < 0.06
    assert np.abs(thetas.mean(0)).max() < 0.04
    assert np.abs((thetas**2).mean(0) - 1 / 3).max() < 0.03


def test_seeds_decide():
    one, same, other = (orthogonal_system(4, 2, 3, seed=s).thetas for s in (5, 5, 6))
    assert np.array_equal(one, same)
    assert not np.allclose(one, other)


def test_simulation_with_and_without_control():
    system = orthogonal_system(6, 2, 4, seed=3)
    x0 = np.random.default_rng(0).standard_normal((10, 6))
    free = simulate(system, x0)
    assert free.states.shape == (5, 10, 6)
    assert not free.controls.any()
    assert np.allclose(np.linalg.norm(free.states, axis=-1), np.linalg.norm(x0, axis=-1))
    K = system.complements[:-1]
    by_array, by_function = simulate(system, x0, K), simulate(system, x0, lambda t, x: -x @ K[t].T)
    assert np.allclose(by_array.states, by_function.states, atol=1e-13)
    off = np.einsum("tij,tnj->tni", system.complements[1:], by_array.states[1:])
    assert np.abs(off).max() < 1e-13


def test_residual_layers_bend_and_reduce_to_linear_ones():
    bent = residual_system(5, 2, 3, seed=1, strength=0.5)
    v = np.random.default_rng(0).standard_normal((4, 5))
    assert np.allclose(bent.layer(1, v), -bent.layer(1, -v))
    assert not np.allclose(bent.layer(1, 2 * v), 2 * bent.layer(1, v))
    straight = residual_system(5, 2, 3, seed=1, strength=0.0)
    free = simulate(straight, v).states
    assert np.allclose(free, simulate(straight.linear, v).states, atol=1e-12)
    assert (bent.T, bent.d) == (3, 5)


def test_bad_input_is_named():
    for builder in (orthogonal_system, rotating_system, residual_system):
        with pytest.raises(ValueError, match="r = 9"):
            builder(8, 9, 3, 0)
        with pytest.raises(ValueError, match="r = 0"):
            builder(8, 0, 3, 0)
        with pytest.raises(ValueError, match="T is 0"):
            builder(8, 2, 0, 0)
    for kappa in (0.5, math.nan, math.inf):
        with pytest.raises(ValueError, match="kappa is"):
            conditioned_system(4, 2, 3, 0, kappa=kappa)
    with pytest.raises(ValueError, match="size d = 1"):
        conditioned_system(1, 1, 3, 0, kappa=2.0)
    with pytest.raises(ValueError, match="strength is -1"):
        residual_system(4, 2, 3, 0, strength=-1.0)
    with pytest.raises(ValueError, match="last axis must have size d = 4"):
        simulate(orthogonal_system(4, 2, 3, 0), np.ones(3))
    with pytest.raises(ValueError, match="thetas have shape"):
        LinearSystem(np.ones((3, 4)), np.ones((4, 4, 1)))
    with pytest.raises(ValueError, match="bases have shape"):
        LinearSystem(np.ones((3, 4, 4)), np.ones((3, 4, 1)))
