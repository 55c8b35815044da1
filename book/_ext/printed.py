"""Tables of a chapter in the layout in which the paper prints them."""

from __future__ import annotations

import re
from collections.abc import Sequence

ROW = re.compile(r"<tr>(.*?)</tr>", re.S)
CELL = re.compile(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", re.S)


def read(html: str) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table that a cell drew."""
    heads, *rows = [CELL.findall(row) for row in ROW.findall(html)]
    return heads, rows


def turned(html: str) -> str:
    """The table with its rows as columns."""
    heads, rows = read(html)
    first, *others = zip(heads, *rows, strict=True)
    return _table([("", list(first), [list(line) for line in others])])


def in_blocks(html: str, by: Sequence[str], cells: Sequence[str]) -> str:
    """A block of rows for each value of the first column named, as the paper has for each model.

    by: the columns that become blocks, rows and columns. cells: what a cell lists; columns of the
    table, or else values of its column `control`, each with its number in the last column. The
    highest of a cell is bold. What does not change along a row, as no control, has its own column.
    """
    heads, rows = read(html)
    found: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    for row in rows:
        of = dict(zip(heads, row, strict=True))
        one = {name: of[name] for name in cells if name in of} or {of["control"]: row[-1]}
        block, line, column = (of[name] for name in by)
        found.setdefault(block, {}).setdefault(line, {}).setdefault(column, {}).update(one)
    blocks = []
    for block, lines in found.items():
        columns = list(dict.fromkeys(name for line in lines.values() for name in line))
        first = next(iter(lines.values()))[columns[0]]
        listed = [name for name in cells if name in first and name != "no control"]
        bare = "no control" in first
        shown = []
        for name, line in lines.items():
            told = [line[columns[0]]["no control"]] if bare else []
            shown.append([name, *told, *(_listed(line[at], listed) for at in columns)])
        top = ["", *["no control"] * bare, *map(_level, columns)]
        blocks.append((f"{block}: {' / '.join(listed)}", top, shown))
    return _table(blocks)


def _listed(values: dict[str, str], names: Sequence[str]) -> str:
    numbers = [values[name] for name in names]
    best = max(map(float, numbers))
    marked = [f"<b>{n}</b>" if float(n) == best else n for n in numbers]
    return " / ".join(marked)


def _level(name: str) -> str:
    """The head of a column; a share is written as one."""
    return f"{float(name):g} %" if re.fullmatch(r"[\d.]+", name) else name


def _table(blocks: Sequence[tuple[str, list[str], list[list[str]]]]) -> str:
    """HTML of blocks: a title, the heads of the columns, and rows."""
    heads = blocks[0][1]
    lines = ["<thead><tr>", *(f'<th scope="col">{head}</th>' for head in heads), "</tr></thead>"]
    for title, _, rows in blocks:
        lines.append("<tbody>")
        if title:
            lines.append(f'<tr><th scope="rowgroup" colspan="{len(heads)}">{title}</th></tr>')
        for first, *others in rows:
            cells = "".join(f"<td>{cell}</td>" for cell in others)
            lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
        lines.append("</tbody>")
    return f'<table class="book-table">{"".join(lines)}</table>'
