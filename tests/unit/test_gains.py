"""Closed forms and edges of the feedback gains."""

import math

import numpy as np
import pytest

from pidbook.theory import lambdas
from pidbook.theory.gains import generalised_error
from pidlib.theory.gains import alphas, attenuation, predicted_error, rate, wiener_c
from tests.conftest import refusals


def test_free_control_projects():
    assert np.array_equal(alphas(3, 0.0), np.zeros(3))
    assert np.array_equal(lambdas(3, 0.0), np.zeros(4))
    assert np.array_equal(attenuation(3, 0.0), [1.0, 0, 0, 0])


@pytest.mark.parametrize("c", [0.0, 2.0])
def test_a_direction_without_weight_is_left_alone(c):
    assert np.array_equal(alphas(4, c, 0.0), np.ones(4))
    assert np.array_equal(lambdas(4, c, 0.0), np.zeros(5))
    assert np.array_equal(attenuation(4, c, 0.0), np.ones(5))


@pytest.mark.parametrize("c", [1e-300, 1e-12, 1e12, 1e300])
def test_extreme_costs_stay_finite_and_in_range(c):
    for values in (alphas(30, c), attenuation(30, c)):
        assert np.all((values >= 0) & (values <= 1))
    assert np.all(lambdas(30, c) <= c * (1 + 1e-12))


@pytest.mark.parametrize("c", [1e-3, 0.1, 1.0, 10.0, 1000.0])
def test_depth_for_a_share_and_memory(c):
    share, T, mu = 1e-4, 1, float(rate(c))
    while attenuation(T, c)[-1] > share:
        T += 1
    depth = math.log((1 + math.exp(-mu)) / share) / mu
    assert depth <= T < depth + 1 + 1e-3
    memory = math.sqrt(c) if c > 1 else -1 / math.log(c) if c < 1 else 1 / mu
    assert 1 / mu == pytest.approx(memory, rel=0.1)


def test_several_weights_at_once():
    q = np.array([[0.0, 0.5], [1.0, 2.0]])
    many = alphas(5, 0.3, q)
    assert many.shape == (5, 2, 2)
    assert lambdas(5, 0.3, q).shape == attenuation(5, 0.3, q).shape == (6, 2, 2)
    assert np.allclose(many[:, 1, 0], alphas(5, 0.3, 1.0), rtol=1e-12)


def test_predicted_error_of_several_perturbations():
    errors = predicted_error([1.0, 0.0], [0.0, 4.0], T=3, c=0.5)
    assert errors.shape == (4, 2)
    assert np.allclose(errors[:, 0], 1.0)
    assert np.allclose(errors[:, 1], 4 * attenuation(3, 0.5) ** 2)


def test_wiener_cost_of_one_layer_is_the_energy_ratio():
    assert wiener_c(0.7, 3.0, 1, q=2.0) == pytest.approx(2 * 0.7 / 3.0, rel=1e-12)
    assert wiener_c(0.0, 3.0, 5) == 0.0


BAD_INPUT = [
    (lambda: alphas(0, 1.0), "T is 0"),
    (lambda: lambdas(-3, 1.0), "T is -3"),
    (lambda: attenuation(2.5, 1.0), "T is 2.5"),
    (lambda: alphas(True, 1.0), "T is True"),
    (lambda: alphas(3, -1.0), "cost c is -1.0"),
    (lambda: lambdas(3, math.nan), "cost c is nan"),
    (lambda: attenuation(3, math.inf), "cost c is inf"),
    (lambda: alphas(3, 1.0, -0.5), "weight q is -0.5"),
    (lambda: predicted_error(-1.0, 1.0, 3, 1.0), "cannot be negative"),
    (lambda: generalised_error([1.0, 2.0], [0, 0], [1.0] * 3, 3, 1.0), "for each eigenvalue"),
    (lambda: wiener_c(-1.0, 1.0, 3), "X is -1"),
    (lambda: wiener_c(1.0, 0.0, 3), "Z is 0"),
    (lambda: wiener_c(1.0, 1.0, 3, q=0.0), "q is 0"),
]


test_bad_input_is_named = refusals(BAD_INPUT, (ValueError, TypeError))
