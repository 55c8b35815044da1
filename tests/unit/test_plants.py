"""The plant against closed forms, its own closed loop, and an independent integrator."""

import io

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import solve_ivp

from pidbook.drawings.dynamics import network
from pidbook.theory.plants import Plant, closed_loop, respond, steady_error
from tests.conftest import refusals


def test_step_agrees_with_an_integrator():
    plant, force = Plant(2.0, 0.5, 3.0), 0.7
    A, B = plant.step(0.3)

    def slope(t, s):
        return [s[1], (-3.0 * s[0] - 0.5 * s[1] + force) / 2.0]

    end = solve_ivp(slope, (0, 0.3), [1.0, -0.4], rtol=1e-11, atol=1e-12).y[:, -1]
    assert np.allclose(A @ [1.0, -0.4] + B * force, end, atol=1e-9)


@given(st.floats(1, 3), st.floats(0, 5), st.floats(-2, 2), st.floats(-1, 1))
def test_proportional_control_leaves_its_offset(stiffness, gain, target, push):
    plant = Plant(1.0, 2.0, stiffness)
    run = respond(plant, gain, target=target, push=push, duration=40)
    assert target - run.output[-1] == pytest.approx(
        steady_error(plant, gain, target, push), abs=1e-6
    )


@given(st.floats(0, 30), st.floats(0, 3), st.floats(0, 3))
def test_closed_loop_matrix_runs_the_same_plant(K_p, K_i, K_d):
    plant, h = Plant(), 0.05
    run = respond(plant, K_p, K_i, K_d, target=0.0, push=1.0, push_from=-1, duration=2 * h)
    pushed = np.append(plant.step(h)[1], [0.0, 0.0])  # after one pushed step from rest
    second = closed_loop(plant, (K_p, K_i, K_d), h) @ pushed + pushed
    assert run.output[1:3] == pytest.approx([pushed[0], second[0]])


@pytest.mark.parametrize(("gains", "stable"), [((1, 0, 0), True), ((1, 5, 0), False)])
def test_eigenvalues_tell_what_the_run_does(gains, stable):
    plant = Plant(1.0, 0.4, 1.0)
    assert (np.abs(np.linalg.eigvals(closed_loop(plant, gains))).max() < 1 + 1e-9) == stable
    run = respond(plant, *gains, duration=100)
    assert (np.abs(run.output[-200:] - run.output[-1]).max() < 0.01) == stable


def test_gains_broadcast_and_noise_is_shared():
    run = respond(Plant(), [[1.0], [2.0]], [0.0, 0.5, 1.0], noise=0.1, duration=2)
    assert run.output.shape == (41, 2, 3)
    alone = respond(Plant(), 2.0, 0.5, noise=0.1, duration=2)
    assert np.allclose(run.output[:, 1, 1], alone.output)


def test_noise_of_the_control_has_its_formula():
    K_p, K_d, h = 2.0, 0.5, 0.05
    still = Plant(mass=1e9)  # does not move: the control is noise alone
    run = respond(still, K_p, 0, K_d, target=0.0, noise=1.0, duration=600, h=h)
    assert run.control[1:].std() == pytest.approx(np.hypot(K_p + K_d / h, K_d / h), rel=0.03)


BAD_INPUT = [
    (lambda: Plant(mass=0), "mass 0"),
    (lambda: respond(Plant(), h=0), "step 0"),
    (lambda: steady_error(Plant(), -1), "gain -1"),
]
test_bad_input_is_named = refusals(BAD_INPUT)


def test_drawing_has_a_controller_for_every_block():
    fig = network()
    texts = [text.get_text() for text in fig.axes[0].texts]
    for letter in "PID":
        assert texts.count(letter) == 2
    assert texts.count("+") == 2 and texts.count("$F_{T-1}$") == 1
    fig.savefig(io.BytesIO(), format="svg")
