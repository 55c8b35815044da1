"""Closed forms and edges of the feedback gains."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pidbook.theory import lambdas
from pidbook.theory.gains import generalised_error
from pidlib.theory.gains import alphas, attenuation, predicted_error, rate, wiener_c

GOLDEN = (1 + math.sqrt(5)) / 2


def fibonacci(n: int) -> list[int]:
    numbers = [0, 1]
    while len(numbers) <= n:
        numbers.append(numbers[-1] + numbers[-2])
    return numbers


def test_equal_costs_give_fibonacci_ratios():
    T = 8
    F = fibonacci(2 * T + 1)
    left = np.arange(T, 0, -1)
    wanted = np.array([F[2 * n - 1] / F[2 * n + 1] for n in left])
    assert np.allclose(alphas(T, 1.0), wanted, rtol=1e-12)
    assert attenuation(T, 1.0)[-1] == pytest.approx(1 / 1597, rel=1e-13)
    assert np.allclose(lambdas(T, 1.0)[:-1], 1 - wanted, rtol=1e-13)


def test_deep_equal_costs_reach_the_golden_ratio():
    assert alphas(60, 1.0)[0] == pytest.approx(GOLDEN**-2, rel=1e-12)
    assert lambdas(60, 1.0)[0] == pytest.approx(1 / GOLDEN, rel=1e-12)
    assert np.exp(rate(1.0)) == pytest.approx(GOLDEN**2, rel=1e-12)


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


def test_dear_control_hardly_acts():
    T, c = 12, 1000.0
    assert attenuation(T, c)[-1] == pytest.approx(0.9268, abs=5e-5)
    assert 1 / (1 + T * (T + 1) / (2 * c)) == pytest.approx(attenuation(T, c)[-1], abs=1e-3)


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


def test_generalised_error_reduces_to_theorem_one():
    z = np.array([0.3, -0.2, 0.5, 0.1])
    q = np.array([0.0, 0.0, 1.0, 1.0])
    general = generalised_error(z, np.array([2.0, 1.0, 0.0, 0.0]), q, 6, 0.7)
    assert np.allclose(general, predicted_error(0.13, 0.26, 6, 0.7), rtol=1e-12)


def test_clean_damage_is_the_bias():
    a = attenuation(6, 0.7)
    damage = generalised_error(np.zeros(2), np.array([5.0, 2.0]), np.array([0.0, 1.0]), 6, 0.7)
    assert np.allclose(damage, (2 * (1 - a)) ** 2, rtol=1e-12)


@pytest.mark.parametrize(("ratio", "c"), [(0.01, 5.5), (0.1, 16), (1, 90), (10, 780)])
def test_wiener_costs_of_the_audit(ratio, c):
    assert wiener_c(ratio, 1.0, 12) == pytest.approx(c, rel=0.05)


def test_wiener_cost_of_one_layer_is_the_energy_ratio():
    assert wiener_c(0.7, 3.0, 1, q=2.0) == pytest.approx(2 * 0.7 / 3.0, rel=1e-12)
    assert wiener_c(0.0, 3.0, 5) == 0.0


def test_wiener_cost_is_the_minimum():
    X, Z, T = 0.4, 1.7, 9

    def risk(c):
        a = attenuation(T, c)[-1]
        return a**2 * Z + (1 - a) ** 2 * X

    best = wiener_c(X, Z, T)
    assert risk(best) == pytest.approx(X * Z / (X + Z), rel=1e-12)
    assert risk(best) < min(risk(0.9 * best), risk(1.1 * best))


@pytest.mark.parametrize("function", [alphas, lambdas, attenuation])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, 1.0), ValueError, "T is 0"),
        ((-3, 1.0), ValueError, "T is -3"),
        ((2.5, 1.0), TypeError, "T is 2.5"),
        ((True, 1.0), TypeError, "T is True"),
        ((3, -1.0), ValueError, "cost c is -1.0"),
        ((3, math.nan), ValueError, "cost c is nan"),
        ((3, math.inf), ValueError, "cost c is inf"),
        ((3, 1.0, -0.5), ValueError, "weight q is -0.5"),
    ],
)
def test_bad_arguments_are_named(function, arguments, error, message):
    with pytest.raises(error, match=message):
        function(*arguments)


def test_bad_energies_are_refused():
    with pytest.raises(ValueError, match="cannot be negative"):
        predicted_error(-1.0, 1.0, 3, 1.0)
    with pytest.raises(ValueError, match="one entry for each eigenvalue"):
        generalised_error([1.0, 2.0], [0.0, 0.0], [1.0, 1.0, 1.0], 3, 1.0)
    with pytest.raises(ValueError, match="X is -1"):
        wiener_c(-1.0, 1.0, 3)
    with pytest.raises(ValueError, match="Z is 0"):
        wiener_c(1.0, 0.0, 3)
    with pytest.raises(ValueError, match="q is 0"):
        wiener_c(1.0, 1.0, 3, q=0.0)
