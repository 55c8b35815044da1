"""A picture of a chapter on another page: the stored outputs of the cell that has a tag."""

from __future__ import annotations

import re
from collections import defaultdict
from copy import deepcopy
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from bookassets import PLOTLY, alt, plotly_box, svg_box
from bookfigures import as_box, caption, captioned
from contents import in_toc
from printed import LAYOUTS, SHORTENED

SVG, HTML = "image/svg+xml", "text/html"
FOLD = re.compile(r'<details class="book-numbers"><summary>(.*?) \(\d+ rows?\)</summary>')
TITLED = '<div class="book-table-box" tabindex="0"><p class="book-table-title">{}</p>{}</div>'
# A caption: its finding in bold, how to read it, and what was measured
KEY = re.compile(r"\s*\*\*.*?\*\*\s*(.*?)\s*(\[Measured: [^\]]*\]\{\.measured\})?", re.DOTALL)
GREY = "0.7"  # of the bare model in a radar plot, in both themes


class FromChapter(SphinxDirective):
    """The picture of one cell, its numbers beneath, its caption, and a link to the chapter.

    The argument is a tag of the cell; option `slim` leaves the numbers out, and `choose` is what
    lists choose at first, on the paper's models in violet. In the caption `{key}` is the
    chapter's, less its finding; what was measured then stands last.
    """

    required_arguments = 1
    has_content = True
    option_spec = dict(
        slim=directives.flag,
        choose=directives.unchanged_required,
    )

    def run(self):
        cell = tagged_cell(self)
        figure = nodes.figure("", classes=["from-chapter"])
        tables = []
        for data in (output.get("data", {}) for output in cell.outputs):
            if kind := next((kind for kind in (SVG, PLOTLY) if kind in data), None):
                content = data[kind]
                if names := self.options.get("choose"):
                    content = chosen(in_violet(content), names.split(", "))
                figure += nodes.raw(text=box(kind, content, cell), format="html")
            elif HTML in data and "slim" not in self.options:
                tables.append(str(data[HTML]))
        for html in tables:
            figure += nodes.raw(text=breakable(html), format="html")
        said = cell.metadata["mystnb"]["figure"]["caption"]
        key, measured = KEY.fullmatch(said).groups()
        text = "\n".join(self.content)
        if "{key}" in text:
            text = text.replace("{key}", key) + f" {measured or ''}"
        figure += caption(self, text)
        return [figure]


class Numbers(SphinxDirective):
    """The numbers of a cell, open, in the paper's layout; the body is their title."""

    required_arguments = 1
    has_content = True

    def run(self):
        cell = tagged_cell(self)
        tables = [of["data"][HTML] for of in cell.outputs if HTML in of.get("data", {})]
        shown = in_print(self.arguments[0], "\n".join(self.content), tables)
        box = nodes.container("", classes=["from-chapter"])
        box += [nodes.raw(text=breakable(html), format="html") for html in shown]
        return [box]


def tagged_cell(directive: SphinxDirective) -> nbformat.NotebookNode:
    """The one cell that has the tag which a directive names; its page follows the chapter."""
    tag = directive.arguments[0]
    places = tagged().get(tag, [])
    if len(places) != 1:
        raise directive.error(f"{len(places)} cells have the tag {tag!r}; it needs exactly one")
    path, cell = places[0]
    directive.env.note_dependency(str(path))
    return cell


def in_print(tag: str, title: str, tables: list[str]) -> list[str]:
    """The cell's numbers in the paper's layout; then, folded, the tables that hold more."""
    titled = {}
    for html in tables:
        fold = FOLD.search(html)
        titled[fold[1] if fold else title] = html
    more = [html for name, html in titled.items() if tag in SHORTENED or "gains" in name.lower()]
    return [TITLED.format(title, LAYOUTS[tag](titled)), *more]


class Radars(SphinxDirective):
    """The radar plots of all models, side by side, from the cell with a tag; the body captions them.

    Options `data` and `training` are what the lists of that cell choose.
    """

    required_arguments = 1
    has_content = True
    option_spec = dict(data=directives.unchanged_required, training=directives.unchanged_required)

    def run(self):
        cell = tagged_cell(self)
        (spec,) = (of["data"][PLOTLY] for of in cell.outputs if PLOTLY in of.get("data", {}))
        ours, *theirs = [step["label"] for step in spec["layout"]["sliders"][0]["steps"]]
        choice = [self.options["data"], self.options["training"]]
        spec = in_violet(spec)
        plots = {model: chosen(spec, [model, *choice])["data"] for model in (*theirs, ours)}
        return [captioned(self, radars(plots), "\n".join(self.content))]


def radars(plots: dict[str, list[dict]]) -> str:
    """HTML of the outlines of each model, traces of plotly, in a plot of its own, ours last."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from pidbook.figures import table, use_book_style

    use_book_style()
    with rc_context({"font.size": 12}):
        fig = Figure(figsize=(6.4, 8.6), layout="constrained")
        panels = fig.subplots(3, 2).flat
    for panel, (model, traces) in zip(panels, plots.items(), strict=False):
        _radar(panel, traces, panel is fig.axes[len(plots) - 1])
        panel.set_title(model, fontsize=12, fontweight="bold", pad=10)
    key = fig.axes[len(plots)]
    key.axis("off")
    (_, theirs), (bare, *held) = [
        fig.axes[place].get_legend_handles_labels()[0] for place in (0, len(plots) - 1)
    ]
    names = "bare model", "transfer, the paper's", "transfer, ours", "adaptive, ours"
    key.legend([bare, theirs, *held], names, loc="center", handlelength=1.5)
    rows = [
        {"model": model, "": trace["name"]} | dict(zip(trace["theta"], trace["r"], strict=True))
        for model, traces in plots.items()
        for trace in traces
        if trace["r"][0] is not None
    ]
    shown = table(rows, "Accuracy in %", digits=1, folded=True)
    return as_box(fig, f"Radar plots of {len(plots)} models: {', '.join(plots)}") + shown.html


def _radar(panel, traces: list[dict], rings: bool) -> None:
    """Outlines about a centre, the first corner on top; the outer ring is named, all if `rings`."""
    from pidbook.figures import ATTACKER, INK

    names = traces[0]["theta"]
    turns = np.linspace(0, 2 * np.pi, len(names))
    corners = np.stack([np.sin(turns), np.cos(turns)])
    for ring in (50, 100):
        panel.plot(*(ring * corners), color=INK, linewidth=0.4, alpha=0.6)
        lowest = ring * corners[:, 2:4].mean(axis=1)  # the middle of the edge below
        if ring == 100 or rings:
            panel.text(*lowest, f"{ring} %", fontsize=10, ha="center", va="bottom")
    for x, y in corners.T[:-1]:
        panel.plot([0, 100 * x], [0, 100 * y], color=INK, linewidth=0.4, alpha=0.6)
    for name, (x, y) in zip(names[:-1], corners.T, strict=False):
        look = dict(ha="center", va="bottom" if y > 0 else "top", fontsize=11)
        panel.text(118 * x, 105 * y, name, **look)
    for trace in traces:
        if trace["r"][0] is None:  # not measured
            continue
        outline, line = trace["r"] * corners, trace["line"]
        colour = GREY if line["color"] == INK else line["color"]
        width, dash = {GREY: (3, "-"), ATTACKER: (1.8, "--")}.get(colour, (1.3, "-"))
        panel.plot(*outline, dash, color=colour, linewidth=width, label=trace["name"])
        if trace["fill"] == "toself":
            panel.fill(*outline, color=colour, alpha=0.12, linewidth=0)
    panel.set(aspect="equal", xlim=(-140, 140), ylim=(-105, 115))
    panel.axis("off")


def breakable(html: str) -> str:
    """Long names of a table may break, on a telephone."""
    return re.sub(r">(Text|Distil)(?=[A-Z][A-Za-z]+<)", r">\1&shy;", html)


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
    picture, data = spec["layout"]["meta"]["pictures"][place], []
    shown = (picture[key] for key in ("r", "visible", "line.color"))
    for trace, r, visible, colour in zip(spec["data"], *shown, strict=True):
        line = trace["line"] | {"color": colour}
        data.append(trace | {"r": r, "visible": visible, "line": line})
    return spec | {"data": data}


def in_violet(spec: dict) -> dict:
    """A figure with lists, models first: what is blue is violet on all models but the first, ours."""
    from pidbook.figures.colours import OURS, PAPER

    spec = deepcopy(spec)
    own = [trace["line"]["color"] for trace in spec["data"]]
    theirs = [PAPER if colour == OURS else colour for colour in own]
    pictures = spec["layout"]["meta"]["pictures"]
    of_ours = len(pictures) // len(spec["layout"]["sliders"][0]["steps"])
    for place, picture in enumerate(pictures):
        colours = own if place < of_ours else theirs
        faces = [
            f"rgba({int(c[1:3], 16)},{int(c[3:5], 16)},{int(c[5:], 16)},0.12)" for c in colours
        ]
        picture.update({"line.color": colours, "fillcolor": faces})
    return spec


def box(kind: str, content: object, cell: nbformat.NotebookNode) -> str:
    """One output as the chapter shows it."""
    data = SimpleNamespace(string=content, content=content, cell_metadata=cell.metadata)
    if kind == SVG:
        return svg_box(data)
    return plotly_box(content, alt(data)) if kind == PLOTLY else str(content)


def setup(app):
    app.add_directive("from-chapter", FromChapter)
    app.add_directive("radars", Radars)
    app.add_directive("numbers", Numbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
