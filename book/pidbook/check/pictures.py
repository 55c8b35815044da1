"""Exercises on pictures under control."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise


@exercise("put the channels last, then make one axis of the two of the picture")
def as_positions(answer: Answer) -> Cases:
    """Check a function (maps (B, C, h, w)) -> states (B, h w, C)."""
    random = np.random.default_rng(0)
    for shape in ((1, 2, 3, 3), (2, 4, 2, 3)):
        maps = random.normal(size=shape)
        yield maps.reshape(*shape[:2], -1).swapaxes(1, 2), answer(maps)
    return "a gain of width C now acts on every position alike"


@exercise("step along the sign of the slope; then clip to the box about the start, then to 0 and 1")
def attack_step(answer: Answer) -> Cases:
    """Check a function (x, slope, start, epsilon) -> x one step of epsilon / 4 further, in the box."""
    random = np.random.default_rng(1)
    for epsilon in (0.1, 0.5):
        start = random.uniform(size=(2, 4))
        x = np.clip(start + epsilon * random.uniform(-1, 1, size=(2, 4)), 0, 1)
        slope = random.normal(size=(2, 4))
        moved = np.clip(x + epsilon / 4 * np.sign(slope), start - epsilon, start + epsilon)
        yield np.clip(moved, 0, 1), answer(x, slope, start, epsilon)
    return "neither the box nor the range of a pixel is left"


@exercise("fallen under the borrowed attack, and right under the attacker's own")
def masked_rows(answer: Answer) -> Cases:
    """Check a function (right when transferred, right when adaptive) -> (masked, right under both)."""
    random = np.random.default_rng(2)
    for n in (5, 40):
        borrowed, own = random.uniform(size=(2, n)) < 0.6
        yield (int((~borrowed & own).sum()), int((borrowed & own).sum())), answer(borrowed, own)
    return "where the first number is large, the gradient hides something from the attacker"
