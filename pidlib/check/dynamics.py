"""Exercises on networks as dynamical systems that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pidlib.check.judge import judge
from pidlib.theory.plants import Plant, steady_error


def euler_step(answer: Callable) -> None:
    """Check a function (f, x, h) -> x after one Euler step of x' = f(x).

    Parameters
    ----------
    answer : function
        Of a function of (d,) arrays, a (d,) array and a step size.

    Examples
    --------
    >>> euler_step(lambda f, x, h: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: section 2; equation dynamics-euler.
    """
    functions = (np.sin, lambda x: -x, lambda x: x**2 - 1)
    starts = np.random.default_rng(0).standard_normal((3, 4))
    cases = (
        ((f, x, h), x + h * f(x))
        for f in functions
        for x, h in zip(starts, (1, 0.5, 0.01), strict=True)
    )
    hint = "go the time h along the slope f(x): this is what a residual block does"
    judge(answer, cases, hint, "x + h f(x) is a residual block")


def offset(answer: Callable) -> None:
    """Check a function (k, K_p, r, w) -> error that proportional control leaves.

    Parameters
    ----------
    answer : function
        Of stiffness, gain, target and constant push; returns r - y at rest.

    Examples
    --------
    >>> offset(lambda k, K_p, r, w: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: section 1.1; equation dynamics-offset.
    """

    def cases() -> Iterator:
        for k, K_p, r, w in ((1, 1, 1, 0), (1, 9, 1, 0), (2, 3, 0, 1), (0, 2, 1, 0), (1, 4, 1, 1)):
            yield (k, K_p, r, w), steady_error(Plant(stiffness=k), K_p, r, w)

    hint = "at rest y' = y'' = 0: put u = K_p (r - y) into 0 = -k y + u + w and solve for r - y"
    judge(answer, cases(), hint, "a larger gain makes it smaller, none makes it zero")


def largest_gain(answer: Callable) -> None:
    """Check a function (a, h) -> gain at which discrete P control loses stability.

    Parameters
    ----------
    answer : function
        Of the decay rate a of x' = -a x + u and the step h; returns the gain.

    Examples
    --------
    >>> largest_gain(lambda a, h: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation dynamics-stable.
    """
    cases = (((a, h), 2 / h - a) for a, h in ((0.0, 1.0), (1.0, 0.1), (3.0, 0.05)))
    hint = "one step multiplies the error by 1 - h (a + K); its size must stay below 1"
    judge(
        answer, cases, hint, "a finer step allows a larger gain; in continuous time any gain goes"
    )


def pid_controls(answer: Callable) -> None:
    """Check a function (errors, K_p, K_i, K_d, h) -> controls of a PID controller.

    Parameters
    ----------
    answer : function
        Of a (k,) array of signed errors, three gains and the time step; returns (k,)
        controls: the sum includes the present error, and the first slope is 0.

    Examples
    --------
    >>> pid_controls(lambda *arguments: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: section 1.1; equation dynamics-pid.
    """

    def cases() -> Iterator:
        random = np.random.default_rng(1)
        for gains in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 0.5, 0.1)):
            errors, h = random.standard_normal(7), float(random.uniform(0.1, 1))
            slopes = np.diff(errors, prepend=errors[0]) / h
            yield (
                (errors, *gains, h),
                (gains[0] * errors + gains[1] * h * np.cumsum(errors) + gains[2] * slopes),
            )

    hint = "np.cumsum(errors) * h is the integral, np.diff(errors, prepend=errors[0]) / h the slope"
    judge(answer, cases(), hint, "present, past and trend")


def noise_gain(answer: Callable) -> None:
    """Check a function (K_p, K_d, h) -> standard deviation of the control per unit noise.

    Parameters
    ----------
    answer : function
        Of two gains and the time step; the noise of each sample is independent.

    Examples
    --------
    >>> noise_gain(lambda K_p, K_d, h: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation dynamics-noise.
    """
    draws = ((1.0, 0.0, 0.1), (0.0, 1.0, 0.1), (2.0, 0.5, 0.05))
    cases = (((p, d, h), float(np.hypot(p + d / h, d / h))) for p, d, h in draws)
    hint = "u = (K_p + K_d/h) n_t - (K_d/h) n_{t-1}; variances of independent parts add"
    judge(answer, cases, hint, "a fine time step makes the derivative term noisy")
