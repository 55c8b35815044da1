"""A picture of a chapter on another page: the stored outputs of the cell that has a tag."""

from __future__ import annotations

import re
from collections import defaultdict
from copy import deepcopy
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
from printed import in_blocks, turned

SVG, HTML = "image/svg+xml", "text/html"
FOLD = re.compile(
    r'<details class="book-numbers"><summary>(.*?) \((\d+) rows?\)</summary>(.*?)</details>', re.S
)
TITLED = '<p class="book-table-title">{}</p>{}'
LONGEST = 24  # rows of a table that is opened


class FromChapter(SphinxDirective):
    """The picture of one cell, its numbers folded beneath, its caption, and a link to the chapter.

    The argument is a tag of the cell; option `slim` leaves the numbers out, `unfold` opens them but
    for a table whose title begins with `fold`, `own` begins with the caption that the chapter gives, less its finding in bold, `choose` names
    what the lists of a plotly figure choose first. The last table takes the paper's layout by
    `turn`, rows as columns, or by `blocks`, three columns that become blocks, rows and columns, and
    `cells`, what a cell lists, or, by `rows`, what has a row each.
    """

    required_arguments = 1
    has_content = True
    option_spec = dict(
        slim=directives.flag,
        unfold=directives.flag,
        fold=directives.unchanged,
        own=directives.flag,
        choose=directives.unchanged,
        turn=directives.flag,
        blocks=directives.unchanged,
        cells=directives.unchanged,
        rows=directives.flag,
    )

    def run(self):
        tag = self.arguments[0]
        places = tagged().get(tag, [])
        if len(places) != 1:
            raise self.error(f"{len(places)} cells have the tag {tag!r}; it needs exactly one")
        path, cell = places[0]
        self.env.note_dependency(str(path))
        figure = nodes.figure("", classes=["from-chapter"])
        kinds = (SVG, PLOTLY) if "slim" in self.options else (SVG, PLOTLY, HTML)
        drawn = [output.get("data", {}) for output in cell.outputs]
        for data in drawn:
            if kind := next((kind for kind in kinds if kind in data), None):
                content = data[kind]
                if "choose" in self.options:
                    content = chosen(content, self.options["choose"].split(", "))
                shown = box(kind, content, cell)
                if kind == HTML:
                    shown = breakable(self.laid_out(shown) if data is drawn[-1] else shown)
                if "unfold" in self.options:
                    shown = unfolded(shown, self.options.get("fold"))
                figure += nodes.raw(text=shown, format="html")
        lines = list(self.content)
        if "own" in self.options:
            said = cell.metadata["mystnb"]["figure"]["caption"]
            said = re.sub(r"\s*\*\*.*?\*\*", "", said, count=1).strip()
            lines = [" ".join([said, *lines])]
        figure += caption(self, "\n".join(lines))
        return [figure]

    def laid_out(self, html: str) -> str:
        """A table as the paper prints it, open, where an option asks for that."""
        if "turn" in self.options:
            return FOLD.sub(lambda m: TITLED.format(m[1], turned(m[3])), html)
        if "blocks" in self.options:
            by, cells = self.options["blocks"].split(", "), self.options["cells"].split("; ")
            rows = "rows" in self.options
            return FOLD.sub(lambda m: TITLED.format(m[1], in_blocks(m[3], by, cells, rows)), html)
        return html


def breakable(html: str) -> str:
    """Long names of a table may break, on a telephone."""
    return re.sub(r">(Text|Distil)(?=[A-Z][A-Za-z]+<)", r">\1&shy;", html)


def unfolded(html: str, but: str | None = None) -> str:
    """Tables of numbers without their folds, but for long ones, and titles that begin so."""

    def opened(match: re.Match) -> str:
        keep = int(match[2]) > LONGEST or (but and match[1].startswith(but))
        return match[0] if keep else TITLED.format(match[1], match[3])

    return FOLD.sub(opened, html)


@cache
def tagged() -> dict[str, list[tuple[Path, nbformat.NotebookNode]]]:
    """The cells of all chapters by their tags."""
    places = defaultdict(list)
    for path in in_toc():
        for cell in nbformat.read(path, as_version=4).cells:
            for tag in cell.metadata.get("tags", ()):
                places[tag].append((path, cell))
    return places


def chosen(spec: dict, names: list[str]) -> dict:
    """A figure with lists, in which these are chosen, a name a list."""
    spec, place = deepcopy(spec), 0
    for dial, name in zip(spec["layout"]["sliders"], names, strict=True):
        dial["active"] = [step["label"] for step in dial["steps"]].index(name)
        place = place * len(dial["steps"]) + dial["active"]
    shown = spec["layout"]["meta"]["pictures"][place]["r"]
    return spec | {"data": [t | {"r": r} for t, r in zip(spec["data"], shown, strict=True)]}


def box(kind: str, content: object, cell: nbformat.NotebookNode) -> str:
    """One output as the chapter shows it."""
    data = SimpleNamespace(string=content, content=content, cell_metadata=cell.metadata)
    if kind == SVG:
        return svg_box(data)
    return plotly_box(content, alt(data)) if kind == PLOTLY else str(content)


def setup(app):
    app.add_directive("from-chapter", FromChapter)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
