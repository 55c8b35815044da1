"""Chapters as cards, each with its picture and its finding; and the picture that a link shows."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from contents import RESULTS, in_toc, number
from hero import TRIAL, before_and_after
from pidbook.figures.colours import ATTACKER, INK, OURS

SVG = "image/svg+xml"
INKS = {"light": "#1f2328", "dark": "#dfe3e8"}  # an image cannot take the colour of its page
FRAME = re.compile(r'<clipPath[^>]*>\s*<rect x="(.+?)" y="(.+?)" width="(.+?)" height="(.+?)"')
# A stamp has no room for scales, letters and legends, and its lines must carry.
STAMP = "[id^=mat], [id^=text], [id^=leg] {display: none} [id^=line2d] path {stroke-width: 3px !important} "
SUMMARY = (
    "An executable book on PID control of transformer states: the theory derived, every table of "
    "the paper redrawn beside our own, and the trial that the paper lacks."
)


class ChapterCards(SphinxDirective):
    """A card for each chapter that a line `slug: finding` of the body names."""

    has_content = True

    def run(self):
        known, cards = {path.stem: path for path in in_toc()}, []
        for line in self.content:
            stem, _, finding = line.partition(": ")
            if stem not in known:
                raise self.error(f"no chapter {stem!r}")
            self.env.note_dependency(str(known[stem]))
            link = self.env.app.builder.get_relative_uri(self.env.docname, f"notebooks/{stem}")
            cards.append(card(known[stem], link, finding))
        return [nodes.raw(text=f'<div class="cards">{"".join(cards)}</div>', format="html")]


def card(path: Path, link: str, finding: str) -> str:
    """HTML of one card."""
    notebook = nbformat.read(path, as_version=4)
    title = re.search(r"^# (.+)$", notebook.cells[0].source, re.M)[1].replace("-", "‑")
    picture = ""
    if (cell := pictured(notebook)) is not None:
        words = escape(cell.metadata["mystnb"]["image"]["alt"], quote=True)
        picture = "".join(
            f'<img class="only-{theme}" src="../_static/{thumbnail_name(path, theme)}"'
            f' alt="{words}" loading="lazy">'
            for theme in INKS
        )
    return (
        f'<a class="card-link" href="{link}">{picture}<b>{number(path.stem)}{escape(title)}</b>'
        f"<span>{escape(finding)}</span></a>"
    )


def pictured(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode | None:
    """The cell whose picture stands for a chapter: the one tagged so, else the first."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    drawn = [cell for cell in cells if any(SVG in o.get("data", {}) for o in cell.outputs)]
    wanted = [c for c in drawn if "thumbnail" in c.metadata.get("tags", ())]
    return next(iter(wanted or drawn), None)


def thumbnail_name(path: Path, theme: str) -> str:
    return f"thumbnail-{path.stem}-{theme}.svg"


def cropped(svg: str) -> str:
    """The first row of panels, for a stamp: no letters, thick lines, large marks."""
    frames = [tuple(map(float, found)) for found in FRAME.findall(svg)]
    top = min((y for _, y, *_ in frames), default=None)
    if top is None:
        return svg
    x, ends, tall = zip(*[(x, x + w, h) for x, y, w, h in frames if y == top], strict=True)
    size = min(x) - 4, top - 4, max(ends) - min(x) + 8, max(tall) + 8
    view = 'width="{2}pt" height="{3}pt" viewBox="{0} {1} {2} {3}"'.format(*size)
    svg = svg.replace("*{stroke-linejoin", STAMP + "*{stroke-linejoin", 1)
    svg = re.sub(r'(<path id="m\w+" )(d="M -?\d[. ])', r'\1transform="scale(1.7)" \2', svg)
    return re.sub(r'width="[\d.]+pt" height="[\d.]+pt" viewBox="[^"]+"', view, svg, count=1)


def write_pictures(app, error) -> None:
    """Thumbnails, and the picture that a link to the book shows."""
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for path in in_toc():
        if cell := pictured(nbformat.read(path, as_version=4)):
            svg = cropped(next(o.data[SVG] for o in cell.outputs if SVG in o.get("data", {})))
            for theme, ink in INKS.items():
                (static / thumbnail_name(path, theme)).write_text(svg.replace(INK, ink), "utf-8")
    if (RESULTS / TRIAL).exists():
        preview(static / "preview.png")


def preview(target: Path) -> None:
    """1200 by 630 pixels: what the control gains, and what the adaptive attack leaves of it."""
    from matplotlib.figure import Figure

    from pidbook.evaluation.results import read_result

    values = [gain for gain, _ in before_and_after(read_result(RESULTS / TRIAL))]
    fig = Figure(figsize=(12, 6.3), dpi=100, facecolor="#fbfcfd", layout="none")
    title = "A transformer that heals itself, until the attack adapts"
    fig.text(0.06, 0.86, title, fontsize=27, weight="bold", color="#1f2328")
    what = "Points of accuracy that the paper's control gains under TextFooler (SNLI, MiniLM)"
    fig.text(0.06, 0.77, what, fontsize=17, color="#4f5761")
    plot = fig.add_axes([0.06, 0.08, 0.88, 0.62])
    names = "transfer attack", "adaptive attack"
    for k, (value, name, colour) in enumerate(zip(values, names, (OURS, ATTACKER), strict=True)):
        plot.barh(k, value, 0.55, color=colour)
        plot.text(-0.5, k, name, ha="right", va="center", fontsize=19, color="#1f2328")
        look = dict(va="center", fontsize=46, weight="bold", color=colour)
        plot.text(max(value, 0) + 0.5, k, f"{value:+.1f}".replace("-", "−"), **look)
    plot.set(xlim=(-9.5, max(values) * 1.3), ylim=(1.5, -0.5))
    plot.set_axis_off()
    fig.savefig(target)


def add_metatags(app, pagename, templatename, context, doctree) -> None:
    """Description and preview, for search engines and for links."""
    base = app.config.html_baseurl.rstrip("/")
    up = "../" * pagename.count("/")
    image = f"{base}/_static/preview.png" if base else f"{up}_static/preview.png"
    title = escape(re.sub(r"<[^>]+>", "", context.get("title", "")), quote=True)
    named = {"description": SUMMARY, "twitter:card": "summary_large_image"}
    opened = {"og:title": title, "og:description": SUMMARY, "og:type": "website", "og:image": image}
    opened |= {"og:site_name": app.config.html_title}
    tags = [f'<meta name="{k}" content="{v}">' for k, v in named.items()]
    tags += [f'<meta property="{k}" content="{v}">' for k, v in opened.items()]
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)


def setup(app):
    app.add_directive("chapter-cards", ChapterCards)
    app.connect("html-page-context", add_metatags)
    app.connect("build-finished", write_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
