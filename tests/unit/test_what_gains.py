"""Drawings of chapter 14 take the rows that they are given, under the names of the page."""

import numpy as np
import pandas as pd
import pytest

from pidbook.drawings import what_gains as draw
from pidlib.evaluation import Proportion


def gains(defences, texts):
    """A frame of gains, each another number."""
    rows = [{"defence": d, "text": t} for d in defences for t in texts]
    frame = pd.DataFrame(rows).assign(n=1000, won=3, lost=1, answer="gain")
    frame["gain"] = np.arange(1.0, len(rows) + 1)
    return frame.assign(low=frame["gain"] - 1, high=frame["gain"] + 1)


def test_rows_are_named_and_stand_in_the_order_asked_for():
    table = gains(["a", "b"], ["x", "y"]).rename(columns={"defence": "control", "text": "set"})
    named = draw.named(table, {"b": "second", "a": "first"}, {"y": "why"})
    assert [*named["defence"]] == ["second", "first"] and [*named["text"]] == ["why", "why"]
    assert [*named["gain"]] == [4, 2]
    with pytest.raises(KeyError, match="c"):
        draw.named(table, {"c": "none"}, {"y": "why"})


def test_prices_stand_in_columns_whatever_the_order_of_the_rows():
    changes = gains(["encoding", "tuned copy"], ["sex", "one word", "number"])
    plot = draw.price(changes, ["number", "sex"]).axes[0]
    assert [mark.get_text() for mark in plot.get_xticklabels()] == ["one\nword", "number", "sex"]
    assert [mark.get_text() for mark in plot.texts[:3]] == ["+2.0", "+3.0", "+1.0"]


def test_each_swap_of_a_text_is_ringed_alone_and_with_the_others():
    every = list(np.ndindex(2, 3))
    words = [("wine", "vino"), ("happy", "jolly", "joyful")]
    plot = draw.one_sentence(np.arange(6.0), every, [0, 3], every.index((1, 1)), words).axes[0]
    written = [mark.get_text() for mark in plot.texts]
    assert {"vino", "jolly", "vino and\njolly"} < {*written} and "joyful" not in written


def test_what_is_left_is_shown_with_its_pairs():
    left = {("all", "bare model"): Proportion(3, 300), ("one", "bare model"): Proportion(9, 100)}
    titles = [plot.get_title() for plot in draw.worst(left).axes]
    assert titles == ["all\n300 pairs", "one\n100 pairs"]
    assert "1.0" in str(draw.worst_table(left, "Left"))


def test_a_defence_lies_at_its_gain_and_its_change():
    one = gains(["encoding"], ["any"])
    plot = draw.verdict(one, one.assign(gain=-2.0, low=-3.0, high=-1.0)).axes[0]
    marks = [line.get_xydata()[0].tolist() for line in plot.lines if line.get_marker() == "o"]
    assert marks == [[1.0, -2.0]]
