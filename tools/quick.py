"""Run the chapter on robustness alone, and write its pictures and tables as one page.

python tools/quick.py            run the chapter's code and write _build/quick/robustness.html
python tools/quick.py --readme   take the fair trial's headline into book/_static/headline.svg
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from html import escape

import nbformat
import plotly.graph_objects as go

from contents import ROOT, write_whole
from notebooks import executed

CHAPTER = ROOT / "notebooks" / "10_robustness.ipynb"
PAGE = ROOT / "_build" / "quick" / "robustness.html"
README = ROOT / "book" / "_static" / "headline.svg"
PLOTLY, SVG = "application/vnd.plotly.v1+json", "image/svg+xml"


def headline() -> str:
    """The picture of the README and of the front page: what the adaptive attack leaves."""
    cells = nbformat.read(CHAPTER, as_version=4).cells
    tagged = next(cell for cell in cells if "headline" in cell.metadata.get("tags", ()))
    return tagged.outputs[0].data[SVG]


def parts(cell: nbformat.NotebookNode) -> Iterator[str]:
    """HTML of what a cell showed, the first sentence of its caption above it."""
    outputs = () if "remove-output" in cell.metadata.get("tags", ()) else cell.get("outputs", ())
    if outputs and (figure := cell.metadata.get("mystnb", {}).get("figure")):
        yield f"<h2>{escape(figure['caption'].split('**')[1].replace('*', ''))}</h2>"
    for output in outputs:
        data = output.get("data", {})
        if PLOTLY in data:
            yield go.Figure(dict(data[PLOTLY])).to_html(full_html=False)
        elif html := data.get(SVG) or data.get("text/html"):
            yield html
        elif "text" in output:
            yield f"<pre>{escape(output.text)}</pre>"


def as_page(notebook: nbformat.NotebookNode) -> str:
    """The pictures and tables of a chapter that was run, as one page."""
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Robustness</title>'
    style = "<style>body {max-width: 46rem; margin: auto; font-family: sans-serif}</style>"
    top = "<h1>Robustness</h1><p>What the chapter says of these: <code>make book</code>.</p>"
    shown = "\n".join(part for cell in notebook.cells for part in parts(cell))
    return f"{head}{style}{top}{shown}</html>"


def main() -> int:
    """Door of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--readme", action="store_true", help="only store the README's figure")
    if parser.parse_args().readme:
        write_whole(README, headline())
        return 0
    start = time.perf_counter()
    print("Running the chapter on robustness ...", flush=True)
    notebook = executed(CHAPTER)
    write_whole(PAGE, as_page(notebook))
    print(f"{time.perf_counter() - start:.0f} s. Open {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
