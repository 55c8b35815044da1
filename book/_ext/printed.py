"""Tables of a chapter, each in one compact table, in the layout in which the paper prints it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal

from bs4 import BeautifulSoup

Rows = list[list[str]]
Block = tuple[str, Rows]  # its title, and rows whose first cell is a head
Tables = dict[str, str]  # HTML by title, as the cell listed them

BARE = "no control"
TERMS = ("P", "P-I", "P-D", "P-I-D")
ATTACKS = ("A2T", "PSO", "TextBugger", "TextFooler")


def read(html: str) -> tuple[list[str], Rows]:
    """Heads and rows of a table that a cell drew."""
    lines = BeautifulSoup(html, "lxml").select("tr")
    heads, *rows = [[cell.decode_contents() for cell in line.select("th, td")] for line in lines]
    return heads, rows


def entries(html: str) -> Iterator[dict[str, str]]:
    """The rows of a table, by its heads."""
    heads, rows = read(html)
    for row in rows:
        yield dict(zip(heads, row, strict=True))


def one_digit(html: str) -> str:
    """Numbers with two digits after the point, rounded to one."""

    def rounded(match: re.Match) -> str:
        return str(Decimal(match[0]).quantize(Decimal("0.1"), ROUND_HALF_UP))

    return re.sub(r"\d+\.\d\d(?!\d)", rounded, html)


def by_training(tables: Tables) -> str:
    """Tables 8 and 9: a block for each training, a row for each model, a column for each attack."""
    blocks: list[Block] = []
    for title, html in tables.items():
        if training := re.search(r"training (\w+)", title):
            heads, rows = read(html)
            blocks.append((f"{training[1]} training", rows))
    return one_digit(_table(heads, blocks))


def as_listed(tables: Tables) -> str:
    """Tables 1 and 2: the first table, whose cells read bare → controlled."""
    heads, rows = read(next(iter(tables.values())))
    return one_digit(_table(heads, [("", rows)]))


def terms(tables: Tables) -> str:
    """Table 3: a row for each model, a column for each attack; a cell lists the four controls.

    The numbers are means over the trainings, the highest of a cell in bold.
    """
    of: dict[str, dict[str, list[list[float]]]] = {}
    for row in entries(next(iter(tables.values()))):
        numbers = [float(row[term]) for term in TERMS]
        of.setdefault(row["model"], {}).setdefault(row["attack"], []).append(numbers)
    names = ["control", *[_listed(TERMS)] * len(ATTACKS)]
    rows = [names]
    for model, attacks in of.items():
        rows.append([model])
        for attack in ATTACKS:
            means = [sum(column) / len(column) for column in zip(*attacks[attack], strict=True)]
            best = max(means)
            shown = [f"<b>{x:.1f}</b>" if x == best else f"{x:.1f}" for x in means]
            rows[-1].append(_listed(shown))
    return _table(["", *ATTACKS], [("", rows)])


def thresholds(tables: Tables) -> str:
    """Table 4: a block for each model, a row for each control, clean and attacked at each threshold.

    The highest number of a block and a column is bold. The bare model stands in the block's title.
    """
    controls = {"formula": "formula", "PMP": "PMP", "PMP, running cost": "PMP"}
    controls["formula × 0.72"] = "formula × 0.72"
    found: dict[str, dict[str, dict[str, str]]] = {}
    levels: list[str] = []
    for row in entries(next(iter(tables.values()))):
        level = f"{float(row['threshold']):g} %"
        levels += [level] * (level not in levels)
        line = found.setdefault(row["model"], {}).setdefault(row["control"], {})
        line[f"{row['text']} {level}"] = row["accuracy"]
    columns = [f"{text} {level}" for text in ("clean", "attacked") for level in levels]
    blocks: list[Block] = []
    for model, lines in found.items():
        kept = {name: lines[name] for name in controls if name in lines}
        best = {at: max(float(line[at]) for line in kept.values()) for at in columns}
        rows = [
            [controls[name], *(_bold(line[at], best[at]) for at in columns)]
            for name, line in kept.items()
        ]
        bare = lines[BARE]
        title = f"{model}: bare model {bare[columns[0]]}, attacked {bare[columns[-1]]}"
        blocks.append((title, rows))
    over = [("", 1), ("on clean text", len(levels)), ("under attack", len(levels))]
    return _table(["threshold", *levels, *levels], blocks, over)


def times(tables: Tables) -> str:
    """Table 5: a column for each model, a row for each clock, ours with its interval."""
    of = list(entries(next(iter(tables.values()))))
    rows: Rows = []
    for control in ("P-D", "PMP"):
        rows.append([f"{control}, paper", *(row[f"{control}: paper"] for row in of)])
        ours = [f"{row[f'{control}: ours']} [{row[f'{control}: 95 %']}]" for row in of]
        rows.append([f"{control}, ours", *(text.replace(" to ", ", ") for text in ours)])
    return _table(["", *(row["model"] for row in of)], [("", rows)])


def errors(tables: Tables) -> str:
    """Table 6: the paper by depth, and our readings at its first; a column for each attack."""
    of = list(entries(next(iter(tables.values()))))
    depth = of[0]["layers"]
    paper, ours = [], []
    for row in of:
        numbers = [row[attack] for attack in ATTACKS]
        if row["error"] == "the paper":
            paper.append([f"{row['layers']} layers", *numbers])
        elif row["layers"] == depth:
            ours.append([row["error"], *numbers])
    return _table(["", *ATTACKS], [("the paper", paper), (f"ours, {depth} layers", ours)])


def ranks(tables: Tables) -> str:
    """Table 7: the paper's model, and our MiniLM: ranks, then what lies outside."""
    shares, outside = (list(entries(html)) for html in tables.values())
    states = list(shares[0])[2:]
    blocks: list[Block] = []
    for model in (shares[0]["model"], shares[-1]["model"]):
        of = {row["term"]: row for row in outside if row["model"] == model}
        rows = [
            [f"rank of {row['term']}, %", *(row[at] for at in states)]
            for row in shares
            if row["model"] == model
        ]
        for term, row in of.items():
            name, _, text = term.rpartition(", ")
            if clean := of.get(f"{name}, clean"):
                if text != "clean":
                    both = [f"{clean[at]} → {row[at]}" for at in states]
                    rows.append([f"outside {name}", *both])
            else:
                rows.append(["outside all, attacked", *(row[at] for at in states)])
        blocks.append((model, rows))
    return _table(["", *states], blocks)


LAYOUTS: dict[str, Callable[[Tables], str]] = {
    "table-1": as_listed,
    "table-2": as_listed,
    "table-3": terms,
    "table-4": thresholds,
    "table-5": times,
    "table-6": errors,
    "table-7": ranks,
    "table-8": by_training,
    "table-9": by_training,
}
"""By the tag of the cell that listed the numbers."""

SHORTENED = ("table-3", "table-4", "table-7")  # of which the cell lists more


def _bold(number: str, best: float) -> str:
    return f"<b>{number}</b>" if float(number) == best else number


def _listed(texts: Sequence[str]) -> str:
    """The entries of a cell, each as wide as a number."""
    return " ".join(f'<span class="listed">{text}</span>' for text in texts)


def _table(heads: list[str], blocks: Sequence[Block], over: Sequence[tuple] = ()) -> str:
    """HTML of blocks, each a title and its rows; `over` are heads over several columns."""
    lines = ["<thead>"]
    if over:
        cells = (f'<th scope="colgroup" colspan="{width}">{text}</th>' for text, width in over)
        lines += ["<tr>", *cells, "</tr>"]
    lines += ["<tr>", *(f'<th scope="col">{head}</th>' for head in heads), "</tr></thead>"]
    for title, rows in blocks:
        lines.append("<tbody>")
        if title:
            lines.append(f'<tr><th scope="rowgroup" colspan="{len(heads)}">{title}</th></tr>')
        for first, *others in rows:
            cells = "".join(f"<td>{cell}</td>" for cell in others)
            lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
        lines.append("</tbody>")
    return f'<table class="book-table printed">{"".join(lines)}</table>'
