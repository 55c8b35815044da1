"""Properties of the feedback gains for any depth, cost and weight."""

import numpy as np
from hypothesis import given, strategies as st

from pidbook.theory import lambdas
from pidbook.theory.gains import recursion
from pidlib.theory.gains import alphas, attenuation, rate, wiener_c

depths = st.integers(1, 60)
costs = st.floats(-8, 8).map(np.exp)
weights = st.floats(-8, 5).map(np.exp)


@given(depths, costs, weights)
def test_closed_form_is_the_recursion(T, c, q):
    factors, values = recursion(np.full(T, q), c)
    left = np.cumprod([1.0, *factors])
    for function, steps, tolerance in (
        (alphas, factors, 1e-13), (lambdas, values, 1e-11), (attenuation, left, 1e-11),
    ):  # fmt: skip
        assert np.allclose(function(T, c, q), steps, rtol=tolerance, atol=1e-300)


@given(depths, costs, weights)
def test_gains_are_ordered_and_bounded(T, c, q):
    values, a = alphas(T, c, q), attenuation(T, c, q)
    assert np.all(np.diff(values) >= -1e-12)
    assert np.all(np.diff(a) <= 0)
    assert np.isclose(values[-1], c / (c + q), rtol=1e-13)
    assert np.all(values >= np.exp(-rate(c, q)) * (1 - 1e-12))
    assert np.all(lambdas(T, c, q) <= c * (1 + 1e-12))


@given(depths, st.floats(-12, 12).map(np.exp), weights)
def test_wiener_cost_gives_the_wiener_factor(T, ratio, q):
    c = wiener_c(ratio, 1.0, T, q)
    assert np.isclose(attenuation(T, c, q)[-1], ratio / (1 + ratio), rtol=1e-9)
