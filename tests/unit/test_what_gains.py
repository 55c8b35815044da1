"""Drawings of chapter 14 take the rows that they are given, under the names of the page."""

import numpy as np
import pandas as pd

from pidbook.drawings import what_gains as draw


def gains(defences, texts):
    """A frame of gains, each another number."""
    rows = [{"defence": d, "text": t} for d in defences for t in texts]
    frame = pd.DataFrame(rows).assign(n=1000, won=3, lost=1, answer="gain")
    frame["gain"] = np.arange(1.0, len(rows) + 1)
    return frame.assign(low=frame["gain"] - 1, high=frame["gain"] + 1)


def test_prices_stand_in_columns_whatever_the_order_of_the_rows():
    changes = gains(["encoding", "tuned copy"], ["sex", "all", "number"])
    plot = draw.price(changes, ["all", "number", "sex"]).axes[0]
    assert [mark.get_text() for mark in plot.get_xticklabels()] == [
        f"{text}\n1,000" for text in ("all", "number", "sex")
    ]
    assert [mark.get_text() for mark in plot.texts[:3]] == ["+2.0", "+3.0", "+1.0"]


def test_each_swap_of_a_text_is_ringed_alone_and_with_the_others():
    every = list(np.ndindex(2, 3))
    words = [("wine", "vino"), ("happy", "jolly", "joyful")]
    plot = draw.one_sentence(np.arange(6.0), every, [0, 3], every.index((1, 1)), words).axes[0]
    written = [mark.get_text() for mark in plot.texts]
    assert {"vino", "jolly", "vino and\njolly"} < {*written} and "joyful" not in written
    plot = draw.one_sentence(np.arange(6.0), every, [0, 2], every.index((1, 1)), words).axes[0]
    assert "joyful" in [mark.get_text() for mark in plot.texts]  # the first step of the search


def test_each_gain_stands_in_the_panel_of_its_text_and_in_the_row_of_its_defence():
    frame = gains(["trained push", "tuned copy"], ["A2T", "PSO"])
    frame.loc[3, "answer"] = "open"
    plots = draw.panels(frame, beneath={"PSO": "bare model: 4 %"}).axes
    assert [plot.get_title() for plot in plots] == ["A2T", "PSO\nbare model: 4 %"]
    for plot, values in zip(plots, ([1, 3], [2, 4]), strict=True):
        marks = [line for line in plot.lines if line.get_marker() == "o"]
        assert [line.get_xydata()[0].tolist() for line in marks] == [[values[0], 0], [values[1], 1]]
        assert [text.get_text() for text in plot.texts] == [f"+{value}.0" for value in values]
    assert marks[1].get_markerfacecolor() == "none" != marks[0].get_markerfacecolor()


def test_a_bar_is_a_share_and_has_its_two_counts():
    rows = [dict(name="judge\n1,459 swaps", count=96, of=768), dict(name="check", count=5, of=10)]
    plot = draw.counted(rows, "flips, %", grey=["check"]).axes[0]
    assert [text.get_text() for text in plot.get_yticklabels()] == [row["name"] for row in rows]
    assert [text.get_text() for text in plot.texts] == ["96 of 768", "5 of 10"]
    assert [bar.get_width() for bar in plot.patches] == [12.5, 50]
    flips, check = (bar.get_facecolor() for bar in plot.patches)
    assert flips != check


def test_a_gain_and_a_loss_are_named_and_a_loss_is_marked():
    frame = gains(["encoding"], ["every swap", "as written"])
    frame.loc[1, "answer"] = "loss"
    table = draw.summary(frame, ["every swap", "as written"], "Changes")
    assert table.words == [["encoding", "+1.0 gain", "+2.0 loss"]]
    assert ["marked" in look for look in table.looks[0]] == [False, False, True]


def test_a_defence_lies_at_its_gain_and_its_change():
    one = gains(["encoding"], ["any"])
    plot = draw.verdict(one, one.assign(gain=-2.0, low=-3.0, high=-1.0)).axes[0]
    marks = [line.get_xydata()[0].tolist() for line in plot.lines if line.get_marker() == "o"]
    assert marks == [[1.0, -2.0]]
