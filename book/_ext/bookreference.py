"""Pages made from the library and from the chapters when the site is built.

The texts are made by `tools/`; here they become directives. The entries of the reference are
Sphinx's autodoc, which gets its docstrings from here.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx_proof.domain import ProofIndex

import api_pages
import chapter_pages
from contents import ROOT

READ = (
    "pidlib/**/*.py", "notebooks/*.ipynb", "book/results/*.json", "book/*.json", "book/*.toml",
    "experiments/*.toml", "tools/*.py",
)  # fmt: skip
TABLES = {
    "door": api_pages.front_door,
    "modules": api_pages.overview,
    "exercises": chapter_pages.exercises,
    "status": chapter_pages.status,
    "measured": chapter_pages.measured,
    "canary": chapter_pages.canary,
    "left-out": chapter_pages.left_out,
    "versions": chapter_pages.versions,
}


class Made(SphinxDirective):
    """Text made anew, parsed as if it stood in the page: ```{made} exercises```."""

    required_arguments = 1
    final_argument_whitespace = True

    def text(self) -> str:
        return TABLES[self.arguments[0]]()

    def run(self):
        for path in (path for kind in READ for path in ROOT.glob(kind)):
            self.env.note_dependency(str(path))
        return self.parse_text_to_nodes(self.text(), allow_section_headings=True)


class Api(Made):
    """Reference of some modules: ```{api} pid hooks```."""

    def text(self):
        return "\n\n".join(map(api_pages.module_page, self.arguments[0].split()))


class ChapterSection(SphinxRole):
    """Link to a section of a chapter by the id that Sphinx gives to its heading."""

    def run(self):
        title, target = re.fullmatch(r"(.+?) <([^<>]+)>", self.text, re.S).groups()
        stem, slug = target.split("#")
        page = self.env.app.builder.get_relative_uri(self.env.docname, f"notebooks/{stem}")
        text, messages = self.inliner.parse(title, self.lineno, self.inliner, self.inliner.parent)
        return [nodes.reference("", "", *text, internal=True, refuri=f"{page}#{slug}")], messages


def docstring(app, what, name, obj, options, lines):
    lines[:] = api_pages.docstring(what, "\n".join(lines))
    used = what in ("function", "class") and api_pages.chapters_of(obj)
    lines += [f"*Chapters:* {used}.", ""] if used else []


def is_field(app, what, name, obj, skip, options):
    """Leave out the fields of a named tuple: the docstring tells of them."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def statements(index, docnames=None):
    """Entries of the proof index by chapter, in words where sphinx-proof shows labels."""
    entries = {}
    for anchor, of in getattr(index.domain.env, "proof_list", {}).items():
        chapter = index.domain.env.titles[of["docname"]].astext()
        said = f"{of['realtype'].capitalize()}: {anchor.replace('-', ' ')}"
        entry = (said, of["prio"], of["docname"], anchor, "", "", "")
        entries.setdefault(chapter, []).append(entry)
    return sorted(entries.items()), True


def setup(app):
    ProofIndex.generate = statements
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive("api", Api)
    app.add_directive("api-table", Made)
    app.add_directive("chapter-table", Made)
    app.add_role("chapter-section", ChapterSection())
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-skip-member", is_field)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
