"""Cells of the chapters can be read, and what makes one hard to read is found."""

import pytest

from contents import code, in_toc, pages
from reading import complaints, site_words, source_words, words

FAULTS = {
    "x = 1" + " + 1" * 30: "columns",
    "print(1), print(2)": "joined by a comma",
    "[print(k) for k in (1, 2)]": "for its effect",
    "x = 0\nx or print(x)": "for its effect",
    "a, b, c = 1, 2, 3": "three things",
    "print(y := 2)": "inside an expression",
    "assert 1 == 1": "before the last cell",
}


@pytest.mark.parametrize("path", in_toc(), ids=lambda path: path.stem)
def test_cells_of_a_chapter_can_be_read(path):
    assert complaints(code(path)) == []


@pytest.mark.parametrize("fault", FAULTS, ids=FAULTS.values())
def test_a_cell_that_is_hard_to_read_is_found(fault):
    (found,) = complaints([fault, "1"])
    assert FAULTS[fault] in found and found.startswith("cell 1: ")


def test_the_last_cell_may_assert():
    assert complaints(["x = 1", "assert x == 1"]) == []


def test_words_are_counted_open_and_folded():
    text = "Two words.\n\n:::{dropdown} A title\nthree words here\n:::\n\nOne $x + y$ [link](a.md)."
    assert words(text) == (4, 5)
    text = "One.\n\n```python\nnot this\n```\n\n$$\nx = y\n$$\n\n```{math}\n:label: a\nx\n```\n"
    assert words(text) == (1, 0)


def test_words_of_a_built_page_leave_out_code_and_what_is_folded(tmp_path):
    page = tmp_path / "a.html"
    page.write_text(
        "<html><article class='bd-article'><h1>One title</h1><pre>no</pre> tail"
        "<details><summary>shown</summary><p>two folded</p></details>"
        "<span class='math notranslate'>x</span></article></html>"
    )
    assert site_words(page) == (4, 2)


def test_the_book_is_half_as_long_as_it_was():
    """Half of 101,000 words open and of 268,000 with every fold, over all pages of _toc.yml."""
    opened, folded = (sum(counts) for counts in zip(*map(source_words, pages()), strict=True))
    assert opened <= 50_000
    assert opened + folded <= 110_000
