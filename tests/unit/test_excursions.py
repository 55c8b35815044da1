"""The picture of the front page: a push, and the control that takes it back."""

import json

import numpy as np
import pytest

from excursion import (
    BLOCKS,
    COSTS,
    DISTURBANCES,
    LINES,
    PRINTED,
    START,
    STRUCK,
    excursion,
    excursion_figure,
    excursion_rows,
)
from pidlib.figures.style import tidy, use_book_style
from pidlib.theory.gains import alphas


@pytest.mark.parametrize("cost", COSTS)
def test_each_control_keeps_the_share_that_proposition_2_gives(cost):
    run = excursion(cost)
    shares = alphas(BLOCKS, cost)
    assert run.outside[:STRUCK] == pytest.approx(0, abs=1e-12)
    assert run.outside[STRUCK] == pytest.approx(1)
    assert run.kept == pytest.approx(shares * run.outside[:-1], abs=1e-12)
    after = np.cumprod(shares[STRUCK:])  # nothing else pushes: the shares multiply
    assert run.outside[STRUCK + 1 :] == pytest.approx(after, abs=1e-12)
    assert run.spent == pytest.approx((((1 - shares) * run.outside[:-1]) ** 2).sum())


def test_later_pushes_reach_the_bare_and_the_controlled_state_alike():
    bare, held = excursion(None, 0.2), excursion(1.0, 0.2)
    came = np.diff(bare.outside)
    assert held.outside[1:] - held.kept == pytest.approx(came, abs=1e-12)
    assert np.abs(came[STRUCK:]).min() > 0 and bare.spent == 0


def test_a_smaller_cost_leaves_less_outside_and_spends_more():
    runs = [excursion(cost, START[1]) for cost in COSTS]
    left = [run.kept[STRUCK] for run in runs]
    assert left == sorted(left) and left[-1] < 1
    spent = [run.spent for run in runs]
    assert spent == sorted(spent, reverse=True)


def test_the_figure_holds_every_position_of_its_two_sliders():
    use_book_style()
    spec = tidy(excursion_figure(), 3).to_plotly_json()
    pictures = spec["layout"]["meta"]["pictures"]
    assert len(pictures) == len(COSTS) * len(DISTURBANCES)
    place = COSTS.index(0.1) * len(DISTURBANCES) + DISTURBANCES.index(0.3)
    bare, held = excursion(None, 0.3), excursion(0.1, 0.3)
    shown = dict(zip(LINES, pictures[place]["y"], strict=True))
    assert shown["without control"][::4] == pytest.approx(bare.outside, abs=1e-3)
    assert shown["with control"][::4] == pytest.approx(held.outside, abs=1e-3)
    assert shown["with control"][1::4] == pytest.approx(held.kept, abs=1e-3)
    assert len(json.dumps(spec)) < 150_000


def test_the_rows_tell_what_the_figure_shows_first():
    rows = {row["price c"]: row for row in excursion_rows()}
    assert list(rows) == ["no control", *(f"{cost:g}" for cost in PRINTED[1:])]
    run = excursion(10.0, START[1])
    assert rows["10"][f"left at block {STRUCK}"] == f"{run.kept[STRUCK]:.3f}"
    assert rows["10"]["outside at the end"] == f"{abs(run.outside[-1]):.3f}"
    assert rows["no control"]["control spent"] == "0.000"


@pytest.mark.parametrize(("cost", "push"), [(1.0, -0.1), (-1.0, 0.0), (1.0, float("nan"))])
def test_refuses_what_cannot_be(cost, push):
    with pytest.raises(ValueError):
        excursion(cost, push)
