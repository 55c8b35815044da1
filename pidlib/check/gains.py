"""Exercises on the gains of the orthogonal case that check themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from pidlib.check.judge import judge
from pidlib.theory.gains import alphas, attenuation, lambdas, steady
from pidlib.theory.projections import pair_weights

DRAWS = ((1, 1.0, 1.0), (3, 1.0, 0.5), (6, 0.1, 1.0), (12, 30.0, 0.2), (4, 2.0, 3.0))


def gain_step(answer: Callable) -> None:
    """Check a function (lambda_next, q, c) -> (alpha, lambda), one step of the recursion.

    Parameters
    ----------
    answer : function
        Of three numbers; returns two.

    Examples
    --------
    >>> gain_step(lambda lambda_next, q, c: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Proposition 2; equations gains-alpha, gains-recursion.
    """

    def cases() -> Iterator:
        for T, c, q in DRAWS:
            values, factors = lambdas(T, c, q), alphas(T, c, q)
            for t in range(T):
                yield (values[t + 1], q, c), (factors[t], values[t])

    hint = "alpha and lambda share the denominator c + q + lambda_next"
    judge(answer, cases(), hint, "two numbers per layer are the whole feedback")


def cost_for_share(answer: Callable) -> None:
    """Check a function share -> c, the cost at which deep layers keep that share each.

    Parameters
    ----------
    answer : function
        Of a number between 0 and 1; returns the cost for q = 1 and infinite depth.

    Examples
    --------
    >>> cost_for_share(lambda share: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation gains-steady.
    """
    cases = (((float(steady(c).alpha),), c) for c in (0.01, 0.5, 1.0, 2.0, 50.0))
    hint = "far from the end alpha = 1 / (2 + 1/c - alpha); solve for c"
    judge(answer, cases, hint, "c = alpha / (1 - alpha)^2: keeping nearly all is very dear")


def share_left(answer: Callable) -> None:
    """Check a function (T, c) -> share of an error left after all layers, without a loop.

    Parameters
    ----------
    answer : function
        Of a whole number and a cost; returns a_T for q = 1.

    Examples
    --------
    >>> share_left(lambda T, c: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation gains-product.
    """
    cases = (((T, c), attenuation(T, c)[-1]) for T, c, _ in DRAWS)
    hint = "mu = 2 arcsinh(1 / (2 sqrt(c))), then a ratio of two hyperbolic cosines"
    judge(answer, cases, hint, "T factors, and all but two numbers cancel")


def memory_layers(answer: Callable) -> None:
    """Check a function (c, within) -> fewest layers T with alpha_0 near its limit.

    Parameters
    ----------
    answer : function
        Of a cost and a relative distance; returns the smallest T for which alpha_0 is
        within that share of alpha_star.

    Examples
    --------
    >>> memory_layers(lambda c, within: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation gains-contraction.
    """

    def cases() -> Iterator:
        for c, within in ((1.0, 0.01), (10.0, 0.01), (100.0, 0.01), (100.0, 0.1), (0.001, 0.01)):
            T, limit = 1, float(steady(c).alpha)
            while alphas(T, c)[0] > limit * (1 + within):
                T += 1
            yield (c, within), T

    hint = "alphas(T, c)[0] falls towards steady(c).alpha as T grows: try T = 1, 2, 3, ..."
    judge(answer, cases(), hint, "the depth that counts as infinite grows like sqrt(c), if large")


def pair_left(answer: Callable) -> None:
    """Check a function (phi, T, c) -> shares left in the plane of two lines.

    Parameters
    ----------
    answer : function
        Of the angle in radians between the two lines, a depth and a cost; returns a_T for
        the smaller and for the larger eigenvalue of (Q_1 + Q_2) / 2.

    Examples
    --------
    >>> pair_left(lambda phi, T, c: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equations gains-pair, gains-product.
    """

    def cases() -> Iterator:
        for phi, T, c in ((0.3, 6, 1.0), (math.pi / 3, 12, 1e-3), (math.pi / 2, 4, 10.0)):
            low, high = attenuation(T, c, pair_weights([phi])[0])[-1]
            yield (phi, T, c), (low, high)

    hint = "the weights are (1 -+ cos phi) / 2; attenuation(T, c, q)[-1] takes each of them"
    judge(answer, cases(), hint, "a direction in one subspace of two is still worn down")


def mean_gain_excess(answer: Callable) -> None:
    """Check a function (q, T, c) -> relative excess cost of averaging the gains.

    Parameters
    ----------
    answer : function
        Of a weight, a depth and a cost; returns (cost of the feedback q (1 - alpha_t(1)) -
        least cost) / least cost, on one direction of weight q with layers of size 1.

    Examples
    --------
    >>> mean_gain_excess(lambda q, T, c: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equations gains-averaged, riccati-excess.
    """

    def cases() -> Iterator:
        for q, T, c in ((0.5, 12, 1.0), (0.25, 6, 1.0), (0.5, 6, 1e-3), (1.0, 5, 2.0)):
            left = 1 - q * (1 - alphas(T, c))
            x = np.concatenate([[1.0], np.cumprod(left)])
            paid = 0.5 * np.sum(q * x[1:] ** 2 + c * (x[:-1] - x[1:]) ** 2)
            best = 0.5 * float(lambdas(T, c, q)[0])
            yield (q, T, c), paid / best - 1

    hint = "start at x = 1, add q v^2 / 2 + c u^2 / 2 at each layer; the least cost is lambda_0 / 2"
    judge(answer, cases(), hint, "nothing is lost at q = 1, where averaging changes nothing")
