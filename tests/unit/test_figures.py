"""Figures hold the numbers they were given, and refuse what they cannot show."""

import io
import json
import re

import matplotlib as mpl
import numpy as np
import plotly.graph_objects as go
import pytest
from matplotlib.figure import Figure

from pidbook import figures
from pidbook.figures import curves, gain_plot, heatmap, radar_choice, radar_plotly, slider
from tests.conftest import refusals

AXES = ["clean", "TextFooler", "TextBugger", "PSO"]
SERIES = {"base": [81.0, 61.3, 10.0, 30.0], "P-D": [79.3, 68.3, 21.3, 35.0]}


@pytest.fixture(autouse=True)
def style():
    with mpl.rc_context():
        figures.use_book_style()
        yield


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("ground", ["#ffffff", "#121212"])
@pytest.mark.parametrize("colour", [figures.INK, *figures.PALETTE])
def test_colours_stand_out_in_light_and_dark(colour, ground):
    light, dark = sorted([luminance(colour), luminance(ground)], reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 3


def test_radar_plotly_closes_each_polygon_on_its_numbers():
    fig = radar_plotly(AXES, SERIES)
    assert [trace.name for trace in fig.data] == list(SERIES)
    for trace, values in zip(fig.data, SERIES.values(), strict=True):
        assert list(trace.r) == [*values, values[0]]
        assert list(trace.theta) == [*AXES, AXES[0]]
    assert fig.data[0].line.dash != fig.data[1].line.dash  # told apart without colour too
    assert [t.line.color for t in fig.data] == [figures.INK, figures.OURS]  # no control, control
    assert fig.layout.polar.radialaxis.ticktext == ("", "50 %", "75 %", "100 %")
    assert tuple(fig.layout.polar.radialaxis.range) == (0, 100)


def test_svg_is_the_same_twice():
    def svg() -> str:
        page = io.StringIO()
        fig = curves([0, 1, 2, 3], SERIES)
        fig.savefig(page, format="svg", metadata={"Date": None})
        return page.getvalue()

    assert svg() == svg()


def test_tidy_rounds_every_kind_of_number_and_loses_none():
    values = np.linspace(0, 1, 7)
    square = values[:6].reshape(2, 3).astype("float32")
    fig = go.Figure([go.Scatter(x=np.arange(7), y=values), go.Heatmap(z=square)])
    fig.frames = [go.Frame(data=[go.Scatter(y=values[::-1])])]
    text = figures.tidy(fig, 3).to_json()
    assert "bdata" not in text
    clean = json.loads(text)
    assert clean["data"][0]["y"] == [round(v, 3) for v in values.tolist()]
    assert clean["data"][0]["x"] == list(range(7))
    assert np.allclose(clean["data"][1]["z"], square, atol=5e-4)
    assert clean["frames"][0]["data"][0]["y"] == [round(v, 3) for v in values[::-1].tolist()]
    assert np.array_equal(fig.data[0].y, values)  # the figure given is left alone


def test_curves_draw_lines():
    lines = {"base": [3.0, 2.0, 1.0], "P-D": [2.0, 1.0, 0.5]}
    fig = curves([0, 1, 2], lines, "block", "error")
    plot = fig.axes[0]
    assert {line.get_label(): list(line.get_ydata()) for line in plot.lines} == lines
    assert (plot.get_xlabel(), plot.get_ylabel()) == ("block", "error")
    assert all(place == int(place) for place in plot.get_xticks())  # no half blocks
    between = curves([0.0, 0.5, 1.0], lines).axes[0].get_xticks()
    assert any(place != int(place) for place in between)


def test_limits_widen_for_a_value_outside_and_only_then():
    assert figures.reach((0, 2), np.array([[0.1, 2.0], [np.nan, 1.0]])) == (0, 2)
    assert figures.reach((0, 2), [-1.0], 3) == pytest.approx((-1.1, 3.1))
    assert figures.reach((0, 2), []) == (0, 2)


def test_slider_carries_every_position_and_keeps_the_axis_still():
    frames = {"0.1": {"a": [0, 1], "b": [0, 3]}, "0.2": {"a": [0, 2], "b": [0, 9]}}
    fig = slider([0, 1], frames, "c", start="0.2", points=["b"])
    steps = fig.layout.sliders[0].steps
    assert [step.args[0]["y"] for step in steps] == [[[0, 1], [0, 3]], [[0, 2], [0, 9]]]
    assert [list(trace.x) for trace in fig.data] == [[0, 1], [0, 1]]
    assert fig.layout.sliders[0].active == 1
    assert [list(trace.y) for trace in fig.data] == [[0, 2], [0, 9]]
    assert [trace.mode for trace in fig.data] == ["lines", "markers"]
    low, high = fig.layout.yaxis.range
    assert low < 0 and high > 9


def test_several_sliders_hold_every_combination():
    frames = {(a, b): {"y": [float(a) * 10 + float(b)]} for a in "123" for b in "45"}
    fig = slider([0], frames, ["a", "b"], start=("2", "5"))
    assert [picture["y"][0][0] for picture in fig.layout.meta["pictures"]] == [
        14, 15, 24, 25, 34, 35
    ]  # fmt: skip
    first, second = fig.layout.sliders
    assert [step.args[0]["y"] for step in first.steps] == [[[15]], [[25]], [[35]]]
    assert [step.args[0]["y"] for step in second.steps] == [[[24]], [[25]]]
    assert (first.active, second.active) == (1, 1)
    assert list(fig.data[0].y) == [25]


def test_slider_draws_curves_of_their_own_places():
    circle = np.array([np.cos(np.arange(4.0)), np.sin(np.arange(4.0))])
    fig = slider([], {"1": {"c": circle}, "2": {"c": 2 * circle}}, "r")
    assert np.allclose([fig.data[0].x, fig.data[0].y], circle)
    assert np.allclose(fig.layout.sliders[0].steps[1].args[0]["x"], [2 * circle[0]])
    assert fig.layout.xaxis.range[0] < 2 * circle[0].min()


def test_slider_marks_powers_of_ten_on_a_logarithmic_axis():
    frames = {"1": {"a": [1e-8, 1.0]}, "2": {"a": [1e-4, 1e6]}}
    axis = slider([0, 1], frames, "c", log=True).layout.yaxis
    assert (axis.type, axis.exponentformat, axis.dtick) == ("log", "power", 2)
    assert axis.range[0] < -8 and axis.range[1] > 6


def test_a_heat_map_prints_each_number_in_its_cell():
    plot = heatmap({"P-D": {"A2T": 2.5, "PSO": -1}, "P-I": {"A2T": 0, "PSO": 1}}, "points").axes[0]
    words = {text.get_position(): text.get_text() for text in plot.texts}
    assert words == {
        (0.5, 0.5): "+2.5", (1.5, 0.5): "\N{MINUS SIGN}1.0", (0.5, 1.5): "+0.0", (1.5, 1.5): "+1.0",
    }  # fmt: skip
    assert [label.get_text() for label in plot.get_yticklabels()] == ["P-D", "P-I"]


def test_gains_and_losses_of_one_size_are_as_deep_and_none_is_clear():
    mesh = heatmap({"r": {"x": 2.0, "y": -2.0, "z": 0.0}}, "points").axes[0].collections[0]
    gain, loss, none = (mesh.cmap(mesh.norm(value)) for value in (2.0, -2.0, 0.0))
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
    assert [picture["visible"] for picture in pictures] == [[True, True], [True, False]]


NAMES = ["DistilBERT", "RoBERTa-base", "BERT-large", "RoBERTa-large", "MiniLM (ours)"]


def test_letters_are_eight_pixels_on_a_telephone():
    fig = heatmap({n: dict.fromkeys(("A2T", "PSO"), 1.5) for n in NAMES}, "points")
    page = io.StringIO()
    fig.savefig(page, format="svg", bbox_inches="tight")
    points = float(re.search(r'width="([\d.]+)pt"', page.getvalue())[1])
    smallest = min(100 * float(s) for s in re.findall(r"scale\(([\d.]+) -", page.getvalue()))
    assert smallest * 340 / points >= 8


def test_a_gain_plot_shows_every_gain_with_its_interval():
    groups = {
        "over none": {"A": (1.0, 0.0, 2.5), "B": (-1.0, -2.0, 0.5)},
        "over noise": {"A": (0.0, -1.0, 1.0), "B": (0.2, 0.1, 0.3)},
    }
    plot = gain_plot(groups, "points").axes[0]
    assert len(plot.containers) == 2
    points = plot.containers[0].lines[0].get_xdata()
    assert list(points) == [1.0, -1.0]
    assert plot.get_ylim() == (1.5, -0.5)  # the first row on top, no point on the frame
    bars = plot.containers[0].lines[2][0].get_segments()
    assert [(round(s[0, 0], 6), round(s[1, 0], 6)) for s in bars] == [(0.0, 2.5), (-2.0, 0.5)]
    marks = [bars.lines[0] for bars in gain_plot(groups, colours=["k", "k"]).axes[0].containers]
    assert [(m.get_color(), m.get_fillstyle()) for m in marks] == [("k", "full"), ("k", "none")]


def test_a_gain_bar_reaches_from_no_gain_to_the_gain():
    plot = Figure().subplots()
    figures.gain_bar(plot, 2, -1.25, (-3, 0.5), color="r", marker="o", label="P-D")
    figures.gain_bar(plot, 3, 40, text="40 %", color="b", marker="s")
    bar, interval, mark, *_, without, _ = [line.get_xydata().tolist() for line in plot.lines]
    assert bar == [[0, 2], [-1.25, 2]] and interval == [[-3, 2], [0.5, 2]]
    assert mark == [[-1.25, 2]] and without == []
    assert [text.get_text() for text in plot.texts] == ["\N{MINUS SIGN}1.2", "40 %"]
    assert plot.get_legend_handles_labels()[1] == ["P-D"]


ONE = {"a": [1]}


REFUSED = [
    (lambda: slider([0], {"1": ONE, "2": {"b": [1]}}, "c"), "same lines"),
    (lambda: slider([0], {("1", "1"): ONE, ("2", "2"): ONE}, ["c", "T"]), "no lines for"),
    (lambda: slider([0], {"1": ONE}, ["c", "T"]), "one value for each"),
    (lambda: slider([0], {"1": ONE}, "c", start="3"), "no position"),
    (lambda: slider([0], {"1": {"a": [0]}}, "c", log=True), "logarithmic"),
    (lambda: slider([0], {"1": {"a": np.ones((3, 2))}}, "c"), "expected"),
]


test_what_cannot_be_shown_is_refused = refusals(REFUSED)
