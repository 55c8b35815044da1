"""Exercises on networks as dynamical systems that check themselves."""

from __future__ import annotations

from itertools import product

import numpy as np

from pidlib.check.judge import Answer, Cases, exercise
from pidlib.theory.plants import Plant, steady_error


@exercise("go the time h along the slope f(x): this is what a residual block does")
def euler_step(answer: Answer) -> Cases:
    """Check a function (f, x, h) -> x after one Euler step of x' = f(x)."""
    starts = np.random.default_rng(0).standard_normal((3, 4))
    functions = (np.sin, lambda x: -x, lambda x: x**2 - 1)
    for f, (x, h) in product(functions, zip(starts, (1, 0.5, 0.01), strict=True)):
        yield x + h * f(x), answer(f, x, h)
    return "x + h f(x) is a residual block"


@exercise("at rest y' = y'' = 0: put u = K_p (r - y) into 0 = -k y + u + w and solve for r - y")
def offset(answer: Answer) -> Cases:
    """Check a function (k, K_p, r, w) -> error that proportional control leaves at rest."""
    for k, K_p, r, w in ((1, 1, 1, 0), (1, 9, 1, 0), (2, 3, 0, 1), (0, 2, 1, 0), (1, 4, 1, 1)):
        yield steady_error(Plant(stiffness=k), K_p, r, w), answer(k, K_p, r, w)
    return "a larger gain makes it smaller, none makes it zero"


@exercise("one step multiplies the error by 1 - h (a + K); its size must stay below 1")
def largest_gain(answer: Answer) -> Cases:
    """Check a function (a, h) -> gain at which P control of x' = -a x + u loses stability."""
    for a, h in ((0.0, 1.0), (1.0, 0.1), (3.0, 0.05)):
        yield 2 / h - a, answer(a, h)
    return "a finer step allows a larger gain; in continuous time any gain goes"


@exercise("np.cumsum(errors) * h is the integral, np.diff(errors, prepend=errors[0]) / h the slope")
def pid_controls(answer: Answer) -> Cases:
    """Check a function (errors, K_p, K_i, K_d, h) -> controls of a PID controller."""
    random = np.random.default_rng(1)
    for K_p, K_i, K_d in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 0.5, 0.1)):
        errors, h = random.standard_normal(7), float(random.uniform(0.1, 1))
        slopes = np.diff(errors, prepend=errors[0]) / h
        wanted = K_p * errors + K_i * h * np.cumsum(errors) + K_d * slopes
        yield wanted, answer(errors, K_p, K_i, K_d, h)
    return "present, past and trend"


@exercise("u = (K_p + K_d/h) n_t - (K_d/h) n_{t-1}; variances of independent parts add")
def noise_gain(answer: Answer) -> Cases:
    """Check a function (K_p, K_d, h) -> standard deviation of the control per unit noise."""
    for K_p, K_d, h in ((1.0, 0.0, 0.1), (0.0, 1.0, 0.1), (2.0, 0.5, 0.05)):
        yield np.hypot(K_p + K_d / h, K_d / h), answer(K_p, K_d, h)
    return "a fine time step makes the derivative term noisy"
