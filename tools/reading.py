"""What the book gives to read: words of its pages, and how its cells are written.

python tools/reading.py [STEM...]     words of the sources, and the cells; exit 1 where a cell fails
python tools/reading.py --site        words of the built pages, code and formulas left out
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tabulate import tabulate

from book import SITE
from contents import ROOT, code, in_toc, pages, prose

WIDEST = 100  # columns of a line of code
WORD = re.compile(r"[^\W_][\w'’.-]*")
FENCE = re.compile(r"^\s*(:{3,}|`{3,})\s*(?:\{([\w:-]+)\})?(.*)$")
FOLDED = {"dropdown", "toggle", "hint"}
UNREAD = {"math", "raw", "code", "code-block", "glossary-sources"}


def words(text: str) -> tuple[int, int]:
    """Words of MyST text that are open, and that are folded; code and formulas left out."""
    counts, stack = [0, 0], []
    text = re.sub(r"\$\$.*?\$\$(?: *\([\w-]+\))?", "", text, flags=re.S)
    for line in text.split("\n"):
        fence = FENCE.match(line)
        if fence and stack and fence[1] == stack[-1][0] and not fence[2] and not fence[3].strip():
            stack.pop()
            continue
        if fence:
            plain = fence[1].startswith("`") and not fence[2]
            stack.append([fence[1], fence[2] in FOLDED, plain or fence[2] in UNREAD])
            line = fence[3]
        elif stack and ":class:" in line and "dropdown" in line:
            stack[-1][1] = True
        if any(unread for *_, unread in stack) or re.match(r"^\s*:[\w-]+:", line):
            continue
        line = re.sub(r"\]\([^)]*\)|\{[\w:-]+\}|\$[^$]*\$|https?://\S+", " ", line)
        counts[any(folded for _, folded, _ in stack)] += len(WORD.findall(line))
    return counts[0], counts[1]


def complaints(cells: list[str]) -> list[str]:
    """What makes the code cells of a chapter hard to read, one line each."""
    found = []
    for number, source in enumerate(cells, 1):
        last = number == len(cells)
        for line in source.splitlines():
            if len(line) > WIDEST:
                found.append(f"cell {number}: {len(line)} columns: {line[:60].strip()} ...")
        found += [f"cell {number}: {text}" for text in _statements(source, last)]
    return found


def _statements(source: str, last: bool) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Tuple):
                yield f"line {line}: statements joined by a comma"
            if isinstance(node.value, ast.ListComp | ast.SetComp | ast.DictComp | ast.BoolOp):
                yield f"line {line}: an expression for its effect"
        if isinstance(node, ast.Assert) and not last:
            yield f"line {line}: an assertion before the last cell"
        if isinstance(node, ast.NamedExpr):
            yield f"line {line}: an assignment inside an expression"
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            if len(node.value.elts) > 2 and isinstance(node.targets[0], ast.Tuple):
                yield f"line {line}: three things assigned in one line"


def source_words(name: str) -> tuple[int, int]:
    """Open and folded words of a page that _toc.yml names."""
    path = ROOT / name
    notebook = path.with_suffix(".ipynb")
    return words(prose(notebook) if notebook.exists() else path.with_suffix(".md").read_text())


def site_words(path: Path) -> tuple[int, int]:
    """Open and folded words of a built page."""
    from lxml import html

    article = html.parse(str(path)).find(".//article[@class='bd-article']")
    for kind in ("pre", "script", "style", "svg"):
        for node in list(article.iter(kind)):
            _empty(node)
    for node in article.xpath(".//*[contains(concat(' ', @class, ' '), ' math ')]"):
        _empty(node)
    every = len(WORD.findall(" ".join(article.itertext())))
    for node in article.xpath(".//details[not(@open)]"):
        for part in node:
            if part.tag != "summary":
                _empty(part)
    opened = len(WORD.findall(" ".join(article.itertext())))
    return opened, every - opened


def _empty(node) -> None:
    """Take away what an element holds, not what stands behind it."""
    tail = node.tail
    node.clear()
    node.tail = tail


def main() -> int:
    """Door of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stems", nargs="*", help="chapters, by the stem of the file")
    parser.add_argument("--site", action="store_true", help="count what was built")
    given = parser.parse_args()
    named = [page for page in pages() if not given.stems or Path(page).name in given.stems]
    count = (lambda page: site_words(SITE / f"{page}.html")) if given.site else source_words
    rows = [[page, *count(page)] for page in named]
    rows.append(["all", sum(row[1] for row in rows), sum(row[2] for row in rows)])
    print(tabulate(rows, ["page", "words open", "words folded"], intfmt=","))
    failed = 0
    for path in in_toc():
        if given.stems and path.stem not in given.stems:
            continue
        for text in complaints(code(path)):
            print(f"{path.stem}: {text}")
            failed += 1
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
