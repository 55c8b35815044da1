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
