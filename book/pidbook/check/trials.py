"""Exercises on robustness tables, schemes and fair trials that check themselves."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise
from pidbook.theory.systems import orthogonal_system


@exercise("add up the gains of the terms that see it; the control removes 1 - alpha times that")
def direction_left(answer: Answer) -> Cases:
    """Check a function (outside, gains, alpha) -> factor that a scheme leaves of a direction."""
    for outside, gains, alpha in (
        ([True], [0.5], 0.0),
        ([True, False], [0.5, 0.5], 0.1),
        ([False, True, True], [0.2, 0.3, 0.5], 0.2),
        ([True, True, True], [0.5, 0.5, 0.5], 0.0),
        ([False], [1.0], 0.3),
    ):
        total = sum(gain for gain, far in zip(gains, outside, strict=True) if far)
        yield 1 - (1 - alpha) * total, answer(outside, gains, alpha)
    return "with gains that sum to 1 no direction is overshot"


@exercise("the length of P control is its gain times that of Q_P x; set the two lengths equal")
def equal_length(answer: Answer) -> Cases:
    """Check a function (x, Q_P, Q_D) -> gain at which P control is as long as P-D control."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        bases = [np.linalg.qr(random.standard_normal((6, k)))[0] for k in (4, 2)]
        Q_P, Q_D = (np.eye(6) - V @ V.T for V in bases)
        x = random.standard_normal(6)
        both = np.linalg.norm((Q_P + Q_D) @ x / 2)
        yield both / np.linalg.norm(Q_P @ x), answer(x, Q_P, Q_D)
    return "a larger control can win by its size alone"


@exercise("the mean of x - V_P V_P' x and x - V_D V_D' x, times -(1 - alpha)")
def pd_control(answer: Answer) -> Cases:
    """Check a function (x, V_P, V_D, alpha) -> u, the averaged P-D control of one state."""
    for seed in range(4):
        V_P, V_D = (orthogonal_system(7, 3, 1, seed + k).bases[0] for k in (0, 50))
        random = np.random.default_rng(seed)
        x, alpha = random.standard_normal(7), random.random()
        Q = np.eye(7) - (V_P @ V_P.T + V_D @ V_D.T) / 2
        yield -(1 - alpha) * Q @ x, answer(x, V_P, V_D, alpha)
    return "two thin products per state, and no d x d matrix"


@exercise("place after place, convolve the counts with [1, n - 1]; then add up the first ones")
def texts_allowed(answer: Answer) -> Cases:
    """Check a function (sizes, most) -> texts with at most so many words swapped."""
    for sizes, most in (([3, 4], 1), ([3, 4], 2), ([2, 3, 1, 7], 2), ([], 1), ([6] * 5, 3)):
        counts = np.array([1.0])
        for n in sizes:
            counts = np.convolve(counts, [1, n - 1])
        yield counts[: most + 1].sum(), answer(sizes, most)
    return "with all of them allowed it is the product of the sizes"


@exercise("solve s = v t + (1 - v) f for v; then clip it to 0 and 1")
def share_valid(answer: Answer) -> Cases:
    """Check a function (s, t, f) -> share of valid texts by a judge that errs."""
    for s, t, f in ((0.5, 0.9, 0.1), (0.95, 0.9, 0.1), (0.05, 0.9, 0.1), (0.3, 0.8, 0.2)):
        yield np.clip((s - f) / (t - f), 0, 1), answer(s, t, f)
    return "the nearer t and f, the less the judge says"
