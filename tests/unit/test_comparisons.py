"""Heat maps, and radar plots to choose from: every number is drawn."""

from __future__ import annotations

import pytest

from pidbook.figures import heatmap, radar_choice

PANELS = {
    "paper": {"P-D": {"A2T": 2.5, "PSO": -1.0}, "P-I": {"A2T": 0.0, "PSO": None}},
    "ours": {"P-D": {"A2T": 1.0, "PSO": 0.5}},
}


def test_a_heat_map_prints_each_number_in_its_cell():
    plots = heatmap(PANELS, "points").axes
    words = [{(t.get_position(), t.get_text()) for t in plot.texts} for plot in plots]
    assert words[0] == {
        ((0.5, 0.5), "+2.5"),
        ((1.5, 0.5), "\N{MINUS SIGN}1.0"),
        ((0.5, 1.5), "+0.0"),
    }
    assert words[1] == {((0.5, 0.5), "+1.0"), ((1.5, 0.5), "+0.5")}
    assert [label.get_text() for label in plots[0].get_yticklabels()] == ["P-D", "P-I"]


def test_gains_and_losses_of_one_size_are_as_deep_and_none_is_clear():
    mesh = heatmap({"a": {"r": {"x": 2.0, "y": -2.0, "z": 0.0}}}, "points").axes[0].collections[0]
    norm = mesh.norm
    assert norm(2.0) + norm(-2.0) == pytest.approx(1.0) and norm(0.0) == pytest.approx(0.5)
    gain, loss, none = (mesh.cmap(norm(value)) for value in (2.0, -2.0, 0.0))
    assert gain[3] == loss[3] < 0.6 and none[3] < 0.01 and gain[1] > gain[0] and loss[0] > loss[1]


def test_a_choice_holds_every_combination_in_order():
    frames = {(m, d): {"base": [k, k, k]} for k, (m, d) in enumerate(["Ax", "Ay", "Bx", "By"])}
    fig = radar_choice("abc", frames, ["model", "data"])
    assert [picture["r"][0][0] for picture in fig.layout.meta["pictures"]] == [0, 1, 2, 3]
    assert [part.active for part in fig.layout.sliders] == [0, 0]
    assert list(fig.data[0].r) == [0, 0, 0, 0]


def test_a_choice_may_lack_an_outline_that_the_first_has():
    frames = {("A",): {"base": [1, 2, 3], "more": [3, 2, 1]}, ("B",): {"base": [4, 5, 6]}}
    pictures = radar_choice("abc", frames, ["model"]).layout.meta["pictures"]
    assert pictures[0]["r"][1] == [3, 2, 1, 3]
    assert pictures[1]["r"] == [[4, 5, 6, 4], [None] * 4]
    with pytest.raises(ValueError, match="for the choice"):
        radar_choice("abc", dict(reversed(frames.items())), ["model"])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: heatmap({"a": {"r": {"x": 1}}, "b": {"r": {"y": 1}}}, ""), "same columns"),
        (lambda: heatmap({"a": {"r": {"x": None}}}, ""), "no number"),
        (
            lambda: radar_choice(
                "abc", {("A", "x"): {"p": [1, 2, 3]}, ("B", "y"): {"p": [1, 2, 3]}}, "mn"
            ),
            r"for the choice \('A', 'y'\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
