"""What an affine estimate of a state costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def expected_error(A: ArrayLike, sigma_x: ArrayLike, sigma_z: ArrayLike) -> tuple[float, float]:
    """Mean squared error of x -> m + A (y - m): what it takes from x, and what z leaves.

    Parameters
    ----------
    A, sigma_x, sigma_z : (d, d) arrays

    Returns
    -------
    (bias, variance) : tuple of float
        tr (I - A) Sigma_x (I - A)^T and tr A Sigma_z A^T; their sum is the error.

    Examples
    --------
    >>> expected_error([[0.75]], [[3.0]], [[1.0]])
    (0.1875, 0.5625)

    Source: equation wiener-error.
    """
    A, x, z = (np.asarray(v, dtype=np.float64) for v in (A, sigma_x, sigma_z))
    rest = np.eye(len(A)) - A
    return float(np.trace(rest @ x @ rest.T)), float(np.trace(A @ z @ A.T))
