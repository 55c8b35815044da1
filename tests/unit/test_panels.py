"""Panels of gains, and pictures that a telephone shows whole."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from matplotlib.colors import same_color

from pidbook.figures import ESTIMATE, INK, LOSS, dumbbells, gain_panels, heatmap

GAINS = {
    "A2T": {"P-D": (9.0, 6.8, 11.3), "spelling + Terminal both": (-3.0, -4.0, -2.0)},
    "PSO": {"P-D": (0.1, -2.0, 2.2)},
    "blind": {"P-D": (33.0, 30.0, 36.0)},
}
NAMES = ["DistilBERT", "RoBERTa-base", "BERT-large", "RoBERTa-large", "MiniLM (ours)"]
STEPS = {training: dict.fromkeys(NAMES, (50.0, 60.0)) for training in ("standard", "AT", "FreeLB")}


def test_the_sign_of_a_gain_has_a_colour():
    bars = [line for line in gain_panels(GAINS).axes[0].lines if len(line.get_xdata()) == 2]
    assert [list(bar.get_xdata()) for bar in bars[:2]] == [[6.8, 11.3], [-4.0, -2.0]]
    assert [bar.get_color() for bar in bars[:2]] == [ESTIMATE, LOSS]
    point = gain_panels(GAINS).axes[1].lines[1]
    assert point.get_xdata() == [0.1] and same_color(point.get_color(), INK)
    assert point.get_markerfacecolor() == "none"


def test_panels_share_a_scale_but_those_apart():
    first, second, third = (plot.get_xlim() for plot in gain_panels(GAINS, apart=["blind"]).axes)
    assert first == second != third
    assert first[0] < -4.0 and first[1] == pytest.approx(11.3, abs=1.0)
    assert third[0] < 0 < 36 < third[1]


def test_rows_keep_their_order_and_long_names_go_on():
    plot = gain_panels(dict(reversed(GAINS.items()))).axes[0]
    names = [label.get_text() for label in plot.get_yticklabels()]
    assert names == ["P-D", "spelling +\nTerminal both"]
    assert plot.get_ylim() == (1.5, -0.5)


def test_each_column_of_panels_ends_with_the_numbers_of_its_axis():
    panels = {name: {"DistilBERT": (50.0, 60.0)} for name in "abcde"}
    plots = dumbbells(panels, "accuracy in %", columns=2).axes
    below = [plot.xaxis.get_tick_params()["labelbottom"] for plot in plots]
    assert below == [False, False, False, True, True]  # no empty sixth


def test_tables_too_wide_for_a_telephone_stand_one_above_the_other():
    cells = {"a model, trained": dict.fromkeys(("A2T", "PSO", "TextBugger", "TextFooler"), 1.0)}
    above, below = heatmap({"first": cells, "second": cells}, "points").axes
    assert above.get_gridspec().nrows == 2
    assert [label.get_text() for label in below.get_yticklabels()] == list(cells)
    small = {"a": {"x": 1.0, "y": 2.0}}
    assert heatmap({"first": small, "second": small}, "points").axes[0].get_gridspec().ncols == 2


@pytest.mark.parametrize(
    "fig",
    [
        gain_panels(GAINS, "gain over no control, in points"),
        dumbbells(STEPS, "accuracy in %"),
        heatmap({"a": {n: dict.fromkeys(("A2T", "PSO"), 1.5) for n in NAMES}}, "points"),
    ],
    ids=["gains", "dumbbells", "heat map"],
)
def test_letters_are_eight_pixels_on_a_telephone(fig):
    page = StringIO()
    fig.savefig(page, format="svg", bbox_inches="tight")
    points = float(re.search(r'width="([\d.]+)pt"', page.getvalue())[1])
    smallest = min(100 * float(s) for s in re.findall(r"scale\(([\d.]+) -", page.getvalue()))
    assert smallest * 340 / points >= 8


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: gain_panels({}), "no panels"),
        (lambda: gain_panels(GAINS, apart=["other"]), "no panel 'other'"),
        (lambda: gain_panels({"A2T": {"P-D": (5.0, 6.0, 7.0)}}), "5.0 is not between 6.0 and 7.0"),
    ],
)
def test_what_does_not_fit_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
