"""Heat maps, and radar plots to choose from: every number is drawn."""

from __future__ import annotations

import re
from io import StringIO

from pidbook.figures import heatmap, radar_choice

NAMES = ["DistilBERT", "RoBERTa-base", "BERT-large", "RoBERTa-large", "MiniLM (ours)"]


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


def test_letters_are_eight_pixels_on_a_telephone():
    fig = heatmap({n: dict.fromkeys(("A2T", "PSO"), 1.5) for n in NAMES}, "points")
    page = StringIO()
    fig.savefig(page, format="svg", bbox_inches="tight")
    points = float(re.search(r'width="([\d.]+)pt"', page.getvalue())[1])
    smallest = min(100 * float(s) for s in re.findall(r"scale\(([\d.]+) -", page.getvalue()))
    assert smallest * 340 / points >= 8


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
