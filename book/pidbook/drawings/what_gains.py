"""Pictures of chapter 14, what gains and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, MultipleLocator

from pidbook.figures import (
    ESTIMATE,
    INK,
    LOSS,
    OURS,
    Table,
    heatmap,
    signed,
    table,
    with_interval,
)

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 5.0  # inches: narrow, so that letters are large on a phone
SHOWN = ("gain", "loss")  # the words of a change that is shown; other marks are hollow
COLOURS = {"paper's control": OURS, "trained push": ESTIMATE}  # all else has the colour of text
AXIS = dict(color=INK, linewidth=0.8)


def of_texts(frame: pd.DataFrame, *texts: str) -> pd.DataFrame:
    """The rows of some texts; where a text has none, ValueError says which there are."""
    known = list(dict.fromkeys(frame["text"]))
    for text in texts:
        if text not in known:
            raise ValueError(f"no {text!r}; there are {known}")
    return frame[frame["text"].isin(texts)]


def _mark(plot: Axes, x: float, y: float, colour: str, shown: bool) -> None:
    """A change: full if it is shown, else hollow."""
    face = colour if shown else "none"
    look = dict(color=colour, markerfacecolor=face, markersize=8, markeredgewidth=1.6)
    plot.plot(x, y, "o", **look)


def _interval(row: Mapping[str, Any]) -> str:
    """A gain with its interval, for a table; where no pair changed, at most 3/n is left open."""
    if row["won"] + row["lost"] == 0:
        return f"0.0 [no pair changed: at most {300 / row['n']:.1f}]"
    return with_interval(row["gain"], row["low"], row["high"])


def gains_table(gains: pd.DataFrame, caption: str) -> Table:
    """Gains with intervals, verdicts and numbers of pairs: a line a row of the frame."""
    rows = []
    for of in gains.to_dict("records"):
        row = {key: of[key].replace("\n", " ") for key in ("defence", "text")}
        row |= {"points": _interval(of), "verdict": of["answer"], "pairs": f"{of['n']:,}"}
        rows.append(row)
    return table(rows, caption, folded=True)


# --- Gain against loss --------------------------------------------------------------------------

PLACES = {  # of a name, in points from its mark; elsewhere above it, to the right
    "paper's control": (-9, -28, "right"),
    "spelling corrector": (-9, 9, "right"),
    "synonym encoding": (9, 12, "left"),
    "trained push": (9, -18, "left"),
}


def verdict(gains: pd.DataFrame, changes: pd.DataFrame) -> Figure:
    """Gain against change on other pairs, of one text each: one mark a defence."""
    lost = changes.set_index("defence")
    fig = Figure(figsize=(WIDTH, 4.5), layout="constrained")
    left, right = min(-8.5, gains["low"].min() - 0.5), max(13, gains["high"].max() + 0.5)
    bottom = min(-20.5, changes["low"].min() - 1)
    top = max(5.5, changes["high"].max() + 1)
    plot = fig.add_subplot(xlim=(left, right), ylim=(bottom, top))
    plot.fill_between([0, right], -2, top, color=INK, alpha=0.12, linewidth=0)
    plot.axhline(0, **AXIS)
    plot.axvline(0, **AXIS)
    corner = dict(ha="right", style="italic")
    plot.text(right - 0.4, top - 0.5, "gains, and loses 2 at most", va="top", **corner)
    plot.text(right - 0.4, bottom + 0.4, "gains, and loses here", va="bottom", **corner)
    for row in gains.to_dict("records"):
        _defence(plot, row, lost.loc[row["defence"]])
    plot.set(xlabel=f"gain: {gains['text'].iloc[0]}, points (right: better)")
    plot.set(ylabel=f"change: {changes['text'].iloc[0]}, points (up: better)")
    for axis in (plot.xaxis, plot.yaxis):
        axis.set_major_locator(MultipleLocator(5))
    plot.grid(visible=False)
    return fig


def _defence(plot: Axes, gain: Mapping[str, Any], change: Mapping[str, Any]) -> None:
    """A defence: its mark, two intervals, its name."""
    name, x, y = gain["defence"], gain["gain"], change["gain"]
    colour, shown = COLOURS.get(name, INK), gain["answer"] == "gain"
    thin = dict(color=colour, linewidth=1.8, alpha=0.85, zorder=3)
    plot.plot([gain["low"], gain["high"]], [y, y], **thin)
    plot.plot([x, x], [change["low"], change["high"]], **thin)
    _mark(plot, x, y, colour, shown)
    right, up, side = PLACES.get(name, (9, 9, "left"))
    place = dict(textcoords="offset points", ha=side, color=colour, fontsize=11)
    label = name if shown else f"{name}\nno gain shown"
    plot.annotate(label, (x, y), (right, up), **place)


# --- One sentence -------------------------------------------------------------------------------


def one_sentence(
    margin: np.ndarray,
    every: Sequence[tuple[int, ...]],
    path: Sequence[int],
    worst: int,
    words: Sequence[Sequence[str]],
) -> Figure:
    """All texts of a sentence by their margins (N,), and the way of a greedy search.

    every: for each text the word chosen at each place, 0 as written; worst: a text whose swaps
    are ringed, each alone and all together.
    """
    swapped = np.count_nonzero(every, axis=1)
    ringed = {}
    for place in np.flatnonzero(every[worst]):
        alone = [0] * len(every[worst])
        alone[place] = every[worst][place]
        ringed[every.index(tuple(alone))] = words[place][every[worst][place]]
    ringed[worst] = " and\n".join(ringed.values()) or "as written"
    fig = Figure(figsize=(WIDTH, 4.7), layout="constrained")
    plot = fig.add_subplot(xlabel="words swapped", ylabel="margin of the right answer")
    beside = swapped + 0.3 * np.sin(np.arange(len(margin)) * 2.4)  # dots lie beside each other
    for shown, colour, alpha in ((margin > 0, INK, 0.35), (margin <= 0, LOSS, 0.75)):
        dots = dict(color=colour, markersize=4.5, alpha=alpha)
        plot.plot(beside[shown], margin[shown], "o", **dots)
    plot.plot(swapped[path], margin[path], "-o", color=INK, linewidth=3, markersize=7)
    plot.axhline(0, color=INK, linewidth=1)
    start = path[0]  # in this column there is one dot only
    place = dict(textcoords="offset points", ha="left", weight="bold")
    plot.annotate("greedy search", (swapped[start], margin[start]), (-20, 18), **place)
    place["ha"] = "right"
    if first := next((text for text in path if any(every[text])), None):  # the first that swaps
        where = next(k for k, word in enumerate(every[first]) if word)
        label = words[where][every[first][where]]
        plot.annotate(label, (swapped[first], margin[first]), (-9, -7), **place)
    for place, word in ringed.items():  # to the right of high dots, where the path is not
        high = margin[place] > margin[start] / 2
        side = "right" if high and (place != worst or place == start) else "left"
        _ringed(plot, beside[place], margin[place], word, side)
    plot.text(-0.35, -0.3, "answered wrongly", color=LOSS, va="top")
    plot.text(-0.35, 0.25, "answered rightly", va="bottom")
    plot.set_xticks(range(int(swapped.max()) + 1))
    plot.set(xlim=(-0.5, swapped.max() + 0.5), ylim=(margin.min() - 0.8, margin.max() + 1.8))
    plot.grid(visible=False)
    return fig


def _ringed(plot: Axes, x: float, y: float, word: str, side: str) -> None:
    """A ring round a dot, and its words on one side of it."""
    colour = LOSS if y <= 0 else INK
    ring = dict(color=colour, markerfacecolor="none", markersize=12, markeredgewidth=1.6)
    plot.plot(x, y, "o", **ring)
    lead = dict(arrowstyle="-", color=INK, linewidth=0.8, shrinkA=2, shrinkB=6)
    away, align = (26, "left") if side == "right" else (-14, "right")
    place = dict(textcoords="offset points", ha=align, va="center", color=colour)
    plot.annotate(word, (x, y), (away, 8), arrowprops=lead, **place)


# --- The price ----------------------------------------------------------------------------------


def price(changes: pd.DataFrame, columns: Sequence[str]) -> Figure:
    """Changes where the meaning turned, coloured: a row a defence, a column a kind of word."""
    names = list(dict.fromkeys(changes["defence"]))
    changes = of_texts(changes, *columns).set_index(["defence", "text"])
    changes = changes.loc[[(name, text) for name in names for text in columns]]
    cells: dict[str, dict[str, float]] = {}
    for (name, text), gain in changes["gain"].items():
        cells.setdefault(name, {})[text] = gain
    fig = heatmap(cells, "change against the bare model, points")
    fig.set_size_inches(5.6, 1.0 + 0.4 * len(names))
    plot = fig.axes[0]
    plot.tick_params(labelsize=10)
    plot.axvline(1, color=INK, linewidth=1.2)
    pairs = changes["n"].groupby("text").max()
    plot.set_xticks(plot.get_xticks(), [f"{text}\n{pairs[text]:,}" for text in columns])
    for mark, (_, change) in zip(plot.texts, changes.iterrows(), strict=True):
        weight = "bold" if change["answer"] in SHOWN else "normal"
        mark.set(text=signed(change["gain"]), fontweight=weight)
    return fig


# --- Gains, panel by panel ----------------------------------------------------------------------


def panels(gains: pd.DataFrame, beneath: Mapping[str, str] | None = None) -> Figure:
    """One panel a text, one row a defence: gains with intervals.

    beneath: a second line for some titles.
    """
    titles = list(dict.fromkeys(gains["text"]))
    names = list(dict.fromkeys(gains["defence"]))
    down = -(-len(titles) // 2)
    rows = sum(0.45 if "\n" in name else 0.31 for name in names)
    fig = Figure(figsize=(WIDTH, down * (0.75 + rows) + 0.5), layout="constrained")
    plots = fig.subplots(down, 2, sharex=True, sharey=True, squeeze=False)
    for spare in plots.flat[len(titles) :]:  # where the panels are odd in number
        spare.remove()
        plots[down - 2, 1].tick_params(labelbottom=True)
    for plot, title in zip(plots.flat, titles, strict=False):
        plot.axvline(0, **AXIS)
        for row in gains[gains["text"] == title].to_dict("records"):
            _row(plot, names.index(row["defence"]), row)
        plot.set_title("\n".join(filter(None, (title, (beneath or {}).get(title)))), fontsize=10.5)
        plot.grid(axis="y", visible=False)
    plots[0, 0].set_ylim(len(names) - 0.5, -0.5)
    plots[0, 0].set_yticks(range(len(names)), names, fontsize=11)
    fig.supxlabel("points over the bare model (right: better)", fontsize=11, color=INK)
    return fig


def _row(plot: Axes, y: int, row: Mapping[str, Any]) -> None:
    """A gain, its interval, and its number beside the panel, bold if it is shown."""
    colour = COLOURS.get(row["defence"].split(",")[0], INK)  # "trained push,\nA2T", too
    shown = row["answer"] in SHOWN
    plot.plot([row["low"], row["high"]], [y, y], color=colour, linewidth=2, alpha=0.7)
    _mark(plot, row["gain"], y, colour, shown)
    place = dict(transform=plot.get_yaxis_transform(), ha="left", va="center")
    weight = "bold" if shown else "normal"
    plot.text(1.03, y, signed(row["gain"]), fontsize=10.5, weight=weight, **place)


# --- Counts -------------------------------------------------------------------------------------


def counted(rows: Sequence[Mapping[str, Any]], axis: str, grey: Sequence[str] = ()) -> Figure:
    """A bar a row, the share of count in of, both printed beside it: name, count, of.

    grey: names of rows that are there to compare with.
    """
    lines = sum(1 + row["name"].count("\n") for row in rows)
    fig = Figure(figsize=(WIDTH, 0.8 + 0.3 * lines), layout="constrained")
    plot = fig.add_subplot(xlabel=axis)
    shares = [100 * row["count"] / row["of"] for row in rows]
    for y, (row, share) in enumerate(zip(rows, shares, strict=True)):
        colour = INK if row["name"] in grey else LOSS
        plot.barh(y, share, color=colour, alpha=0.55, height=0.6)
        label = f"{row['count']} of {row['of']}"
        plot.annotate(label, (share, y), (5, 0), textcoords="offset points", va="center")
    plot.set_yticks(range(len(rows)), [row["name"] for row in rows], fontsize=11)
    plot.set(xlim=(0, 1.36 * max(shares)), ylim=(len(rows) - 0.5, -0.5))
    plot.set_xticks(MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(0, max(shares)))
    plot.grid(axis="y", visible=False)
    plot.tick_params(axis="y", length=0)
    return fig


# --- The verdict --------------------------------------------------------------------------------


def summary(gains: pd.DataFrame, columns: Sequence[str], caption: str) -> Table:
    """Changes of each defence on some sets; those that are shown are named, losses marked, too.

    A set on which a defence was not tried has a dash.
    """
    rows = []
    answers: dict[tuple[str, str], str] = {}
    for name in dict.fromkeys(gains["defence"]):
        mine = gains[gains["defence"] == name].set_index("text")
        row = dict.fromkeys(["defence", *columns])
        row["defence"] = name
        for column in mine.index.intersection(columns):
            of = mine.loc[column]
            word = f" {of['answer']}" if of["answer"] in SHOWN else ""
            row[column] = f"{signed(of['gain'])}{word}"
            answers[name, column] = of["answer"]
        rows.append(row)

    def is_loss(row: Mapping[str, Any], column: str) -> bool:
        return answers.get((row["defence"], column)) == "loss"

    return table(rows, caption, folded=False, marked=is_loss)
