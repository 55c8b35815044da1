"""The best linear estimate of a state from what a perturbation left of it.

A state s = x + z is seen, x clean with mean m and covariance Sigma_x, z a perturbation of mean
0, uncorrelated with x, with covariance Sigma_z. Of all affine maps s -> b + A s the mean
squared error E|b + A s - x|^2 is least for

    A = Sigma_x (Sigma_x + Sigma_z)^-1,   b = m - A m   (Wiener).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pidlib.theory.inputs import number

_NOTHING = 1e-10  # of the largest variance: what rounding leaves of states in single precision


class Affine(NamedTuple):
    """s -> A s + b.

    Attributes
    ----------
    A : (d, d) array
    b : (d,) array

    Source: equation wiener-rule.
    """

    A: np.ndarray
    b: np.ndarray

    def __call__(self, x: ArrayLike) -> np.ndarray:
        """Apply the map to states (..., d)."""
        return np.asarray(x) @ self.A.T + self.b


def wiener_map(
    sigma_x: ArrayLike, sigma_z: ArrayLike, rho: float = 1.0, mean: ArrayLike | None = None
) -> Affine:
    """Return the rule A = Sigma_x (Sigma_x + rho Sigma_z)^-1 about a mean.

    Parameters
    ----------
    sigma_x, sigma_z : (d, d) arrays
        Covariance of clean states and of perturbations; symmetric, positive semidefinite.
    rho : float
        Weight of the perturbation, at least 0: the share of states that are perturbed, where
        not all are. In chapter 13 that is the share p = rho / (1 + rho) of a fit whose own rho
        counts perturbed words for each clean one.
    mean : (d,) array, optional
        Of the clean states; 0 when left out.

    Returns
    -------
    Affine

    Raises
    ------
    ValueError
        Shapes that do not fit, entries that are not finite, matrices that are not symmetric
        or have a negative eigenvalue, or a negative rho.

    Examples
    --------
    >>> wiener_map([[3.0]], [[1.0]], mean=[4.0])
    Affine(A=array([[0.75]]), b=array([1.]))

    Source: equation wiener-rule; on a subspace Proposition 2.
    """
    x, z = _checked(sigma_x, "sigma_x"), _checked(sigma_z, "sigma_z")
    m = np.zeros(len(x)) if mean is None else np.asarray(mean, dtype=np.float64)
    if not np.isfinite(m).all():
        raise ValueError("the mean has entries that are not finite")
    if x.shape != z.shape or m.shape != x.shape[:1]:
        raise ValueError(f"sigma_x is {x.shape}, sigma_z {z.shape}, the mean {m.shape}: one d")
    number("rho", rho)
    # Where nothing ever is, x = 0 is the estimate: the least of the best maps.
    A = x @ np.linalg.pinv(x + rho * z, rcond=_NOTHING, hermitian=True)
    return Affine(A, m - A @ m)


def regression_map(
    cross: ArrayLike, seen: ArrayLike, mean_x: ArrayLike, mean_y: ArrayLike
) -> Affine:
    """Best affine map from y to x: A = Cov(x, y) Cov(y, y)^-1, whatever y - x has to do with x."""
    y, xy = _checked(seen, "seen"), np.asarray(cross, dtype=np.float64)
    x, m = (np.asarray(v, dtype=np.float64) for v in (mean_x, mean_y))
    if not xy.shape == y.shape == (len(m), len(x)):
        raise ValueError(f"cross is {xy.shape}, seen {y.shape}, the means {x.shape}, {m.shape}")
    if not (np.isfinite(xy).all() and np.isfinite(x).all() and np.isfinite(m).all()):
        raise ValueError("cross or a mean has entries that are not finite")
    A = xy @ np.linalg.pinv(y, rcond=_NOTHING, hermitian=True)
    return Affine(A, x - A @ m)


def shrunk(sigma: ArrayLike, samples: int) -> np.ndarray:
    """Pull a sample covariance towards a multiple of the identity, more for few samples."""
    s = _checked(sigma, "sigma")
    share = shrinkage(s, samples)
    return (1 - share) * s + share * np.trace(s) / len(s) * np.eye(len(s))


def shrinkage(sigma: ArrayLike, samples: int) -> float:
    """Share of the identity, 0 to 1, that `shrunk` mixes in: Chen, Wiesel, Eldar & Hero 2010."""
    s = _checked(sigma, "sigma")
    if samples < 1:
        raise ValueError(f"{samples} samples; a covariance needs at least 1")
    d = len(s)
    trace, square = np.trace(s), float((s * s).sum())
    above = (1 - 2 / d) * square + trace**2
    below = (samples + 1 - 2 / d) * (square - trace**2 / d)
    return 1.0 if below <= 0 else min(1.0, float(above / below))


def _checked(matrix: ArrayLike, name: str) -> np.ndarray:
    m = np.asarray(matrix, dtype=np.float64)
    if m.ndim != 2 or m.shape[0] != m.shape[1] or m.shape[0] < 1:
        raise ValueError(f"{name} has shape {m.shape}; give a square matrix")
    if not np.isfinite(m).all():
        raise ValueError(f"{name} has entries that are not finite")
    size = np.abs(m).max()
    if np.abs(m - m.T).max() > 1e-8 * size:
        raise ValueError(f"{name} is not symmetric; it has to be a covariance")
    m = (m + m.T) / 2
    if np.linalg.eigvalsh(m)[0] < -1e-8 * size:
        raise ValueError(f"{name} has a negative eigenvalue; it has to be a covariance")
    return m
