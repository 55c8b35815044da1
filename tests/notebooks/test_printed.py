"""Tables of chapters in the paper's layout: every number is there, in the paper's order."""

import re

import pytest

from pidbook.figures.colours import OURS, PAPER
from printed import in_blocks, read, turned, with_highest
from redrawn import PLOTLY, chosen, in_violet, tagged

SCHEMES = ["P", "P-I", "P-D", "P-I-D"]
CONTROLS = ["no control", "formula", "PMP", "PMP, running cost", "PMP, relaxed cost"]


def stored(tag: str) -> str:
    """The last table of the cell that has this tag."""
    ((_, cell),) = tagged()[tag]
    return [o.data["text/html"] for o in cell.outputs if "text/html" in o.get("data", {})][-1]


def lines(html: str) -> list[list[str]]:
    heads, rows = read(html)
    return [heads, *rows]


def listed(cell: str) -> list[str]:
    """The entries of a cell that holds several."""
    return re.findall(r'<span class="listed">(.*?)</span>', cell)


def test_table_3_lists_four_schemes_a_cell_and_the_highest_is_bold():
    shown = lines(in_blocks(stored("table-3"), ["model", "attack", "training"], SCHEMES))
    assert shown[0] == ["training", "standard", "AT", "FreeLB"]
    assert shown[1][0] == "DistilBERT" and [listed(cell) for cell in shown[1][1:]] == [SCHEMES] * 3
    assert shown[2][0] == "A2T" and listed(shown[2][1]) == [
        "60.11",
        "58.24",
        "<b>62.31</b>",
        "61.30",
    ]
    assert shown[-1][0] == "clean"
    numbers = re.findall(r"\d+\.\d+", " ".join(cell for line in shown for cell in line))
    assert len(numbers) == 4 * len(read(stored("table-3"))[1])


def test_the_means_of_table_3_have_a_row_for_each_attack_and_the_highest_is_bold():
    ((_, cell),) = tagged()["table-3"]
    means = next(o.data["text/html"] for o in cell.outputs if "text/html" in o.get("data", {}))
    shown = lines(with_highest(in_blocks(means, ["model", "attack", "text"], SCHEMES)))
    assert shown[0] == ["text", *SCHEMES] and shown[1] == ["DistilBERT"]
    assert shown[2] == ["A2T", "63.9", "62.4", "<b>65.7</b>", "65.0"]
    assert len(shown) == 1 + 5 + len(read(means)[1])


def test_the_outline_under_control_is_violet_on_the_papers_models_and_blue_on_ours():
    ((_, cell),) = tagged()["figure-1"]
    spec = in_violet(next(o.data[PLOTLY] for o in cell.outputs if PLOTLY in o.get("data", {})))
    ours, *theirs = [step["label"] for step in spec["layout"]["sliders"][0]["steps"]]
    for model, colour in {ours: OURS, theirs[0]: PAPER, theirs[-1]: PAPER}.items():
        traces = chosen(spec, [model, "MNLI", "AT"])["data"]
        assert [trace["line"]["color"] for trace in traces][1] == colour


def test_table_4_has_a_row_for_each_control_and_a_column_for_each_threshold():
    names = [*CONTROLS, "formula × 0.72"]
    shown = lines(in_blocks(stored("table-4"), ["model", "text", "threshold"], names, rows=True))
    assert shown[0] == ["threshold", "99 %", "95 %", "90 %", "85 %"]
    clean = [line for line in shown if line[0].startswith("clean, ")][:3]
    assert [line[0] for line in clean] == ["clean, no control", "clean, formula", "clean, PMP"]
    assert [line[1] for line in clean] == ["87.2", "85.9", "<b>86.5</b>"]
    assert len(shown) == 1 + 3 * (1 + 2 * 3) + (1 + 2 * 5)


def test_table_5_has_a_column_for_each_model():
    heads, rows = read(stored("table-5"))
    shown = lines(turned(stored("table-5")))
    assert shown[0] == [heads[0], *(row[0] for row in rows)]
    assert [line[0] for line in shown[1:]] == heads[1:]
    assert shown[1][1] == rows[0][1]


def test_table_6_has_a_block_for_the_paper_and_for_each_reading():
    attacks = ["A2T", "PSO", "TextBugger", "TextFooler"]
    shown = lines(in_blocks(stored("table-6"), ["error", "attack", "layers"], attacks))
    assert shown[0] == ["layers", "6", "12", "24"]
    assert shown[1:3] == [["the paper"], ["A2T", "3.22", "4.31", "5.16"]]
    assert shown[-1][0] == "TextFooler" and shown[-1][-1] == "\N{EN DASH}"
    assert len(shown) == 1 + 5 * 5


@pytest.mark.parametrize("tag", ["table-8", "table-9"])
def test_the_papers_accuracies_have_its_two_digits_and_ours_one(tag):
    ((_, cell),) = tagged()[tag]
    told = "".join(o.data.get("text/html", "") for o in cell.outputs if "data" in o)
    cells = re.findall(r">([\d.]+) → ([\d.]+)<", told)
    digits = [{len(number.partition(".")[2]) for number in pair} for pair in cells]
    assert [digits.count({2}), digits.count({1})] == [60, 15] and len(cells) == 75
