"""Exercises on gains and on the errors they leave that check themselves."""

from __future__ import annotations

import math
from itertools import count

import numpy as np

from pidlib.check.judge import Answer, Cases, exercise
from pidlib.theory.gains import alphas, attenuation, lambdas, predicted_error, steady, wiener_c
from pidlib.theory.projections import pair_weights
from pidlib.theory.systems import orthogonal_system

DRAWS = ((1, 1.0, 1.0), (3, 1.0, 0.5), (6, 0.1, 1.0), (12, 30.0, 0.2), (4, 2.0, 3.0))


@exercise("alpha and lambda share the denominator c + q + lambda_next")
def gain_step(answer: Answer) -> Cases:
    """Check a function (lambda_next, q, c) -> (alpha, lambda), one step of the recursion."""
    for T, c, q in DRAWS:
        values = lambdas(T, c, q)
        for t, alpha in enumerate(alphas(T, c, q)):
            yield (alpha, values[t]), answer(values[t + 1], q, c)
    return "two numbers per layer are the whole feedback"


@exercise("far from the end alpha = 1 / (2 + 1/c - alpha); solve for c")
def cost_for_share(answer: Answer) -> Cases:
    """Check a function share -> c, the cost at which deep layers keep that share each."""
    for c in (0.01, 0.5, 1.0, 2.0, 50.0):
        yield c, answer(float(steady(c).alpha))
    return "c = alpha / (1 - alpha)^2: keeping nearly all is very dear"


@exercise("mu = 2 arcsinh(1 / (2 sqrt(c))), then a ratio of two hyperbolic cosines")
def share_left(answer: Answer) -> Cases:
    """Check a function (T, c) -> share of an error left after all layers, without a loop."""
    for T, c, _ in DRAWS:
        yield attenuation(T, c)[-1], answer(T, c)
    return "T factors, and all but two numbers cancel"


@exercise("alphas(T, c)[0] falls towards steady(c).alpha as T grows: try T = 1, 2, 3, ...")
def memory_layers(answer: Answer) -> Cases:
    """Check a function (c, within) -> fewest layers T with alpha_0 that near its limit."""
    for c, within in ((1.0, 0.01), (10.0, 0.01), (100.0, 0.01), (100.0, 0.1), (0.001, 0.01)):
        most = float(steady(c).alpha) * (1 + within)
        yield next(T for T in count(1) if alphas(T, c)[0] <= most), answer(c, within)
    return "the depth that counts as infinite grows like sqrt(c), if large"


@exercise("the weights are (1 -+ cos phi) / 2; attenuation(T, c, q)[-1] takes each of them")
def pair_left(answer: Answer) -> Cases:
    """Check a function (phi, T, c) -> the two shares left in the plane of two lines."""
    for phi, T, c in ((0.3, 6, 1.0), (math.pi / 3, 12, 1e-3), (math.pi / 2, 4, 10.0)):
        yield tuple(attenuation(T, c, pair_weights([phi])[0])[-1]), answer(phi, T, c)
    return "a direction in one subspace of two is still worn down"


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


@exercise("go back from lambda_T = 0; multiply all alpha_t; square the product, not each norm")
def exit_error(answer: Answer) -> Cases:
    """Check a function (on, off, T, c) -> squared error after the last layer."""
    random = np.random.default_rng(3)
    for _ in range(8):
        on, off, T, c = (*random.random(2), int(random.integers(1, 12)), random.random())
        yield predicted_error(on, off, T, c)[-1], answer(on, off, T, c)
    return "the error at the exit needs no network at all"


@exercise("the whole sequence of gains changes with T: try T = 1, 2, 3, ... afresh")
def layers_needed(answer: Answer) -> Cases:
    """Check a function (c, share) -> fewest layers that leave at most that share of a norm."""
    for c, share in ((1.0, 0.5), (1.0, 0.01), (10.0, 0.1), (100.0, 0.1), (1e-3, 0.01)):
        yield next(T for T in count(1) if attenuation(T, c)[-1] <= share), answer(c, share)
    return "the depth grows like sqrt(c), not like c"


@exercise("first find the factor a that minimises a^2 Z + (1 - a)^2 X, then the c with a_T(c) = a")
def best_cost(answer: Answer) -> Cases:
    """Check a function (X, Z, T) -> cost c of least mean squared error at the exit."""
    for X, Z, T in ((1.0, 2.0, 1), (1.0, 1.0, 12), (0.1, 1.0, 6), (3.0, 0.5, 4)):
        yield wiener_c(X, Z, T), answer(X, Z, T)
    return "the better the subspace fits clean text, the cheaper the control"
