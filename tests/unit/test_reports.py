"""Gain plots, small radar plots, and tables in the paper's layout."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure

from contents import ROOT
from pidbook.evaluation.paper import ATTACKS, OURS, recorded_trials, scheme_rows
from pidbook.evaluation.trial_results import pack
from pidbook.figures import gain_bar, gain_plot


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
    gain_bar(plot, 2, -1.25, (-3, 0.5), color="r", marker="o", label="P-D")
    gain_bar(plot, 3, 40, text="40 %", color="b", marker="s")
    bar, interval, mark, *_, without, _ = [line.get_xydata().tolist() for line in plot.lines]
    assert bar == [[0, 2], [-1.25, 2]] and interval == [[-3, 2], [0.5, 2]]
    assert mark == [[-1.25, 2]] and without == []
    assert [text.get_text() for text in plot.texts] == ["\N{MINUS SIGN}1.2", "40 %"]
    assert plot.get_legend_handles_labels()[1] == ["P-D"]


def result(shares):
    """A made result: share of 10 right answers by condition, the same for every set."""
    bits = {name: np.arange(10) < right for name, right in shares.items()}
    sets = list(ATTACKS.values())
    return {
        "counts": {n: {k: {"right": int(b.sum()), "n": 10} for k in sets} for n, b in bits.items()},
        "examples": {n: {k: pack(b) for k in sets} for n, b in bits.items()},
    }


def test_our_rows_stand_beneath_the_papers():
    made = result({"none": 3, "P 99 %": 4, "P-I 99 %": 4, "P-D 99 %": 6, "P-I-D 99 %": 5})
    schemes = scheme_rows({"standard": made})
    assert len(schemes) == 52
    ours = [row for row in schemes if row["model"] == OURS]
    assert {row["highest"] for row in ours} == {"P-D"} and ours[0]["P-D"] == 60.0


def test_recorded_trials_are_read_and_stale_ones_refused(tmp_path):
    found = recorded_trials(ROOT / "book" / "results")
    assert ("snli-test", "standard") in found
    for (data, _), made in found.items():
        assert made["data"]["name"] == data
        assert {"none", "P 99 %", "P-D 99 %", "P-D 95 %"} <= set(made["counts"])
        assert set(ATTACKS.values()) <= set(made["counts"]["none"])
    assert recorded_trials(tmp_path) == {}
    path = ROOT / "book" / "results" / "trial-snli-test-minilm-nli.json"
    old = json.loads(path.read_text(encoding="utf-8"))
    old["model"]["sha256"] = "0" * 64
    (tmp_path / path.name).write_text(json.dumps(old))
    with pytest.raises(ValueError, match="is stale: the model changed"):
        recorded_trials(tmp_path)
