"""Pieces of the directives: recorded results, Markdown as nodes, a numbered figure."""

from __future__ import annotations

from io import StringIO
from types import SimpleNamespace
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from bookassets import svg_box
from contents import RESULTS


def recorded(env: Any, *names: str) -> list[dict]:
    """Result files, on which the page then depends."""
    from pidbook.evaluation.results import read_result  # slow to import

    for name in names:
        env.note_dependency(str(RESULTS / name))
    return [read_result(RESULTS / name) for name in names]


def caption(directive: SphinxDirective, text: str) -> list[nodes.Node]:
    """The caption of a figure, or nothing."""
    lines = directive.parse_text_to_nodes(text)
    return [nodes.caption("", "", *lines[0].children)] if lines else []


def captioned(directive: SphinxDirective, html: str, text: str) -> nodes.figure:
    """A numbered figure of HTML with a caption of Markdown."""
    drawn = nodes.raw(text=html, format="html")
    return nodes.figure("", drawn, *caption(directive, text), classes=["from-chapter"])


def named(lines: list[str]) -> tuple[dict[str, str], str]:
    """The lines `name: what to call it` of a body, and the caption after the empty line."""
    names, _, text = "\n".join(lines).partition("\n\n")
    return dict(line.split(": ", 1) for line in names.splitlines()), text


def as_box(fig, alt: str) -> str:
    """HTML of a figure whose numbers stand in a table beneath."""
    out = StringIO()
    fig.savefig(out, format="svg", metadata={"Date": None})
    cell = {"mystnb": {"image": {"alt": f"{alt}, in the table below as numbers"}}}
    return svg_box(SimpleNamespace(string=out.getvalue(), cell_metadata=cell))
