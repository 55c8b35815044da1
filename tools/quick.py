"""Run the chapter on robustness alone, print its numbers, write its figure as one page.

python tools/quick.py            run the chapter's code and write _build/quick/robustness.html
python tools/quick.py --readme   take the fair trial's headline into book/_static/headline.svg
"""

from __future__ import annotations

import argparse
import sys
import time
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
    """The picture of the README and of the front page: what is left once the attacker looks."""
    cells = nbformat.read(ROOT / "notebooks" / "16_fair_trial.ipynb", as_version=4).cells
    tagged = next(cell for cell in cells if "headline" in cell.metadata.get("tags", ()))
    return tagged.outputs[0].data[SVG]


def printed(output: nbformat.NotebookNode) -> str:
    """What a cell printed, or the text of a table that it showed."""
    data = output.get("data", {})
    return data["text/plain"] + "\n" if "text/html" in data else output.get("text", "")


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
    shown = [o for cell in notebook.cells for o in cell.get("outputs", ())]
    figures = [go.Figure(dict(o.data[PLOTLY])) for o in shown if PLOTLY in o.get("data", {})]
    parts = [f.to_html(full_html=False, include_plotlyjs=k == 0) for k, f in enumerate(figures)]
    text = "\n".join(map(printed, shown))
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Robustness</title>'
    write_whole(PAGE, head + "".join(parts) + f"<pre>{escape(text)}</pre></html>")
    print(text)
    print(f"{time.perf_counter() - start:.0f} s. Open {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
