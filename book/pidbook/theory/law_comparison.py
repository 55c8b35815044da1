"""Laws for the exact PID problem, and a contest between them on rotating networks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pidbook.theory.augmented import (
    Complements,
    Gains,
    clean_complements,
    history_cost,
    history_riccati,
    history_rollout,
)
from pidbook.theory.riccati import riccati
from pidbook.theory.systems import HistoryLaw, rotating_system, simulate
from pidlib.theory.gains import alphas
from pidlib.theory.inputs import number

SIZES = (24, 4, 6)  # width, dimension of the first clean subspace, depth


class LawResult(NamedTuple):
    """How one law did."""

    loss: float
    perturbed: float
    clean: float


def contest(gains: Gains, c: float, size: float = 0.3, seeds: int = 8) -> dict[str, LawResult]:
    """Let laws compete on the true loss of rotating layers with exact clean subspaces.

    Six layers of width 24, whose first clean subspace has 4 dimensions; 30 inputs a network.

    Parameters
    ----------
    gains : (K_P, K_I, K_D)
        Of the true loss. "P only" takes their sum for P.
    c : float
        Cost of the control, above 0.
    size : float
        Norm of the perturbations; clean inputs have norm 1.
    seeds : int
        Networks drawn; the median over them is returned.

    Returns
    -------
    dict of str to LawResult
        `loss` over the least, and errors at the last state, `perturbed` and `clean`, of
        "none", "P only", "relaxed" (Proposition 1), "averaged" (published), "myopic",
        "residual", "exact".

    Examples
    --------
    >>> laws = contest((0.5, 0, 0.5), c=1.0, seeds=1)
    >>> round(laws["exact"].loss, 9), laws["exact"].clean < 1e-9, laws["relaxed"].clean > 0.5
    (1.0, True, True)

    Source: equations assumptions-history, assumptions-residual-law.
    """
    number("seeds", seeds, "at least 1")
    rows = []
    for seed in range(seeds):
        system, random = rotating_system(*SIZES, seed, 1.0), np.random.default_rng(seed)
        thetas, Q = system.thetas, clean_complements(system)
        x0, z = _inputs(random, system.bases[0], 30, size)
        exact = history_riccati(thetas, Q, gains, c)
        laws: dict[str, HistoryLaw] = {
            "none": lambda t, x, s, y: np.zeros_like(x),
            "P only": relaxed_law(thetas, Q, (sum(gains), 0, 0), c),
            "relaxed": relaxed_law(thetas, Q, gains, c),
            "averaged": averaged_law(Q, gains, c),
            "myopic": myopic_law(Q, gains, c),
            "residual": residual_law(Q, gains, c),
            "exact": exact.law,
        }
        goal, best, row = simulate(system, x0).states[-1], exact.value(x0 + z).sum(), []
        for law in laws.values():
            path = history_rollout(thetas, law, x0 + z)
            paid = history_cost(thetas, Q, gains, c, x0 + z, path.controls).sum()
            quiet = history_rollout(thetas, law, x0).states[-1]
            row.append((paid / best, _rms(path.states[-1] - goal), _rms(quiet - goal)))
        rows.append(row)
    medians = np.median(rows, axis=0).tolist()
    return {name: LawResult(*row) for name, row in zip(laws, medians, strict=True)}


def _inputs(
    random: np.random.Generator, basis: np.ndarray, count: int, size: float
) -> tuple[np.ndarray, np.ndarray]:
    """Clean inputs of norm 1, and perturbations of a given norm."""
    x0 = random.standard_normal((count, basis.shape[1])) @ basis.T
    z = random.standard_normal((count, len(basis)))
    return tuple(
        w / np.linalg.norm(w, axis=1, keepdims=True) * g for w, g in ((x0, 1.0), (z, size))
    )


def _rms(gap: np.ndarray) -> float:
    return float(np.sqrt((gap**2).sum(-1).mean()))


def mixed_weight(Q: Complements, gains: Gains) -> np.ndarray:
    """Weight K_P Q^P + K_I Q^I + K_D Q^D of every layer."""
    return sum(gain * np.asarray(q) for gain, q in zip(gains, Q, strict=True))


def relaxed_law(thetas: ArrayLike, Q: Complements, gains: Gains, c: float) -> HistoryLaw:
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


def averaged_law(Q: Complements, gains: Gains, c: float) -> HistoryLaw:
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
    if not sum(gains) > 0:
        raise ValueError(f"gains are {gains}; at least one must be above 0")
    mean = mixed_weight(Q, gains) / sum(gains)
    K = (1 - alphas(len(mean), c))[:, None, None] * mean
    return lambda t, x, s, y: -x @ K[t].T


def myopic_law(Q: Complements, gains: Gains, c: float) -> HistoryLaw:
    """Best control of the present running loss alone, past included; it needs no layer.

    Parameters
    ----------
    Q, gains, c
        As for `averaged_law`.

    Returns
    -------
    function of (t, x, s, y), for `history_rollout`

    Source: Eq. (3) for one layer; equation subspaces-one-layer.
    """
    weight, (_, K_I, K_D) = mixed_weight(Q, gains), gains
    inverse = np.linalg.inv(weight + c * np.eye(weight.shape[-1]))

    def law(t: int, x: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        pull = x @ weight[t] + K_I * s @ Q.I[t] - K_D * y @ Q.D[t]
        return -pull @ inverse[t]

    return law


def residual_law(Q: Complements, gains: Gains, c: float) -> HistoryLaw:
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

    Source: equation assumptions-residual-law.
    """
    P, integral, D = np.asarray(gains, np.float64) / sum(gains)
    removed = 1 - alphas(len(Q.P), c)

    def law(t: int, x: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        pull = P * x @ Q.P[t] + integral * (x + s) @ Q.I[t] + D * (x - y) @ Q.D[t]
        return -removed[t] * pull

    return law
