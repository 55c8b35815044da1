"""Figures and mathematics from local copies: no page of the book asks another host for a file.

Five things Sphinx does not do by itself: draw stored plotly figures, put matplotlib's SVG into
the page so that its ink follows the theme, fold a program without output with the next figure's,
serve MathJax and plotly.js from installed packages, and leave a way from the old addresses of
chapters to the new.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from html import escape
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import myst_nb.sphinx_
from docutils import nodes
from myst_nb.core import render
from sphinx.transforms.post_transforms import SphinxPostTransform

# What the extensions import; this one is loaded first.
sys.path[:0] = [str(Path(__file__).resolve().parents[2] / name) for name in (".", "tools")]

PLOTLY = "application/vnd.plotly.v1+json"
TELEPHONE, COLUMN = 340, 680  # pixels of width that a figure has there and on a desktop
TALLEST = 600  # pixels of height up to which a figure is widened
READABLE = 8  # pixels of a letter's size
MARKS = re.compile(r"[.,;:!?)\]’”]+")
WHOLE = re.compile(r"\b(P-I-D|P-I|P-D|\d{4}-\d\d-\d\d)\b")
VERBATIM = (nodes.raw, nodes.literal, nodes.literal_block, nodes.math, nodes.math_block)
INK = "#7a7f87"  # the ink of pidbook.figures.style


class PlotlyMime:
    """Renderer of myst-nb: a plotly figure becomes a box that holds its JSON."""

    mime_priority_overrides = [(name, PLOTLY, 5) for name in ("html", "dirhtml", "singlehtml")]

    @staticmethod
    def handle_mime(renderer, data, inline):
        if inline:
            return None
        if data.mime_type == "image/svg+xml":
            return [nodes.raw(text=svg_box(data), format="html", classes=["output", "svg"])]
        if data.mime_type == PLOTLY:
            box = plotly_box(data.content, alt(data))
            return [nodes.raw(text=box, format="html", classes=["output", "plotly"])]
        return None


def alt(data) -> str:
    """Alt text of a figure, from the cell's metadata."""
    return escape(data.cell_metadata.get("mystnb", {}).get("image", {}).get("alt", ""), quote=True)


def plotly_box(content, words: str) -> str:
    """A plotly figure for the page, with its alt text."""
    spec = dict(content)
    text = json.dumps(spec, separators=(",", ":")).replace("<", "\\u003c")
    height = int(spec.get("layout", {}).get("height", 450))
    return (
        f'<div class="book-plotly" role="figure" aria-label="{words}"'
        f' style="min-height:{height}px"><script type="application/json">{text}</script>'
        f"<noscript>{frozen(spec, words)}</noscript></div>"
    )


def frozen(spec: dict, words: str) -> str:
    """The figure without JavaScript: a still, and where its sliders stand."""
    from stills import still  # slow to import

    drawn, stand = still(spec)
    picture = svg_box(SimpleNamespace(string=drawn, cell_metadata={}))
    picture = picture.replace('aria-label=""', f'aria-label="{words}"')
    return f"{picture}<p>A still: to move it needs JavaScript. Here {escape(stand)}.</p>"


def svg_box(data) -> str:
    """Matplotlib's SVG for the page: its ink follows the theme, its ids are unique."""
    svg = data.string[data.string.index("<svg") :]
    tag = "m" + hashlib.sha256(svg.encode()).hexdigest()[:8] + "-"
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'\bid="', 'id="' + tag, svg)
    svg = re.sub(r'href="#', 'href="#' + tag, svg)
    svg = svg.replace("url(#", "url(#" + tag).replace(INK, "currentColor")
    size = re.search(r'<svg[^>]*?width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    style, scrolls = "", ""
    if size:  # one of matplotlib's
        points, height = map(float, size.groups())
        # as wide as the column, but not so high that it no longer stands on a screen
        wide = max(points * 4 / 3, min(COLUMN, TALLEST * points / height))
        style = f"--widest:{wide:.0f}px"
        if (width := narrowest(svg, points)) > TELEPHONE:  # then it scrolls there, by keyboard too
            style, scrolls = f"{style};--narrowest:{width}px", ' tabindex="0"'
    words = f'role="img" aria-label="{alt(data)}"{scrolls} style="{style}"'
    return f'<div class="book-svg" {words}>{svg}</div>'


def narrowest(svg: str, points: float) -> int:
    """Pixels of width at which the smallest letters of a figure so wide are just readable."""
    # matplotlib draws letters as shapes of 100 units, scaled down; an exponent has a scale of its own
    letters = [100 * float(scale) for scale in re.findall(r"scale\(([\d.]+) -[\d.]+\)", svg)]
    return min(round(points * READABLE / min(letters, default=2 * READABLE)), COLUMN)


class JoinPrograms(SphinxPostTransform):
    """A hidden program without output is folded with the next one: one fold, beneath its figure."""

    default_priority = 190  # before the programs are folded
    formats = ("html",)

    def run(self, **kwargs):
        cells = (c for c in self.document.findall(nodes.container) if c.get("hide_mode") == "input")
        for cell, after in pairwise(list(cells)):
            if len(cell) == 1 and cell.next_node(descend=False, siblings=True) is after:
                after[0][:0] = cell[0].children
                cell.parent.remove(cell)


class KeepMarks(SphinxPostTransform):
    """No line ends after a formula before its mark, before a percent sign, or in P-I-D or a date."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs):
        for formula in list(self.document.findall(nodes.math)):
            line = formula.parent
            at = line.index(formula)
            after = line[at + 1] if at + 1 < len(line) else None
            mark = isinstance(after, nodes.Text) and MARKS.match(after.astext())
            if mark:
                line[at] = nodes.inline("", "", formula, nodes.Text(mark[0]), classes=["keep"])
                line[at + 1] = nodes.Text(after.astext()[mark.end() :])
        for text in list(self.document.findall(nodes.Text)):
            line = text.parent
            if re.search(r"\d %", text) and not isinstance(line, VERBATIM):
                line.replace(text, nodes.Text(re.sub(r"(\d) %", "\\1\u00a0%", text)))
        for text in list(self.document.findall(nodes.Text)):
            line, parts = text.parent, WHOLE.split(text)
            if len(parts) > 1 and not isinstance(line, VERBATIM):
                found = [  # every other part is the name of a scheme, or a date
                    nodes.inline("", part, classes=["keep"]) if k % 2 else nodes.Text(part)
                    for k, part in enumerate(parts)
                    if part
                ]
                line.replace(text, found)


def package(name: str) -> Path:
    """Folder of an installed package."""
    return Path(find_spec(name).origin).parent


def page_context(app, pagename, templatename, context, doctree):
    if context.get("body"):  # the entries of a list: docutils gives them a role that is deprecated
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')
    if doctree is not None and any(
        'class="book-plotly"' in node.astext() for node in doctree.findall(nodes.raw)
    ):
        app.add_js_file("book-plotly.js", loading_method="defer")


def copy_assets(app, error):
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    static.mkdir(exist_ok=True)
    shutil.copyfile(package("plotly") / "package_data/plotly.min.js", static / "plotly.min.js")
    source, target = package("sphinx-mathjax-offline") / "static/mathjax", static / "mathjax"
    target.mkdir(exist_ok=True)
    shutil.copyfile(source / "tex-mml-chtml.js", target / "tex-mml-chtml.js")
    fonts = "output/chtml/fonts"
    shutil.copytree(source / fonts, target / fonts, dirs_exist_ok=True)
    for path in static.rglob("*.map"):  # for who debugs the theme: megabytes that no reader needs
        path.unlink()


REDIRECT = """<!doctype html><meta charset="utf-8"><title>Moved</title>
<script>location.replace("{0}" + location.hash)</script>
<meta http-equiv="refresh" content="1; url={0}">
<p>This page has moved to <a href="{0}">{0}</a>.</p>
"""


def write_redirects(app, error) -> None:
    """Pages at old addresses that lead to the new."""
    from contents import MOVED  # of tools/, found by the path set above

    for old, new in MOVED.items() if not error and app.builder.format == "html" else ():
        page = Path(app.outdir) / f"{old}.html"
        page.write_text(REDIRECT.format(f"../{new}.html"), encoding="utf-8")


def clear_downloads(app, error) -> None:
    """Notebooks to download without their outputs, which the page shows: a third of the site."""
    for path in () if error else Path(app.outdir, "_sources").rglob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell |= {"outputs": [], "execution_count": None}
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False), encoding="utf-8")


def configure(app, config):
    config.mathjax_path = "mathjax/tex-mml-chtml.js"
    address = config.html_theme_options.get("repository_url")
    config.html_theme_options["use_edit_page_button"] = bool(address)
    config.html_theme_options["use_issues_button"] = bool(address)
    if not address:
        config.html_theme_options.pop("launch_buttons", None)  # there is nothing to launch from
    # one size whatever the reader's font is, so that equations fit their column everywhere
    size = {"chtml": {"matchFontHeight": False, "scale": 1.1}}
    config.mathjax3_config = (config.mathjax3_config or {}) | size
    if os.environ.get("BOOK_STORED_OUTPUTS") == "1":  # the tests' build runs no notebook
        config.nb_execution_mode = "off"


def one_figure(renderer, options, line):
    """A cell's first output is its figure; the numbers that follow are no second one."""
    name = nodes.fully_normalize_name(str((options or {}).get("name", "")))
    known = name in renderer.document.nameids
    return render.create_figure_context(renderer, None if known else options, line)


def setup(app):
    myst_nb.sphinx_.create_figure_context = one_figure
    app.connect("config-inited", configure, priority=100)
    plugins = render.load_mime_renders()
    if PlotlyMime not in plugins:
        plugins.append(PlotlyMime)
    app.add_post_transform(JoinPrograms)
    app.add_post_transform(KeepMarks)
    app.connect("html-page-context", page_context)
    app.connect("build-finished", copy_assets)
    app.connect("build-finished", write_redirects)
    app.connect("build-finished", clear_downloads)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
