"""Tables of a chapter in the layout in which the paper prints them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from bs4 import BeautifulSoup

BARE, DASH = "no control", "\N{EN DASH}"


def read(html: str) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table that a cell drew."""
    lines = BeautifulSoup(html, "lxml").select("tr")
    heads, *rows = [[cell.decode_contents() for cell in line.select("th, td")] for line in lines]
    return heads, rows


def turned(html: str) -> str:
    """The table with its rows as columns."""
    heads, rows = read(html)
    first, *others = zip(heads, *rows, strict=True)
    return _table([("", "", list(first), [list(line) for line in others])])


def with_highest(html: str) -> str:
    """The table with the highest number of each row in bold."""
    soup = BeautifulSoup(html, "html.parser")
    for line in soup.select("tr"):
        numbers = [cell for cell in line.select("td") if re.fullmatch(r"[\d.]+", cell.get_text())]
        best = max((float(cell.get_text()) for cell in numbers), default=None)
        for cell in numbers:
            if float(cell.get_text()) == best:
                cell.string.wrap(soup.new_tag("b"))
    return str(soup)


def in_blocks(html: str, by: Sequence[str], cells: Sequence[str], rows: bool = False) -> str:
    """A block of rows for each value of the first column named, as the paper has for each model.

    by: the columns that become blocks, rows and columns. cells: what a cell lists; columns of the
    table, or else values of its column `control`, each with its number in the last column. Where
    the table has no column for the rows, each of `cells` becomes a row; where it has none for the
    columns, a column. The highest number of a cell is bold. rows: each of `cells` has a row of its
    own, and the highest number with control in a column is bold.
    """
    found: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    for block, line, column, name, number in _entries(html, by, cells):
        line_of = found.setdefault(block, {}).setdefault(line, {})
        line_of.setdefault(column, {})[name] = number
    all_lines = [line for lines in found.values() for line in lines.values()]
    columns = list(dict.fromkeys(column for line in all_lines for column in line))
    blocks = []
    for block, lines in found.items():
        first = next(iter(next(iter(lines.values())).values()))
        names = [name for name in ("", *cells) if name in first]
        shown = []
        for line, numbers in lines.items():
            if rows:
                shown += _a_row_each(line, numbers, names, columns)
                continue
            shown.append([line, *(_listed(numbers.get(column), names) for column in columns)])
        above = "" if rows or len(names) < 2 else _side_by_side(names)
        title = f"{block} {by[0]}" if block.isdecimal() else block
        blocks.append((title, above, [by[2], *map(_level, columns)], shown))
    return _table(blocks)


def _entries(html: str, by: Sequence[str], cells: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Block, row, column, name and number of each number that is shown."""
    heads, rows = read(html)
    for row in rows:
        of = dict(zip(heads, row, strict=True))
        block, column = of[by[0]], of.get(by[2])
        if column is None:
            for name in cells:
                yield block, of[by[1]], name, "", of[name]
        elif by[1] not in of:
            for name in cells:
                yield block, name, column, "", of[name]
        elif "control" in of:
            if of["control"] in cells:
                yield block, of[by[1]], column, of["control"], row[-1]
        else:
            for name in cells:
                yield block, of[by[1]], column, name, of[name]


def _a_row_each(
    line: str, numbers: dict[str, dict[str, str]], names: Sequence[str], columns: Sequence[str]
) -> Iterator[list[str]]:
    """A row of numbers for each name, the highest with control of a column in bold."""
    for name in names:
        row = [f"{line}, {name}"]
        for column in columns:
            of = numbers.get(column)
            if of is None or name == BARE:
                row.append(DASH if of is None else of[name])
                continue
            best = max(float(number) for other, number in of.items() if other != BARE)
            row.append(_bold(of[name], best))
        yield row


def _listed(values: dict[str, str] | None, names: Sequence[str]) -> str:
    """The numbers of a cell, the highest of several in bold; a dash where there is none."""
    if values is None:
        return DASH
    numbers = [values[name] for name in names]
    if len(numbers) == 1:
        return numbers[0]
    best = max(map(float, numbers))
    return _side_by_side(_bold(number, best) for number in numbers)


def _bold(number: str, best: float) -> str:
    return f"<b>{number}</b>" if float(number) == best else number


def _side_by_side(texts: Iterable[str]) -> str:
    """The entries of a cell, each as wide as a number."""
    return " ".join(f'<span class="listed">{text}</span>' for text in texts)


def _level(name: str) -> str:
    """The head of a column; a share is written as one."""
    return f"{float(name):g} %" if re.fullmatch(r"\d+\.\d+", name) else name


def _table(blocks: Sequence[tuple[str, str, list[str], list[list[str]]]]) -> str:
    """HTML of blocks: a title, names above each column, the heads of the columns, and rows."""
    heads = blocks[0][2]
    lines = ["<thead><tr>", *(f'<th scope="col">{head}</th>' for head in heads), "</tr></thead>"]
    for title, above, _, rows in blocks:
        lines.append("<tbody>")
        if above:
            names = f"<td>{above}</td>" * (len(heads) - 1)
            lines.append(f'<tr><th scope="rowgroup">{title}</th>{names}</tr>')
        elif title:
            lines.append(f'<tr><th scope="rowgroup" colspan="{len(heads)}">{title}</th></tr>')
        for first, *others in rows:
            cells = "".join(f"<td>{cell}</td>" for cell in others)
            lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
        lines.append("</tbody>")
    return f'<table class="book-table">{"".join(lines)}</table>'
