"""Tables of chapters in the paper's layout: every number is there, in the paper's order."""

import re

import pytest

from pidbook.figures.colours import OURS, PAPER
from printed import ATTACKS, LAYOUTS, SHORTENED, TERMS, one_digit, read
from redrawn import FOLD, HTML, PLOTLY, chosen, in_print, in_violet, tagged


def stored(tag: str) -> list[str]:
    """The tables of the cell that has this tag."""
    ((_, cell),) = tagged()[tag]
    return [o.data[HTML] for o in cell.outputs if HTML in o.get("data", {})]


def lines(tag: str) -> list[list[str]]:
    """Heads and rows as the page shows them."""
    html, *_ = in_print(tag, "A title", stored(tag))
    heads, rows = read(html)
    return [heads, *rows]


def listed(cell: str) -> list[str]:
    """The entries of a cell that holds several."""
    return re.findall(r'<span class="listed">(.*?)</span>', cell)


@pytest.mark.parametrize("tag", LAYOUTS)
def test_a_table_is_short_and_what_it_leaves_out_is_folded(tag):
    first, *more = in_print(tag, "A title", stored(tag))
    assert "<details" not in first and all(FOLD.search(html) for html in more)
    assert len(read(first)[1]) <= 20
    assert (tag in SHORTENED) <= bool(more)


def test_table_3_lists_four_controls_a_cell_and_the_highest_is_bold():
    shown = lines("table-3")
    assert shown[0] == ["", *ATTACKS]
    assert [listed(cell) for cell in shown[1][1:]] == [list(TERMS)] * 4
    assert shown[2][0] == "DistilBERT"
    assert listed(shown[2][1]) == ["63.9", "62.4", "<b>65.7</b>", "65.0"]
    assert len(shown) == 2 + 5
    assert all(cell.count("<b>") == 1 for row in shown[2:] for cell in row[1:])


@pytest.mark.parametrize("data", ["SNLI", "MNLI"])
def test_the_outline_under_control_is_violet_on_the_papers_models_and_blue_on_ours(data):
    ((_, cell),) = tagged()["figure-1"]
    spec = in_violet(next(o.data[PLOTLY] for o in cell.outputs if PLOTLY in o.get("data", {})))
    ours, *theirs = [step["label"] for step in spec["layout"]["sliders"][0]["steps"]]
    for model, colour in {ours: OURS, theirs[0]: PAPER, theirs[-1]: PAPER}.items():
        traces = chosen(spec, [model, data, "AT"])["data"]
        assert [trace["line"]["color"] for trace in traces][1] == colour


def test_table_4_has_a_row_for_each_control_and_a_column_for_each_threshold():
    over, shown = lines("table-4")[0], lines("table-4")[1:]
    levels = ["99 %", "95 %", "90 %", "85 %"]
    assert over == ["", "on clean text", "under attack"] and shown[0] == ["threshold", *levels * 2]
    assert shown[1] == ["DistilBERT: bare model 87.2, attacked 38.3"]
    assert shown[2][:2] == ["formula", "85.9"] and shown[3][:2] == ["PMP", "<b>86.5</b>"]
    assert [row[0] for row in shown[-3:]] == ["formula", "PMP", "formula × 0.72"]
    assert len(shown) == 1 + 3 * (1 + 2) + (1 + 3)


def test_table_5_has_a_column_for_each_model():
    heads, rows = read(stored("table-5")[-1])
    shown = lines("table-5")
    assert shown[0] == ["", *(row[0] for row in rows)]
    first = dict(zip(heads, rows[0], strict=True))
    assert shown[1][:2] == ["P-D, paper", first["P-D: paper"]]
    assert shown[4][1] == f"{first['PMP: ours']} [{first['PMP: 95 %'].replace(' to ', ', ')}]"


def test_table_6_has_the_paper_by_depth_and_our_readings_at_its_first():
    shown = lines("table-6")
    assert shown[0] == ["", *ATTACKS]
    assert shown[1:3] == [["the paper"], ["6 layers", "3.22", "1.92", "3.22", "3.13"]]
    assert shown[4] == ["24 layers", "5.16", "3.30", "5.16", "5.29"]
    assert shown[5] == ["ours, 6 layers"] and len(shown) == 1 + 4 + 5


def test_table_7_has_the_papers_model_and_ours_with_ranks_and_lengths():
    shown = lines("table-7")
    assert [row for row in shown if len(row) == 1] == [["OPT-1.3B, paper"], ["MiniLM, ours"]]
    assert shown[2][:2] == ["rank of P, %", "9"]
    assert shown[5][:2] == ["outside all, attacked", "1.82"]
    assert shown[-1][:2] == ["outside D", "0.68 → 0.73"] and len(shown) == 1 + 5 + 7


@pytest.mark.parametrize("tag", ["table-8", "table-9"])
def test_tables_8_and_9_have_a_block_for_each_training_and_one_digit(tag):
    shown = lines(tag)
    blocks = [row[0] for row in shown if len(row) == 1]
    assert blocks == [f"{name} training" for name in ("standard", "AT", "FreeLB")]
    cells = re.findall(r"([\d.]+) → ([\d.]+)", " ".join(cell for row in shown for cell in row))
    assert {len(number.partition(".")[2]) for pair in cells for number in pair} == {1}
    assert len(cells) == 75


def test_numbers_are_rounded_half_up():
    assert one_digit("86.05 → 86.04, 7.5 and 12") == "86.1 → 86.0, 7.5 and 12"
