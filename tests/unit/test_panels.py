"""Tables in colours that a telephone shows whole."""

from __future__ import annotations

import re
from io import StringIO

from pidbook.figures import heatmap

NAMES = ["DistilBERT", "RoBERTa-base", "BERT-large", "RoBERTa-large", "MiniLM (ours)"]


def test_tables_too_wide_for_a_telephone_stand_one_above_the_other():
    cells = {"a model, trained": dict.fromkeys(("A2T", "PSO", "TextBugger", "TextFooler"), 1.0)}
    above, below = heatmap({"first": cells, "second": cells}, "points").axes
    assert above.get_gridspec().nrows == 2
    assert [label.get_text() for label in below.get_yticklabels()] == list(cells)
    small = {"a": {"x": 1.0, "y": 2.0}}
    assert heatmap({"first": small, "second": small}, "points").axes[0].get_gridspec().ncols == 2


def test_letters_are_eight_pixels_on_a_telephone():
    fig = heatmap({"a": {n: dict.fromkeys(("A2T", "PSO"), 1.5) for n in NAMES}}, "points")
    page = StringIO()
    fig.savefig(page, format="svg", bbox_inches="tight")
    points = float(re.search(r'width="([\d.]+)pt"', page.getvalue())[1])
    smallest = min(100 * float(s) for s in re.findall(r"scale\(([\d.]+) -", page.getvalue()))
    assert smallest * 340 / points >= 8
