"""Wrong answers to the exercises on the assumptions are seen."""

from __future__ import annotations

import numpy as np
import pytest

from pidlib import check


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [
        (check.orthogonal_sum, lambda d, r, k: np.repeat([0.0, 1.0], [k * r, d - k * r])),
        (
            check.augmented_step,
            lambda theta, rho: (
                np.block([[theta, 0 * theta], [np.eye(len(theta)), rho * np.eye(len(theta))]]),
                np.vstack([theta, 0 * theta]),
            ),
        ),
        (
            check.residual_control,
            lambda x, s, y, V, gains, alpha: (
                -(1 - alpha) * sum(g * (x - x @ W @ W.T) for g, W in zip(gains, V, strict=True))
            ),
        ),
    ],
)
def test_wrong_answers_fail_with_a_hint(capsys, exercise, wrong):
    exercise(wrong)
    said = capsys.readouterr().out
    assert said.startswith("not yet: ") and "\nhint: " in said
    assert "nothing is returned" not in said


def fading(theta, rho):
    eye = np.eye(len(theta))
    return np.block([[theta, 0 * theta], [eye, rho * eye]]), np.vstack([theta, eye])


def thin(x, s, y, V, gains, alpha):
    parts = zip(gains, V, (x, x + s, x - y), strict=True)
    pull = sum(K * (w - (w @ basis) @ basis.T) for K, basis, w in parts)
    return -(1 - alpha) / sum(gains) * pull


@pytest.mark.parametrize(
    ("exercise", "right"),
    [
        (check.orthogonal_sum, lambda d, r, k: np.repeat([k - 1.0, k], [k * r, d - k * r])),
        (check.augmented_step, fading),
        (check.residual_control, thin),
    ],
)
def test_right_answers_pass(capsys, exercise, right):
    exercise(right)
    assert capsys.readouterr().out.startswith("right: ")
