"""Refusals of words and arrays that do not fit: each names the value, and what is right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def choice(name: str, value: str, options: Sequence[str]) -> str:
    """Refuse a word that is none of the options."""
    if value not in options:
        raise ValueError(f"unknown {name} {value!r}; choose one of {tuple(options)}")
    return value


def layers_of(thetas: ArrayLike, batch: bool = False) -> np.ndarray:
    """Refuse layers that are not (T, d, d), or (..., T, d, d) for a batch of systems."""
    layers = np.asarray(thetas, np.float64)
    square = layers.ndim >= 3 and layers.shape[-1] == layers.shape[-2] and layers.shape[-3] >= 1
    if not square or layers.ndim > 3 and not batch:
        shape = "(..., T, d, d)" if batch else "(T, d, d)"
        raise ValueError(f"thetas have shape {layers.shape}; expected {shape}, T at least 1")
    return layers


def shaped(name: str, value: ArrayLike, shape: tuple[int, ...], batch: bool = False) -> np.ndarray:
    """Refuse an array of another shape; with `batch` it may have more axes in front."""
    array = np.asarray(value, np.float64)
    if (array.shape[-len(shape) :] if batch else array.shape) != shape:
        has = "have" if name.endswith("s") else "has"
        raise ValueError(f"{name} {has} shape {array.shape}; expected {shape}")
    return array


def inputs_of(x0: ArrayLike, d: int) -> np.ndarray:
    """Refuse inputs whose last axis is not that of a state."""
    x = np.asarray(x0, np.float64)
    if x.shape[-1:] != (d,):
        raise ValueError(f"x0 has shape {x.shape}; its last axis must have size d = {d}")
    return x
