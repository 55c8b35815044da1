"""Run the chapter on robustness alone, print its numbers, write its figure as one page.

python tools/quick.py            run the chapter's code and write _build/quick/robustness.html
python tools/quick.py --readme   take the stored figure into book/_static/robustness.svg
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from html import escape
from pathlib import Path

import nbformat
import plotly.graph_objects as go
from nbclient import NotebookClient

from contents import ROOT
from notebooks import environment

CHAPTER = ROOT / "notebooks" / "10_robustness.ipynb"
PAGE = ROOT / "_build" / "quick" / "robustness.html"
README = ROOT / "book" / "_static" / "robustness.svg"
PLOTLY, SVG = "application/vnd.plotly.v1+json", "image/svg+xml"


def outputs(notebook: nbformat.NotebookNode, kind: str) -> list:
    """Outputs of one kind, in order."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [o.data[kind] for c in cells for o in c.outputs if kind in o.get("data", {})]


def printed(notebook: nbformat.NotebookNode) -> str:
    """All that the chapter prints."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return "\n".join(o.text for c in cells for o in c.outputs if o.get("name") == "stdout")


def executed() -> nbformat.NotebookNode:
    """The chapter, run anew; the file stays as it is."""
    notebook = nbformat.read(CHAPTER, as_version=4)
    place = {"metadata": {"path": str(ROOT / "notebooks")}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute(
        env=environment()
    )
    return notebook


def put(path: Path, text: str) -> None:
    """Write whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def main() -> int:
    """Door of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--readme", action="store_true", help="only store the README's figure")
    if parser.parse_args().readme:
        put(README, outputs(nbformat.read(CHAPTER, as_version=4), SVG)[0])
        return 0
    start = time.perf_counter()
    print("Running the chapter on robustness ...", flush=True)
    notebook = executed()
    figures = [go.Figure(dict(spec)) for spec in outputs(notebook, PLOTLY)]
    parts = [f.to_html(full_html=False, include_plotlyjs=k == 0) for k, f in enumerate(figures)]
    text = printed(notebook)
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Robustness</title>'
    put(PAGE, head + "".join(parts) + f"<pre>{escape(text)}</pre></html>")
    print(text)
    print(f"{time.perf_counter() - start:.0f} s. Open {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
