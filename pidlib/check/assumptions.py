"""Exercises on the paper's assumptions, and on what replaces them, that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pidlib.check.judge import judge
from pidlib.theory.augmented import clean_complements
from pidlib.theory.gains import alphas
from pidlib.theory.law_comparison import residual_law
from pidlib.theory.systems import rotating_system


def orthogonal_sum(answer: Callable) -> None:
    """Check a function (d, r, k) -> eigenvalues of a sum of k projections.

    Parameters
    ----------
    answer : function
        Of the width, the dimension of each of k mutually orthogonal subspaces, and k;
        returns the d eigenvalues of the sum of the projections off them, smallest first.

    Examples
    --------
    >>> orthogonal_sum(lambda d, r, k: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Assumption 2; equation assumptions-two-three.
    """

    def cases() -> Iterator:
        for d, r, k in ((6, 2, 3), (10, 2, 2), (5, 1, 4), (7, 3, 1)):
            frame = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
            parts = [frame[:, r * j : r * (j + 1)] for j in range(k)]
            total = sum(np.eye(d) - V @ V.T for V in parts)
            yield (d, r, k), np.linalg.eigvalsh(total).round(9)

    hint = "a vector in one subspace is kept by that projection as 0, by the k - 1 others as 1"
    judge(answer, cases(), hint, "0 and 1 come out only for k = 1")


def room_for_projection(answer: Callable) -> None:
    """Check a function (d, ranks) -> whether the sum can be a projection at all.

    Parameters
    ----------
    answer : function
        Of the width and a list of dimensions of subspaces; returns True or False.

    Examples
    --------
    >>> room_for_projection(lambda d, ranks: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation assumptions-room.
    """
    draws = ((10, [5, 5]), (10, [4, 5]), (9, [6, 6, 6]), (9, [6, 6, 5]), (8, [8, 8, 1]))
    cases = (((d, ranks), sum(d - r for r in ranks) <= d) for d, ranks in draws)
    hint = "the complements have dimensions d - r and must fit side by side into d"
    judge(answer, cases, hint, "the subspaces must be large, the opposite of low-dimensional")


def tilt_damage(answer: Callable) -> None:
    """Check a function (T, c, phi) -> bound on the damage to a clean state.

    Parameters
    ----------
    answer : function
        Of a depth, a cost and the angle in radians by which every subspace is off;
        returns the bound for a clean input of length 1.

    Examples
    --------
    >>> tilt_damage(lambda T, c, phi: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation assumptions-tilt.
    """
    draws = ((1, 1.0, 0.1), (12, 1.0, 0.1), (6, 10.0, 0.5), (4, 1e-3, 0.02))
    cases = (((T, c, a), float((1 - alphas(T, c)).sum() * np.sin(a))) for T, c, a in draws)
    hint = "layer s moves a clean state by at most (1 - alpha_s) sin(phi), and no layer enlarges it"
    judge(answer, cases, hint, "a safe bound, and far from tight for small angles")


def augmented_step(answer: Callable) -> None:
    """Check a function theta -> (A, B), the step of the augmented state.

    Parameters
    ----------
    answer : function
        Of a (d, d) array; returns arrays (3 d, 3 d) and (3 d, d) with
        zeta_{t+1} = A zeta_t + B u_t for zeta = (x, s, y), past states uncontrolled.

    Examples
    --------
    >>> augmented_step(lambda theta: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation assumptions-augmented.
    """

    def cases() -> Iterator:
        for d in (1, 2, 3):
            theta = np.random.default_rng(d).standard_normal((d, d))
            eye, zero = np.eye(d), np.zeros((d, d))
            A = np.block([[theta, zero, zero], [eye, eye, zero], [eye, zero, zero]])
            yield (theta,), (A, np.vstack([theta, zero, zero]))

    hint = "three block rows: x is theta (x + u), s grows by x, y becomes x; np.block puts them in"
    judge(answer, cases(), hint, "with its past inside, the state is all that a controller needs")


def residual_control(answer: Callable) -> None:
    """Check a function (x, s, y, Q, gains, alpha) -> u, the residual law of one layer.

    Parameters
    ----------
    answer : function
        Of three (d,) arrays, a triple of (d, d) projections, a triple of gains and a
        number; returns a (d,) array.

    Examples
    --------
    >>> residual_control(lambda *arguments: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours; equation assumptions-residual-law.
    """

    def cases() -> Iterator:
        Q = clean_complements(rotating_system(6, 2, 3, seed=0))
        random = np.random.default_rng(0)
        for t, gains in enumerate(((1, 0, 0), (0.5, 0, 0.5), (1, 2, 3))):
            x, s, y = random.standard_normal((3, 6))
            wanted = residual_law(Q, gains, 1.0)(t, x, s, y)
            yield (x, s, y, (Q.P[t], Q.I[t], Q.D[t]), gains, alphas(3, 1.0)[t]), wanted

    hint = "Q^P acts on x, Q^I on x + s, Q^D on x - y; divide by the sum of the gains"
    judge(answer, cases(), hint, "three thin products, and clean trajectories are left alone")
