"""Laws for the exact PID problem: what was published, and cheap ones that know the past."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pidlib.gains import alphas
from pidlib.history import Complements, HistoryLaw
from pidlib.riccati import riccati


def mixed_weight(Q: Complements, gains: tuple[float, float, float]) -> np.ndarray:
    """Weight K_P Q^P + K_I Q^I + K_D Q^D of every layer.

    Parameters
    ----------
    Q : Complements
        Projections, each (T, d, d).
    gains : (K_P, K_I, K_D)

    Returns
    -------
    (T, d, d) array

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> mixed_weight(Complements(one, one, one), (1, 1, 0.5)).ravel().tolist()
    [2.5]

    Source: Proposition 1; equation assumptions-mixed.
    """
    return sum(gain * np.asarray(q) for gain, q in zip(gains, Q, strict=True))


def relaxed_law(
    thetas: ArrayLike, Q: Complements, gains: tuple[float, float, float], c: float
) -> HistoryLaw:
    """Law of Proposition 1: static feedback on the present state.

    Parameters
    ----------
    thetas : (T, d, d) array
    Q, gains
        As for `mixed_weight`.
    c : float
        Cost of the control, above 0.

    Returns
    -------
    function (t, x, s, y) -> u
        It looks at x only.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> law = relaxed_law(one, Complements(one, one, one), (1, 0, 0), c=1.0)
    >>> law(0, np.array([2.0]), None, None).tolist()
    [-1.0]

    Source: Proposition 1; equation riccati-feedback.
    """
    K = riccati(thetas, mixed_weight(Q, gains), c).K
    return lambda t, x, s, y: -x @ K[t].T


def averaged_law(Q: Complements, gains: tuple[float, float, float], c: float) -> HistoryLaw:
    """Published law: the mean projection times 1 - alpha_t of Proposition 2.

    Parameters
    ----------
    Q, gains
        As for `mixed_weight`; the gains are divided by their sum.
    c : float
        Cost of the control, at least 0.

    Returns
    -------
    function (t, x, s, y) -> u

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> law = averaged_law(Complements(one, one, one), (1, 1, 1), c=1.0)
    >>> law(0, np.array([2.0]), None, None).tolist()
    [-1.0]

    Source: Proposition 2 with averaged projections; equation gains-averaged.
    """
    mean = mixed_weight(Q, gains) / sum(gains)
    K = (1 - alphas(len(mean), c))[:, None, None] * mean
    return lambda t, x, s, y: -x @ K[t].T


def myopic_law(Q: Complements, gains: tuple[float, float, float], c: float) -> HistoryLaw:
    """Best control of the present running loss alone, past included.

    u = -(Q + c I)^-1 (Q x + K_I Q^I s - K_D Q^D y), Q the mixed weight. It needs no
    layer, and leaves clean states alone.

    Parameters
    ----------
    Q, gains, c
        As for `relaxed_law`.

    Returns
    -------
    function (t, x, s, y) -> u

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> law = myopic_law(Complements(one, one, one), (1, 1, 1), c=1.0)
    >>> law(0, np.array([2.0]), np.zeros(1), np.zeros(1)).tolist()
    [-1.5]

    Source: ours; equation assumptions-myopic.
    """
    weight, (_, K_I, K_D) = mixed_weight(Q, gains), gains
    inverse = np.linalg.inv(weight + c * np.eye(weight.shape[-1]))

    def law(t: int, x: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        pull = x @ weight[t] + K_I * s @ Q.I[t] - K_D * y @ Q.D[t]
        return -pull @ inverse[t]

    return law


def residual_law(Q: Complements, gains: tuple[float, float, float], c: float) -> HistoryLaw:
    """Averaged law on the three quantities that each subspace was made for.

    u = -(1 - alpha_t) / sum(K) * (K_P Q^P x + K_I Q^I (x + s) + K_D Q^D (x - y)).

    Parameters
    ----------
    Q, gains, c
        As for `averaged_law`.

    Returns
    -------
    function (t, x, s, y) -> u

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> law = residual_law(Complements(one, one, one), (1, 0, 1), c=1.0)
    >>> law(0, np.array([2.0]), np.zeros(1), np.array([2.0])).tolist()   # D sees no change
    [-0.5]

    Source: ours; equation assumptions-residual-law.
    """
    P, integral, D = np.asarray(gains, np.float64) / sum(gains)
    removed = 1 - alphas(len(Q.P), c)

    def law(t: int, x: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        seen = P * x @ Q.P[t] + integral * (x + s) @ Q.I[t] + D * (x - y) @ Q.D[t]
        return -removed[t] * seen

    return law
