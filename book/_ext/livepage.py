"""The live page: its scripts and style, and beside them the model's weights."""

from __future__ import annotations

from pathlib import Path

from live import live_parts  # of tools/, found by the path that bookassets sets

PAGE = "book/live"
SCRIPTS = (
    "live/manifest.js",
    "live-engine.js",
    "live-words.js",
    "live-picture.js",
    "live-page.js",
)


def live_context(app, pagename, templatename, context, doctree):
    if pagename == PAGE:
        app.add_css_file("live.css")
        for name in SCRIPTS:
            app.add_js_file(name, loading_method="defer")


def write_parts(app, error) -> None:
    """The weights, in a site that has the page."""
    if not error and app.builder.format == "html" and PAGE in app.env.found_docs:
        live_parts(Path(app.outdir) / "_static" / "live")


def setup(app):
    app.connect("html-page-context", live_context)
    app.connect("build-finished", write_parts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
