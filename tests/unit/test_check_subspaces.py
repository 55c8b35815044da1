"""Exercises on subspaces: right answers pass, the likely wrong ones fail."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pidlib.check import subspaces as check


def merged(n1, m1, C1, n2, m2, C2):
    total = (n1 * (C1 + np.outer(m1, m1)) + n2 * (C2 + np.outer(m2, m2))) / (n1 + n2)
    mean = (n1 * m1 + n2 * m2) / (n1 + n2)
    return total - np.outer(mean, mean)


def left(X, r):
    return np.linalg.svd(X.reshape(-1, X.shape[-1]).T, full_matrices=False)[0][:, :r]


def pairs(bend, share):
    return 2 * math.ceil(math.log(1 - share) / (2 * math.log(bend)))


@pytest.mark.parametrize(
    ("exercise", "right"),
    [
        (check.distance_to_span, lambda x, W: np.sqrt(np.linalg.lstsq(W, x, rcond=None)[1][0])),
        (check.mode_product, lambda X, U, k: np.moveaxis(np.moveaxis(X, k, -1) @ U.T, -1, k)),
        (check.embedding_projection, lambda X, r: left(X, r) @ left(X, r).T),
        (check.merged_covariance, merged),
    ],
)
def test_another_right_answer_passes(capsys, exercise, right):
    exercise(right)
    assert capsys.readouterr().out.startswith("right: ")


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [
        (check.distance_to_span, lambda x, W: np.linalg.norm(x - W @ (W.T @ x))),
        (check.distance_to_span, lambda x, W: np.linalg.norm(W @ np.linalg.pinv(W) @ x)),
        (check.curve_rank, pairs),  # always whole pairs
        (check.curve_rank, lambda bend, share: math.ceil(math.log(1 - share) / math.log(bend))),
        (check.curve_rank, lambda bend, share: 2),
        (check.mode_product, lambda X, U, k: np.tensordot(U, X, (1, k))),  # axes out of place
        (check.embedding_projection, lambda X, r: left(X, r)),
        (check.embedding_projection, lambda X, r: left(X - X.mean((0, 1)), r) @ left(X, r).T),
        (check.merged_covariance, lambda n, m, C, k, p, D: (n * C + k * D) / (n + k)),
        (check.merged_covariance, lambda n, m, C, k, p, D: (C + D) / 2),
    ],
)
def test_wrong_answers_fail_with_a_hint(capsys, exercise, wrong):
    exercise(wrong)
    said = capsys.readouterr().out
    assert said.startswith("not yet: a test case comes out differently\nhint: ")


def test_the_other_factor_has_another_shape(capsys):
    def other(X, r):
        V = np.linalg.svd(X.reshape(-1, X.shape[-1]).T, full_matrices=False)[2].T[:, :r]
        return V @ V.T

    check.embedding_projection(other)
    assert capsys.readouterr().out.startswith("not yet: a test case comes out differently")


NAMES = [n for n, f in vars(check).items() if getattr(f, "__module__", "") == check.__name__]


@pytest.mark.parametrize("name", NAMES)
def test_blank_says_that_nothing_is_returned(capsys, name):
    getattr(check, name)(lambda *arguments: None)
    assert capsys.readouterr().out.startswith("not yet: nothing is returned\nhint: ")
