"""Tables of numbers: HTML on a page, aligned text in a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

import numpy as np
from scipy.stats import binomtest

SHOWN = 12  # rows; a longer table is folded
DASH = "\N{EN DASH}"  # where there is no number
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
        """The table as pandas' Styler writes it, without ids: the same on every machine."""
        import pandas as pd  # slow to import

        columns = pd.Index(range(len(self.heads)))
        styler = pd.DataFrame(self.words, columns=columns).style.hide(axis="index")
        styler.set_td_classes(pd.DataFrame(self.looks, columns=columns))
        names = [escape(head) for head in self.heads]
        minus = partial(re.sub, r"(?<![\w.)-])-(?=\.?\d)", "\N{MINUS SIGN}")
        styler.format(minus, escape="html").format_index(lambda k: names[k], axis=1)
        title, n = escape(self.caption), len(self.words)
        if not self.folded:
            styler.set_caption(title)
        html = styler.to_html(table_attributes='class="book-table"')
        html = re.sub(r'(?s)<style.*?</style>\n| id="[^"]*"', "", html)
        heads = r'<th class="col_heading level0 col(\d+)" '
        html = re.sub(heads, partial(_column, self.looks), html)
        html = re.sub(r'<td class="data row\d+ col(\d+) ?([^"]*)" (>.*?)</td>', _cell, html)
        html = re.sub(r"\n\s*", "\n", html).strip()
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


def counts_table(
    counts: Mapping[str, tuple[int, int]],
    caption: str,
    header: str = "right",
    folded: bool | None = None,
) -> Table:
    """Show counts k of n with their percentage and 95 % Wilson interval.

    Parameters
    ----------
    counts : mapping of str to (k, n)
    caption : str
    header : str, of the column of k
    folded : bool, optional, as in `table`

    Returns
    -------
    Table

    Examples
    --------
    >>> counts_table({"base": (81, 100)}, "Right answers")
    Right answers
          right    n     %  95 % interval
    base     81  100  81.0  72.2 to 87.5
    """
    rows = []
    for name, (k, n) in counts.items():
        if not 0 <= k <= n or n < 1:  # not every scipy refuses that
            raise ValueError(f"{k} of {n} ({name}) make no proportion")
        low, high = binomtest(int(k), int(n)).proportion_ci(method="wilson")
        row = {"": name, header: int(k), "n": int(n), "%": 100 * k / n}
        rows.append(row | {"95 % interval": f"{100 * low:.1f} to {100 * high:.1f}"})
    return table(rows, caption, digits=1, folded=folded)


def _column(looks: list[list[str]], match: re.Match[str]) -> str:
    side = "right" if "number" in looks[0][int(match[1])] else "left"
    return f'<th scope="col" style="text-align:{side}"'


def _cell(match: re.Match[str]) -> str:
    column, look, text = match.groups()
    style = ";".join(_STYLES[name] for name in look.split())
    tag = "td" if int(column) else "th"
    scope = "" if int(column) else ' scope="row"'
    return f'<{tag}{scope} style="{style}"{text}</{tag}>'


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _text(value: Any, digits: int) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.{digits}f}"
    return DASH if value is None else str(value)
