"""Refusals of numbers and arrays that do not fit: each names the value, and what is right."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

RULES = {
    "positive": lambda value: value > 0,
    "not negative": lambda value: value >= 0,
    "at least 1": lambda value: value >= 1,
    "at least 2": lambda value: value >= 2,
    "between 0 and 1": lambda value: (value >= 0) & (value <= 1),
    "above 0 and at most 1": lambda value: (value > 0) & (value <= 1),
}


def number(name: str, value: ArrayLike, rule: str = "not negative") -> np.ndarray:
    """Refuse what is not finite or breaks a rule, in an array whatever its entry."""
    values = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(values).all() and RULES[rule](values).all()):
        raise ValueError(f"{name} is {value}; it must be finite and {rule}")
    return values + 0.0  # -0.0 is 0


def control_cost(c: ArrayLike, rule: str = "not negative") -> np.ndarray:
    """Refuse a cost of the control that is not finite, or negative."""
    return number("the control cost c", c, rule)


def depth(T: int) -> int:
    """Refuse a number of layers that is no whole number of at least 1."""
    if isinstance(T, bool) or not isinstance(T, (int, np.integer)):
        raise TypeError(f"the number of layers T is {T!r}; give a whole number")
    return int(number("the number of layers T", T, "at least 1"))
