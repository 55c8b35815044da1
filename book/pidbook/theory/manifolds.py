"""Clean states that can be seen: a bent curve, in space or hidden among many coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pidlib.theory.inputs import number


def bent_curve(places: ArrayLike, bend: float, dims: int = 3) -> np.ndarray:
    """Points of a closed curve that leaves its plane by a chosen amount.

    Coordinates 2k - 1 and 2k are bend^(k-1) cos(k s) and bend^(k-1) sin(k s). With bend
    0 this is the unit circle in the first plane; with three coordinates it is the edge of
    a saddle, (cos s, sin s, bend cos 2s). It has one dimension whatever the bend.

    Parameters
    ----------
    places : array of shape S
        Places s along the curve, in radians.
    bend : float
        From 0 to 1.
    dims : int
        Number of coordinates, at least 2.

    Returns
    -------
    (*S, dims) array

    Examples
    --------
    >>> bent_curve([0.0, np.pi / 2], bend=0.5).round(3) + 0.0
    array([[ 1. ,  0. ,  0.5],
           [ 0. ,  1. , -0.5]])

    Source: equation subspaces-curve.
    """
    number("the bend", bend, "between 0 and 1")
    number("dims", dims, "at least 2")
    column = np.arange(dims)
    turns = column // 2 + 1  # 1, 1, 2, 2, 3, ...
    phase = np.where(column % 2 == 0, 0.0, np.pi / 2)  # sin is cos, a quarter turn later
    angle = np.asarray(places, dtype=np.float64)[..., None] * turns
    return float(bend) ** (turns - 1) * np.cos(angle - phase)


class Cloud(NamedTuple):
    """Noisy points, the same without noise, and the frame (width, dims) that the curve lies in."""

    points: np.ndarray
    clean: np.ndarray
    frame: np.ndarray


def curve_cloud(
    n: int, bend: float, noise: float, seed: int, dims: int = 3, width: int | None = None
) -> Cloud:
    """Draw noisy points near a bent curve, in its own space or in a wider one.

    Parameters
    ----------
    n : int
        Number of points, at least 1; their places are uniform over the curve.
    bend, dims
        As for `bent_curve`.
    noise : float
        Standard deviation of the noise in each of the `width` coordinates, at least 0.
    seed : int
        Of the random generator.
    width : int, optional
        Size of the space around, at least `dims`. A random orthonormal frame carries the
        curve into it, lengths unchanged. Left out: the space of the curve itself, unturned.

    Returns
    -------
    Cloud
        `points` (n, width); `clean`, the same without noise; `frame` (width, dims), orthonormal
        columns that span the subspace of the curve.

    Examples
    --------
    >>> cloud = curve_cloud(n=100, bend=0.3, noise=0.0, seed=0, width=50)
    >>> cloud.points.shape, int(np.linalg.matrix_rank(cloud.points))
    ((100, 50), 3)

    Source: equation subspaces-curve.
    """
    size = dims if width is None else width
    number("the number of points n", n, "at least 1")
    number("the noise", noise)
    if size < dims:
        raise ValueError(f"width is {size}, less than the {dims} coordinates of the curve")
    random = np.random.default_rng(seed)
    frame = np.eye(dims)
    if width is not None:
        frame = np.linalg.qr(random.standard_normal((size, dims)))[0]
    clean = bent_curve(random.uniform(0, 2 * np.pi, n), bend, dims) @ frame.T
    return Cloud(clean + noise * random.standard_normal((n, size)), clean, frame)
