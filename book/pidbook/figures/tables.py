"""Tables of numbers: HTML on a page, aligned text in a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import markupsafe
import numpy as np

SHOWN = 12  # rows; a longer table is folded
DASH = "\N{EN DASH}"  # where there is no number
MINUS = "\N{MINUS SIGN}"
_STYLES = {  # in the cells themselves, so that a notebook outside the book shows them too
    "words": "text-align:left",
    "number": "text-align:right",
    "marked": "color:var(--book-marked,#c4504b)",
}


@dataclass(frozen=True, repr=False)
class Table:
    """Rows with a caption: a page shows them as HTML, a terminal as text.

    Attributes
    ----------
    caption : str
    heads : list of str, names of the columns
    words : list of list of str, the cells of each row
    looks : list of list of str, how each cell is drawn
    folded : bool
    """

    caption: str
    heads: list[str]
    words: list[list[str]]
    looks: list[list[str]]
    folded: bool

    @property
    def html(self) -> str:
        """The table for a page: plain HTML, the same on every machine."""
        title, n = escape(self.caption), len(self.words)
        heads = zip(self.heads, self.looks[0], strict=True)
        lines = [] if self.folded else [f"<caption>{title}</caption>"]
        lines += ["<thead>", "<tr>"]
        for head, look in heads:
            side = "right" if "number" in look else "left"
            lines.append(f'<th scope="col" style="text-align:{side}">{escape(head)}</th>')
        lines += ["</tr>", "</thead>", "<tbody>"]
        for words, looks in zip(self.words, self.looks, strict=True):
            cells = [_cell(word, look) for word, look in zip(words, looks, strict=True)]
            first = f'<th scope="row"{cells[0]}</th>'
            lines += ["<tr>", first, *(f"<td{cell}</td>" for cell in cells[1:]), "</tr>"]
        body = "\n".join(lines)
        html = f'<table class="book-table">\n{body}\n</tbody>\n</table>'
        if self.folded:
            head = f"<summary>{title} ({n} row{'s' * (n > 1)})</summary>"
            html = f'<details class="book-numbers">{head}\n{html}\n</details>'
        return f'<div class="book-table-box" tabindex="0">\n{html}\n</div>'

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        lines = [self.caption] if self.caption else []
        widths = [max(map(len, column)) for column in zip(self.heads, *self.words, strict=True)]
        right = ["number" in look for look in self.looks[0]]
        for line in (self.heads, *self.words):
            parts = zip(line, widths, right, strict=True)
            lines.append("  ".join(v.rjust(w) if r else v.ljust(w) for v, w, r in parts).rstrip())
        return "\n".join(lines)


def table(
    rows: Sequence[Mapping[str, Any]],
    caption: str,
    digits: int | Mapping[str, int] = 3,
    marked: Callable[[Mapping[str, Any], str], bool] | None = None,
    folded: bool | None = None,
) -> Table:
    """Show rows as a table: numbers rounded and right-aligned, the first column as headings.

    Parameters
    ----------
    rows : sequence of mappings with the same columns; None is shown as a dash
    caption : str
    digits : int, decimal places of floats; or a mapping of column to int, 3 elsewhere
    marked : function of a row and a column, optional; where it is true, the number is red
    folded : bool, optional
        Whether the table opens only on a click; by default where it has more than 12 rows.

    Returns
    -------
    Table

    Examples
    --------
    >>> table([{"layer": 0, "rank": 323}, {"layer": 1, "rank": 292}], "Ranks")
    Ranks
    layer  rank
        0   323
        1   292
    """
    if not rows:
        raise ValueError("there are no rows to show: give at least one")
    heads = list(rows[0])
    for row in rows:
        if list(row) != heads:
            raise ValueError(f"a row has the columns {list(row)}; the first has {heads}")
    places = digits if isinstance(digits, Mapping) else dict.fromkeys(heads, digits)
    words = [[_text(row[head], places.get(head, 3)) for head in heads] for row in rows]
    numeric = [all(row[head] is None or _number(row[head]) for row in rows) for head in heads]
    looks = []
    for row in rows:
        line = []
        for head, number in zip(heads, numeric, strict=True):
            names = ["number" if number else "words"]
            names += ["marked"] * bool(marked and marked(row, head))
            line.append(" ".join(names))
        looks.append(line)
    return Table(caption, heads, words, looks, len(rows) > SHOWN if folded is None else folded)


def _cell(word: str, look: str) -> str:
    """Style and text of a cell, its minus signs true ones."""
    style = ";".join(_STYLES[name] for name in look.split())
    word = markupsafe.escape(word)  # whose quotes are those of the stored outputs
    text = re.sub(r"(?<![\w.)-])-(?=\.?\d)", "\N{MINUS SIGN}", word)
    return f' style="{style}">{text}'


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _text(value: Any, digits: int) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.{digits}f}"
    return DASH if value is None else str(value)


def signed(value: float, digits: int = 1) -> str:
    """A number with its sign, and a true minus; 0 without one."""
    value = round(float(value), 6)  # a half that a sum has moved by its last bits
    text = f"{value:+.{digits}f}".replace("-", MINUS)
    return text if round(value, digits) else text[1:]


def with_interval(gain: float, low: float, high: float, digits: int = 1) -> str:
    """A gain and its interval."""
    return f"{signed(gain, digits)} [{signed(low, digits)}, {signed(high, digits)}]"


def verdict_words(answer: str) -> str:
    """A verdict in the words of the pages: a gain or loss is shown, or nothing is."""
    return f"{answer} shown" if answer in ("gain", "loss") else "not shown"


def gain_table(gains: Any, caption: str, columns: Mapping[str, str], digits: int = 1) -> Table:
    """Columns of a frame under new names, and its gain, low and high as one; folded."""
    rows = []
    for of in gains.to_dict("records"):
        row = {name: _short(of[key]) for key, name in columns.items()}
        numbers = with_interval(of["gain"], of["low"], of["high"], digits)
        rows.append(row | {"difference": numbers})
    return table(rows, caption, folded=True)


def _short(value: Any) -> Any:
    """A float in four digits; nothing where there is no number; the rest as it is."""
    if not isinstance(value, float):
        return value
    return None if np.isnan(value) else f"{value:.4g}".replace("-", MINUS)
