"""Exercises on gains and on the errors they leave that check themselves."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise
from pidbook.theory.gains import diagonal_gains, lambdas, steady
from pidbook.theory.systems import orthogonal_system
from pidlib.theory.gains import alphas, wiener_c


@exercise("the recursion is the same, but it starts from lambda_T = end instead of 0")
def gains_with_end(answer: Answer) -> Cases:
    """Check a function (T, c, end) -> (T,) gains where the state after the last layer has a weight."""
    for T, c, end in ((1, 1.0, 0.5), (6, 10.0, 3.0), (4, 0.1, 0.0), (12, 30.0, 100.0)):
        wanted, after = np.zeros(T), end
        for t in range(T - 1, -1, -1):
            wanted[t] = c / (c + 1 + after)
            after = c * (1 - wanted[t])
        yield wanted, answer(T, c, end)
    for c in (0.5, 20.0):
        yield np.full(5, steady(c).alpha), answer(5, c, float(steady(c).lambda_))
    return "with the weight lambda* all gains are equal, and no layer sees the end"


@exercise("far from the end alpha = 1 / (2 + 1/c - alpha); solve for c")
def cost_for_share(answer: Answer) -> Cases:
    """Check a function share -> c, the cost at which deep layers keep that share each."""
    for c in (0.01, 0.5, 1.0, 2.0, 50.0):
        yield c, answer(float(steady(c).alpha))
    return "c = alpha / (1 - alpha)^2: keeping nearly all is very dear"


@exercise("start at x = 1, add q v^2 / 2 + c u^2 / 2 at each layer; the least cost is lambda_0 / 2")
def mean_gain_excess(answer: Answer) -> Cases:
    """Check a function (q, T, c) -> relative excess cost of averaging the gains."""
    for q, T, c in ((0.5, 12, 1.0), (0.25, 6, 1.0), (0.5, 6, 1e-3), (1.0, 5, 2.0)):
        x = np.cumprod([1.0, *(1 - q * (1 - alphas(T, c)))])
        paid = np.sum(q * x[1:] ** 2 + c * (x[:-1] - x[1:]) ** 2)
        yield paid / lambdas(T, c, q)[0] - 1, answer(q, T, c)
    return "nothing is lost at q = 1, where averaging changes nothing"


@exercise("the part in the subspace is V (V' z); the rest is what is left of z")
def split(answer: Answer) -> Cases:
    """Check a function (z, V) -> (on, off), squared norms in and off a subspace."""
    for seed in range(5):
        V = orthogonal_system(6, 2, 1, seed).bases[0]
        z = np.random.default_rng(seed).standard_normal(6)
        on = np.sum((V.T @ z) ** 2)
        yield (on, z @ z - on), answer(z, V)
    return "on + off is the whole |z|^2, by Pythagoras"


@exercise("go back from lambda_T = 0, each layer with its own c; multiply all alpha_t, then square")
def exit_error(answer: Answer) -> Cases:
    """Check a function (inside, outside, prices) -> squared error after layers with prices of their own."""
    random = np.random.default_rng(3)
    for _ in range(8):
        on, off = random.random(2)
        costs = np.exp(random.uniform(-2, 2, int(random.integers(1, 12))))
        left = float(np.prod(diagonal_gains(np.ones((len(costs), 1)), costs).alphas))
        yield left**2 * off + on, answer(on, off, costs.tolist())
    return "the error at the exit needs no network at all"


@exercise("(1 - η) X = (1 + η) Z at the other η with R(η) = Z; then the c with η_T(c) = η")
def price_that_breaks_even(answer: Answer) -> Cases:
    """Check a function (X, Z, T) -> price c at which control neither helps nor harms."""
    for X, Z, T in ((2.0, 1.0, 1), (3.0, 1.0, 12), (1.0, 2.0, 6), (1.1, 1.0, 4), (50.0, 0.5, 8)):
        yield wiener_c(max(X - Z, 0.0), 2 * Z, T), answer(X, Z, T)
    return "below that cost the control takes more from clean inputs than from perturbations"
