"""Exercises on the error theorem that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pidlib.check.judge import judge
from pidlib.theory.gains import attenuation, predicted_error, wiener_c
from pidlib.theory.systems import orthogonal_system


def split(answer: Callable) -> None:
    """Check a function (z, V) -> (on, off), squared norms in and off a subspace.

    Parameters
    ----------
    answer : function
        Of a (d,) array and a (d, r) array of orthonormal columns; returns two numbers.

    Examples
    --------
    >>> split(lambda z, V: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: section 2.3, the two parts of a perturbation.
    """

    def cases() -> Iterator:
        for seed in range(5):
            V = orthogonal_system(6, 2, 1, seed).bases[0]
            z = np.random.default_rng(seed).standard_normal(6)
            on = float(np.sum((V.T @ z) ** 2))
            yield (z, V), (on, float(z @ z) - on)

    hint = "the part in the subspace is V (V' z); the rest is what is left of z"
    judge(answer, cases(), hint, "on + off is the whole |z|^2, by Pythagoras")


def exit_error(answer: Callable) -> None:
    """Check a function (on, off, T, c) -> squared error after the last layer.

    Parameters
    ----------
    answer : function
        Of two squared norms, a whole number and a cost; returns a number.

    Examples
    --------
    >>> exit_error(lambda on, off, T, c: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Theorem 1.
    """
    random = np.random.default_rng(3)
    draws = [(*random.random(2), int(random.integers(1, 12)), random.random()) for _ in range(8)]
    cases = (((on, off, T, c), predicted_error(on, off, T, c)[-1]) for on, off, T, c in draws)
    hint = "go back from lambda_T = 0; multiply all alpha_t; square the product, not each norm"
    judge(answer, cases, hint, "the error at the exit needs no network at all")


def layers_needed(answer: Callable) -> None:
    """Check a function (c, share) -> fewest layers that leave at most that share.

    Parameters
    ----------
    answer : function
        Of a cost and a share of the norm off the subspace, 0 to 1; returns a whole
        number T.

    Examples
    --------
    >>> layers_needed(lambda c, share: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: Theorem 1.
    """

    def cases() -> Iterator:
        for c, share in ((1.0, 0.5), (1.0, 0.01), (10.0, 0.1), (100.0, 0.1), (1e-3, 0.01)):
            T = 1
            while attenuation(T, c)[-1] > share:
                T += 1
            yield (c, share), T

    hint = "the whole sequence of gains changes with T: try T = 1, 2, 3, ... afresh"
    judge(answer, cases(), hint, "the depth grows like sqrt(c), not like c")


def best_cost(answer: Callable) -> None:
    """Check a function (X, Z, T) -> cost c of least mean squared error at the exit.

    Parameters
    ----------
    answer : function
        Of two energies off the subspace (clean X, perturbation Z) and the depth;
        returns a number. One part in a million is enough.

    Examples
    --------
    >>> best_cost(lambda X, Z, T: None)  # doctest: +ELLIPSIS
    not yet: ...

    Source: ours, chapter on the error theorem.
    """
    draws = ((1.0, 2.0, 1), (1.0, 1.0, 12), (0.1, 1.0, 6), (3.0, 0.5, 4))
    cases = (((X, Z, T), wiener_c(X, Z, T)) for X, Z, T in draws)
    hint = "first find the factor a that minimises a^2 Z + (1 - a)^2 X, then the c with a_T(c) = a"
    judge(answer, cases, hint, "the better the subspace fits clean text, the cheaper the control")
