"""Pages made from the library's source and from the chapters when the site is built.

The texts are made by `tools/`; here they become directives: nothing of pidlib is imported.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective, SphinxRole

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT / "tools") not in sys.path:
    sys.path.insert(0, str(ROOT / "tools"))

import api_pages  # noqa: E402
import chapter_pages  # noqa: E402
import chapters  # noqa: E402
import library  # noqa: E402


class Made(SphinxDirective):
    """Text made anew, parsed as if it stood in the page."""

    def text(self) -> str:
        raise NotImplementedError

    def run(self):
        read = (
            ("pidlib", "**/*.py"),
            ("notebooks", "*.ipynb"),
            ("book/results", "*.json"),
            ("book", "*.json"),
        )
        for folder, kind in (*read, ("tools", "*.py")):
            for path in (ROOT / folder).glob(kind):
                self.env.note_dependency(str(path))
        place = nodes.Element()
        place.document = self.state.document
        lines = StringList(self.text().splitlines(), source=self.get_source_info()[0])
        self.state.nested_parse(lines, self.content_offset, place, match_titles=True)
        return place.children


class Api(Made):
    """Reference of some modules: ```{api} gains weights```."""

    required_arguments = 1
    final_argument_whitespace = True

    def text(self):
        return api_pages.module_pages(self.arguments[0].split())


class ApiTable(Made):
    """Tables of the overview: the front door, or all modules."""

    required_arguments = 1

    def text(self):
        if self.arguments[0] == "modules":
            return api_pages.overview(pages())
        return api_pages.front_door()


class ChapterTable(Made):
    """Tables of the chapters: their exercises, their status, the result files; the canary's."""

    required_arguments = 1
    made = {
        "exercises": chapter_pages.exercises,
        "status": chapter_pages.status,
        "results": chapter_pages.results,
        "canary": chapter_pages.canary,
    }

    def text(self):
        return self.made[self.arguments[0]]()


class ChapterSection(SphinxRole):
    """Link to a section of a chapter by the id that Sphinx gives to its heading."""

    def run(self):
        title, target = re.fullmatch(r"(.+?) <([^<>]+)>", self.text, re.S).groups()
        stem, slug = target.split("#")
        page = self.env.app.builder.get_relative_uri(self.env.docname, f"notebooks/{stem}")
        text, messages = self.inliner.parse(title, self.lineno, self.inliner, self.inliner.parent)
        return [nodes.reference("", "", *text, internal=True, refuri=f"{page}#{slug}")], messages


def pages() -> dict[str, list[str]]:
    """Modules that each page of the reference shows, in the order of the pages."""
    found = {}
    for path in sorted((ROOT / "book").glob("api-*.md")):
        asked = re.findall(r"^`{3,}\{api\}([^\n]*)", path.read_text(encoding="utf-8"), re.M)
        found[path.stem] = " ".join(asked).split()
    return found


def setup(app):
    app.add_directive("api", Api)
    app.add_directive("api-table", ApiTable)
    app.add_directive("chapter-table", ChapterTable)
    app.add_role("chapter-section", ChapterSection())
    app.connect("builder-inited", forget)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def forget(app):
    """What was read of the source before a rebuild in one process is old."""
    read = (
        library.tree,
        library.read,
        library.uses,
        library.places,
        api_pages.labels,
        api_pages._known,
    )
    for kept in (*read, chapters.chapters):
        kept.cache_clear()
