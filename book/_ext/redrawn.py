"""A picture of a chapter on another page: the stored outputs of the cell that has a tag."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import nbformat
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from bookassets import PLOTLY, alt, plotly_box, svg_box
from bookfigures import caption
from contents import in_toc

SVG, HTML = "image/svg+xml", "text/html"


class FromChapter(SphinxDirective):
    """The picture of one cell, its numbers folded beneath, its caption, and a link to the chapter.

    The argument is a tag of the cell; option `slim` leaves the numbers out, `own` begins with the
    caption that the chapter gives.
    """

    required_arguments = 1
    has_content = True
    option_spec = {"slim": directives.flag, "own": directives.flag}

    def run(self):
        tag = self.arguments[0]
        places = tagged().get(tag, [])
        if len(places) != 1:
            raise self.error(f"{len(places)} cells have the tag {tag!r}; it needs exactly one")
        path, cell = places[0]
        self.env.note_dependency(str(path))
        figure = nodes.figure("", classes=["from-chapter"])
        kinds = (SVG, PLOTLY) if "slim" in self.options else (SVG, PLOTLY, HTML)
        for output in cell.outputs:
            for kind in kinds:
                if kind in output.get("data", {}):
                    figure += nodes.raw(text=box(kind, output.data[kind], cell), format="html")
                    break
        lines = list(self.content)
        if "own" in self.options:
            lines = [" ".join([cell.metadata["mystnb"]["figure"]["caption"], *lines])]
        figure += caption(self, "\n".join(lines))
        return [figure]


@cache
def tagged() -> dict[str, list[tuple[Path, nbformat.NotebookNode]]]:
    """The cells of all chapters by their tags."""
    places = defaultdict(list)
    for path in in_toc():
        for cell in nbformat.read(path, as_version=4).cells:
            for tag in cell.metadata.get("tags", ()):
                places[tag].append((path, cell))
    return places


def box(kind: str, content: object, cell: nbformat.NotebookNode) -> str:
    """One output as the chapter shows it."""
    data = SimpleNamespace(string=content, content=content, cell_metadata=cell.metadata)
    if kind == SVG:
        return svg_box(data)
    return plotly_box(content, alt(data)) if kind == PLOTLY else str(content)


def setup(app):
    app.add_directive("from-chapter", FromChapter)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
