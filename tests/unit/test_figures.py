"""Figures hold the numbers they were given, and refuse what they cannot show."""

from __future__ import annotations

import io
import json

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import plotly.graph_objects as go
import pytest

from pidbook import figures
from pidbook.figures import INK, PALETTE, tidy

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
@pytest.mark.parametrize("colour", [INK, *PALETTE])
def test_colours_stand_out_in_light_and_dark(colour, ground):
    light, dark = sorted([luminance(colour), luminance(ground)], reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 3


def test_radar_plotly_closes_each_polygon_on_its_numbers():
    fig = figures.radar_plotly(AXES, SERIES)
    assert [trace.name for trace in fig.data] == list(SERIES)
    for trace, values in zip(fig.data, SERIES.values(), strict=True):
        assert list(trace.r) == [*values, values[0]]
        assert list(trace.theta) == [*AXES, AXES[0]]
    assert fig.data[0].line.dash != fig.data[1].line.dash  # told apart without colour too
    assert [t.line.color for t in fig.data] == [figures.INK, figures.OURS]  # no control, control
    assert fig.layout.polar.radialaxis.ticktext == ("25 %", "50 %", "75 %", "100 %")
    assert tuple(fig.layout.polar.radialaxis.range) == (0, 100)


def test_svg_is_the_same_twice():
    def svg() -> str:
        page = io.StringIO()
        fig = figures.curves([0, 1, 2, 3], SERIES)
        fig.savefig(page, format="svg", metadata={"Date": None})
        return page.getvalue()

    assert svg() == svg()


def test_drawing_leaves_no_open_figure():
    figures.curves([0, 1], {"a": [1, 2]})
    assert plt.get_fignums() == []


def test_tidy_rounds_every_kind_of_number_and_loses_none():
    values = np.linspace(0, 1, 7)
    square = values[:6].reshape(2, 3).astype("float32")
    fig = go.Figure([go.Scatter(x=np.arange(7), y=values), go.Heatmap(z=square)])
    fig.frames = [go.Frame(data=[go.Scatter(y=values[::-1])])]
    text = tidy(fig, 3).to_json()
    assert "bdata" not in text
    clean = json.loads(text)
    assert clean["data"][0]["y"] == [round(v, 3) for v in values.tolist()]
    assert clean["data"][0]["x"] == list(range(7))
    assert np.allclose(clean["data"][1]["z"], square, atol=5e-4)
    assert clean["frames"][0]["data"][0]["y"] == [round(v, 3) for v in values[::-1].tolist()]
    assert np.array_equal(fig.data[0].y, values)  # the figure given is left alone


def test_curves_draw_lines():
    lines = {"base": [3.0, 2.0, 1.0], "P-D": [2.0, 1.0, 0.5]}
    fig = figures.curves([0, 1, 2], lines, "block", "error")
    plot = fig.axes[0]
    assert {line.get_label(): list(line.get_ydata()) for line in plot.lines} == lines
    assert (plot.get_xlabel(), plot.get_ylabel()) == ("block", "error")
    assert all(place == int(place) for place in plot.get_xticks())  # no half blocks
    between = figures.curves([0.0, 0.5, 1.0], lines).axes[0].get_xticks()
    assert any(place != int(place) for place in between)


def test_slider_carries_every_position_and_keeps_the_axis_still():
    frames = {"0.1": {"a": [0, 1], "b": [0, 3]}, "0.2": {"a": [0, 2], "b": [0, 9]}}
    fig = figures.slider([0, 1], frames, "c", start="0.2", points=["b"])
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
    fig = figures.slider([0], frames, ["a", "b"], start=("2", "5"))
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
    fig = figures.slider([], {"1": {"c": circle}, "2": {"c": 2 * circle}}, "r")
    assert np.allclose([fig.data[0].x, fig.data[0].y], circle)
    assert np.allclose(fig.layout.sliders[0].steps[1].args[0]["x"], [2 * circle[0]])
    assert fig.layout.xaxis.range[0] < 2 * circle[0].min()


def test_slider_marks_powers_of_ten_on_a_logarithmic_axis():
    frames = {"1": {"a": [1e-8, 1.0]}, "2": {"a": [1e-4, 1e6]}}
    axis = figures.slider([0, 1], frames, "c", log=True).layout.yaxis
    assert (axis.type, axis.exponentformat, axis.dtick) == ("log", "power", 2)
    assert axis.range[0] < -8 and axis.range[1] > 6


@pytest.mark.parametrize(
    ("frames", "name", "more", "says"),
    [
        ({"1": {"a": [1]}, "2": {"b": [1]}}, "c", {}, "same lines"),
        ({("1", "1"): {"a": [1]}, ("2", "2"): {"a": [1]}}, ["c", "T"], {}, "no lines for"),
        ({"1": {"a": [1]}}, ["c", "T"], {}, "one value for each"),
        ({"1": {"a": [1]}}, "c", {"start": "3"}, "no position"),
        ({"1": {"a": [0]}}, "c", {"log": True}, "logarithmic"),
        ({"1": {"a": np.ones((3, 2))}}, "c", {}, "expected"),
    ],
)
def test_slider_refuses(frames, name, more, says):
    with pytest.raises(ValueError, match=says):
        figures.slider([0], frames, name, **more)
