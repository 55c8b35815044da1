"""Stored chapters are whole, and the tool that says so sees what is wrong."""

import configparser
import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from contents import ROOT, in_toc
from notebooks import normalise, problems, write

CHAPTERS = in_toc()
by_name = pytest.mark.parametrize("path", CHAPTERS, ids=[path.stem for path in CHAPTERS])


@by_name
def test_chapter_is_stored_whole(path):
    assert problems(path) == []


@by_name
def test_chapter_is_in_the_one_form(path, tmp_path):
    stored = nbformat.read(path, as_version=4)
    write(normalise(stored), tmp_path / path.name)
    same = (tmp_path / path.name).read_text() == path.read_text()
    assert same, f"run: python tools/notebooks.py normalise {path.relative_to(ROOT)}"


@by_name
def test_chapter_has_its_frame(path):
    cells = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for heading in ("What to remember", "What this does not show"):
        assert re.search(rf"^##+ {heading}", text, re.M), f"no heading {heading!r}"
    drawn = next(k for k, cell in enumerate(cells) if "figure" in cell.metadata.get("mystnb", {}))
    assert any("use_book_style()" in cell.source for cell in cells[: drawn + 1])


def test_names_of_figures_and_labels_are_unique_in_the_book():
    names: Counter[str] = Counter()
    for path in CHAPTERS:
        for cell in nbformat.read(path, as_version=4).cells:
            names[cell.metadata.get("mystnb", {}).get("figure", {}).get("name", "")] += 1
            if cell.cell_type == "markdown":
                names.update(re.findall(r"^:label: (\S+)", cell.source, re.M))
    assert [name for name, count in names.items() if name and count > 1] == []


NAMED = {"name": "fig-a", "caption": "A."}


def measured(caption):
    """Metadata of a figure with this caption."""
    figure = {"name": "fig-b", "caption": caption}
    return {"mystnb": {"figure": figure, "image": {"alt": "A line that rises steadily."}}}


DRAWN = {"mystnb": {"figure": NAMED, "image": {"alt": "A line that rises steadily."}}}


def good() -> nbformat.NotebookNode:
    shown = new_output("display_data", data={"image/svg+xml": "<svg/>", "text/plain": "<Figure>"})
    first = new_code_cell("1 + 1", execution_count=1)
    second = new_code_cell("fig", execution_count=2, outputs=[shown], metadata=DRAWN)
    return new_notebook(cells=[new_markdown_cell("# A"), first, second])


def told(notebook: nbformat.NotebookNode, folder: Path) -> str:
    path = folder / "a.ipynb"
    write(normalise(notebook), path)
    return "\n".join(problems(path))


def printed(text, stream="stdout"):
    return {"outputs": [new_output("stream", name=stream, text=text)]}


ERROR = {"outputs": [new_output("error", ename="ValueError", evalue="no", traceback=[])]}


SPOILT = [
    (2, {"execution_count": 3}, "in order"),
    (1, {"execution_count": None}, "in order"),
    (1, ERROR, "error output ValueError"),
    (1, ERROR | {"metadata": {"tags": ["raises-exception"]}}, ""),
    (1, printed("Warning", "stderr"), "stderr"),
    (1, printed("in /" + "home/me/a.txt"), "a path of this machine"),
    (1, printed("line\n" * 13), "13 lines printed, at most 12"),
    (2, {"metadata": {"mystnb": {"figure": NAMED}}}, "without alt text"),
    (2, {"metadata": {"mystnb": {"figure": {"name": "fig-a"}}}}, "without caption"),
    (1, {"metadata": DRAWN}, "used twice"),
    (2, {"metadata": measured("A. Measured: MiniLM.")}, "a caption ends [Measured: model"),
    (2, {"metadata": measured("A. [Measured: MiniLM · SNLI]{.measured}")}, ""),
]


@pytest.mark.parametrize(("cell", "change", "says"), SPOILT)
def test_check_sees(cell, change, says, tmp_path):
    notebook = good()
    assert told(notebook, tmp_path) == ""
    notebook.cells[cell].update(nbformat.from_dict(change))
    found = told(notebook, tmp_path)
    assert says in found if says else found == ""
    assert problems(tmp_path / "none.ipynb") == ["the file is missing"]


def test_normalise_is_stable_and_drops_what_changes():
    notebook = good()
    notebook.cells[1].metadata["execution"] = {"iopub.execute_input": "2026-01-01"}
    pieces = [new_output("stream", name="stdout", text=text) for text in ("a\n", "b\n")]
    notebook.cells[1].outputs = pieces
    once = nbformat.writes(normalise(notebook))
    assert nbformat.writes(normalise(nbformat.reads(once, as_version=4))) == once
    assert "2026-01-01" not in once
    assert notebook.cells[1].outputs[0].text == "a\nb\n" and len(notebook.cells[1].outputs) == 1
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)


def test_sanitiser_leaves_numbers_alone():
    config = configparser.RawConfigParser()
    config.read(ROOT / "tests" / "nbval_sanitize.cfg")
    text = "base 81 100 81.0 72.2 to 87.5, rank 323, 1.5e-12"
    for section in config.sections():
        text = re.sub(config[section]["regex"], config[section]["replace"], text)
    assert text == "base 81 100 81.0 72.2 to 87.5, rank 323, 1.5e-12"
    svg = '<?xml version="1.0"?><svg>\n1\n</svg>\n'
    assert re.sub(config.get(config.sections()[-1], "regex"), "SVG", svg) == "SVG"
