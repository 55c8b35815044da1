"""Tables as HTML: headings, alignment, marks, folding; the same on every machine."""

import pytest
from bs4 import BeautifulSoup

from pidbook.figures import table
from tests.conftest import refusals

ROWS = [
    {"model": "a<b", "x": 1.26, "y": None, "note": "x & y"},
    {"model": "c", "x": 2.5, "y": 3.0, "note": "z"},
]


def soup(shown):
    return BeautifulSoup(shown._repr_html_(), "lxml")


def test_cells_hold_rounded_numbers_and_escaped_words():
    page = soup(table(ROWS, "Caption <i>", digits={"x": 1, "y": 0}))
    lines = [[cell.text for cell in row.select("th, td")] for row in page.select("tr")]
    assert lines[1:] == [["a<b", "1.3", "\N{EN DASH}", "x & y"], ["c", "2.5", "3", "z"]]
    assert page.caption.text == "Caption <i>" and not page.select("i, [id]")


def test_headings_have_a_scope_and_numbers_stand_right():
    page = soup(table(ROWS, "A table"))
    assert {th["scope"] for th in page.select("thead th")} == {"col"}
    assert [th["scope"] for th in page.select("tbody th")] == ["row", "row"]
    sides = [cell["style"] for cell in page.select("tbody tr")[0].select("th, td")]
    assert ["right" in side for side in sides] == [False, True, True, False]
    heads = [th["style"] for th in page.select("thead th")]
    assert ["right" in side for side in heads] == [False, True, True, False]


def test_marked_cells_are_red():
    page = soup(table(ROWS, "A table", marked=lambda row, column: row[column] == 2.5))
    assert [cell.text for cell in page.select("td") if "color" in cell["style"]] == ["2.500"]


@pytest.mark.parametrize(
    ("n", "folded", "is_folded"),
    [(12, None, False), (13, None, True), (2, True, True), (20, False, False)],
)
def test_a_long_table_is_folded(n, folded, is_folded):
    page = soup(table([{"k": k} for k in range(n)], "Numbers", folded=folded))
    assert bool(page.select("details")) == is_folded
    assert "Numbers" in (page.summary if is_folded else page.caption).text
    assert len(page.select("tbody tr")) == n


def test_a_terminal_gets_aligned_text():
    text = str(table([{"what": "base", "%": 81.0}, {"what": "P-D control", "%": 9.25}], "Right", 1))
    assert text.splitlines() == [
        "Right",
        "what            %",
        "base         81.0",
        "P-D control   9.2",
    ]


REFUSED = [
    (lambda: table([], "A"), "no rows"),
    (lambda: table([{"a": 1}, {"b": 2}], "A"), r"columns \['b'\]; the first has \['a'\]"),
]
test_what_makes_no_table_is_refused = refusals(REFUSED)
