"""Synthetic systems have the properties that their names promise."""

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
    tilted_bases,
)
from pidlib.theory.subspaces import principal_angles
from tests.conftest import refusals

BUILDERS = {
    "orthogonal": lambda batch=(): orthogonal_system(8, 3, 5, 1, batch),
    "rotating": lambda batch=(): rotating_system(8, 3, 5, 1, 0.4, batch),
    "conditioned": lambda batch=(): conditioned_system(8, 3, 5, 1, 7.0, batch),
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


@pytest.mark.parametrize("name", BUILDERS)
def test_a_batch_of_systems_is_as_good_as_one(name):
    many, one = BUILDERS[name]((2, 4)), BUILDERS[name]()
    assert many.thetas.shape == (2, 4, 5, 8, 8) and many.bases.shape == (2, 4, 6, 8, 3)
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


def test_tilted_bases_are_at_their_angle():
    system = orthogonal_system(10, 3, 4, seed=0, batch=(2,))
    tilted = tilted_bases(system, 0.4, seed=1)
    assert np.allclose(tilted.mT @ tilted, np.eye(3), atol=1e-13)
    cosines = np.linalg.svd(system.bases.mT @ tilted, compute_uv=False)
    assert np.allclose(cosines, np.cos(0.4))
    assert np.allclose(tilted_bases(system, 0.0, 1), system.bases)


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


LONG = orthogonal_system(4, 2, 3, 0)


BAD_INPUT = [
    (lambda: orthogonal_system(8, 9, 3, 0), "r = 9"),
    (lambda: rotating_system(8, 0, 3, 0), "r = 0"),
    (lambda: residual_system(8, 2, 0, 0), "T is 0"),
    (lambda: conditioned_system(4, 2, 3, 0, kappa=0.5), "kappa is"),
    (lambda: conditioned_system(4, 2, 3, 0, kappa=math.inf), "kappa is"),
    (lambda: conditioned_system(1, 1, 3, 0, kappa=2.0), "size d = 1"),
    (lambda: residual_system(4, 2, 3, 0, strength=-1.0), "strength is -1"),
    (lambda: tilted_bases(orthogonal_system(5, 3, 1, 0), 0.1, 0), "no room"),
    (lambda: tilted_bases(LONG, 2.0, 0), "angle is 2"),
    (lambda: simulate(LONG, np.ones(3)), "last axis must have size d = 4"),
    (lambda: LinearSystem(np.ones((3, 4)), np.ones((4, 4, 1))), "thetas have shape"),
    (lambda: LinearSystem(np.ones((3, 4, 4)), np.ones((3, 4, 1))), "bases have shape"),
]


test_bad_input_is_named = refusals(BAD_INPUT)
