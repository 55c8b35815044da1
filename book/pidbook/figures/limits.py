"""Limits of an axis that hide nothing."""

from __future__ import annotations

import numpy as np


def reach(limits: tuple[float, float], *values: np.ndarray | float) -> tuple[float, float]:
    """Limits of an axis, wider where a value would leave them.

    A picture so keeps its look, and a reader who changes a number still sees every curve.

    Parameters
    ----------
    limits : (low, high)
    values : numbers or arrays, of any shape; what is not finite does not count

    Returns
    -------
    (low, high), a twentieth of their distance beyond a value that lies outside

    Examples
    --------
    >>> reach((0, 1), [0.2, 0.9])
    (0, 1)
    >>> reach((0, 1), [0.2, 1.5])
    (0, 1.55)
    """
    low, high = limits
    room = 0.05 * (high - low)
    every = np.concatenate([np.ravel(np.asarray(value, float)) for value in values])
    every = every[np.isfinite(every)]
    slack = 1e-3 * (high - low)  # rounding is no reason
    if every.size and every.min() < low - slack:
        low = float(every.min() - room)
    if every.size and every.max() > high + slack:
        high = float(every.max() + room)
    return low, high
