"""Wrong answers to the exercises on the assumptions are seen."""

from __future__ import annotations

import numpy as np
import pytest

from pidlib import check
from pidlib.theory.gains import alphas


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [
        (check.orthogonal_sum, lambda d, r, k: np.repeat([0.0, 1.0], [k * r, d - k * r])),
        (check.room_for_projection, lambda d, ranks: sum(ranks) <= d),
        (check.room_for_projection, lambda d, ranks: True),
        (check.tilt_damage, lambda T, c, phi: (1 - alphas(T, c)).max() * np.sin(phi)),
        (check.tilt_damage, lambda T, c, phi: (1 - alphas(T, c)).sum() * phi),
        (check.augmented_step, lambda theta: (np.eye(3 * len(theta)), np.zeros((3, 1)))),
        (
            check.residual_control,
            lambda x, s, y, Q, gains, alpha: (
                -(1 - alpha) * sum(g * q @ x for g, q in zip(gains, Q, strict=True))
            ),
        ),
    ],
)
def test_wrong_answers_fail_with_a_hint(capsys, exercise, wrong):
    exercise(wrong)
    said = capsys.readouterr().out
    assert said.startswith("not yet: ") and "\nhint: " in said
    assert "nothing is returned" not in said
