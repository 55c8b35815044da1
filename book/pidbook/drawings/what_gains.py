"""Pictures of chapter 14, what gains and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from pidbook.figures import (
    ESTIMATE,
    INK,
    LOSS,
    NOISE,
    OURS,
    Table,
    heatmap,
    signed,
    table,
    with_interval,
)

if TYPE_CHECKING:
    import pandas as pd

    from pidlib.evaluation import Proportion

WIDTH = 5.8
SHOWN = ("gain", "loss")  # the words of a change that is shown; other marks are hollow
COLOURS = {"paper's control": OURS, "solved estimate": ESTIMATE, "trained estimate": ESTIMATE}
COLOURS |= {"random words": NOISE}
AXIS = dict(color=INK, linewidth=0.8)


def _colour(defence: str) -> str:
    """The paper's control is blue, estimates are green, all else has the colour of text."""
    return COLOURS.get(defence, INK)


def _interval(row: Mapping[str, Any]) -> str:
    """A gain with its interval, for a table; where no pair changed, at most 3/n is left open."""
    if row["won"] + row["lost"] == 0:
        return f"0.0 [no pair changed: at most {300 / row['n']:.1f}]"
    return with_interval(row["gain"], row["low"], row["high"])


def _mark(plot: Axes, row: Mapping[str, Any], y: float, colour: str, **look: Any) -> None:
    """A gain and its interval on a level line: full if the change is shown, else hollow."""
    face = colour if row["answer"] in SHOWN else "none"
    plot.plot([row["low"], row["high"]], [y, y], color=colour, linewidth=2, alpha=0.7)
    mark = dict(marker="o", markersize=7.5, markeredgewidth=1.6, linestyle="") | look
    plot.plot(row["gain"], y, color=colour, markerfacecolor=face, **mark)


def gains_table(gains: pd.DataFrame, caption: str) -> Table:
    """Gains with intervals, the word that they earn, and the pairs: a line a row of the frame."""
    rows = []
    for of in gains.to_dict("records"):
        row = {key: of[key].replace("\n", " ") for key in ("defence", "text")}
        row |= {"points": _interval(of), "word": of["answer"], "pairs": f"{of['n']:,}"}
        rows.append(row)
    return table(rows, caption, folded=True)


def named(
    frame: pd.DataFrame, defences: Mapping[str, str], sets: Mapping[str, str]
) -> pd.DataFrame:
    """Rows of some defences and sets of a table of gains, under the names of the page."""
    keys = [(defence, key) for defence in defences for key in sets]
    rows = frame.set_index(["control", "set"]).loc[keys].reset_index()
    rows["defence"] = rows["control"].map(defences)
    rows["text"] = rows["set"].map(sets)
    return rows[["defence", "text", "n", "won", "lost", "gain", "low", "high", "answer"]]


def columns_table(
    frame: pd.DataFrame, heads: Mapping[str, str], caption: str, digits: int = 1
) -> Table:
    """Some columns of a frame, under other heads."""
    rows = frame[[*heads]].rename(columns=heads).to_dict("records")
    return table(rows, caption, digits, folded=True)


# --- Gain against loss --------------------------------------------------------------------------

PLACES = {  # of each name, in points from its mark
    "paper's control": (9, -16, "left"),
    "solved estimate": (9, 12, "left"),
    "trained estimate": (9, -16, "left"),
    "tuned copy": (9, -16, "left"),
    "encoding + tuned copy": (-6, 9, "right"),
    "encoding": (9, 9, "left"),
    "corrector + encoding": (9, -16, "left"),
    "spelling corrector": (-9, 9, "right"),
}


def verdict(gains: pd.DataFrame, changes: pd.DataFrame) -> Figure:
    """Gain with every text tried against change on the contrast set, one mark a defence."""
    lost = changes.set_index("defence")
    fig = Figure(figsize=(WIDTH, 5.4), layout="constrained")
    left, right = min(-7.5, gains["low"].min() - 0.5), max(16, gains["high"].max() + 0.5)
    bottom = min(-19.5, changes["low"].min() - 1)
    top = max(5.5, changes["high"].max() + 1)
    plot = fig.add_subplot(xlim=(left, right), ylim=(bottom, top))
    plot.fill_between([0, right], -2, top, color=INK, alpha=0.12, linewidth=0)
    plot.axhline(0, **AXIS)
    plot.axvline(0, **AXIS)
    corner = dict(ha="right", style="italic")
    good = "grey: gains, and loses\nat most 2 points"
    plot.text(right - 0.4, top - 0.5, good, va="top", **corner)
    plot.text(right - 0.4, bottom + 0.4, "gains, and pays", va="bottom", **corner)
    for row in gains.to_dict("records"):
        _defence(plot, row, lost.loc[row["defence"]])
    allowed = gains["text"].iloc[0]
    tried = "every swap" if allowed == "any" else f"every swap of {allowed}"
    plot.set(xlabel=f"gain with {tried} tried, points", xlim=(left, right))
    plot.set(ylabel="change on the contrast set, points", ylim=(bottom, top))
    for axis in (plot.xaxis, plot.yaxis):
        axis.set_major_locator(MultipleLocator(5))
    plot.grid(visible=False)
    mark = dict(color=INK, marker="o", linestyle="", markersize=7)
    marks = [
        Line2D([], [], label="gain shown", **mark),
        Line2D([], [], label="no gain shown", markerfacecolor="none", **mark),
    ]
    fig.legend(handles=marks, loc="outside upper center", ncols=2, fontsize=9, handletextpad=0.1)
    return fig


def _defence(plot: Axes, gain: Mapping[str, Any], change: Mapping[str, Any]) -> None:
    """A defence: its mark, two intervals, its name."""
    name, x, y = gain["defence"], gain["gain"], change["gain"]
    colour = _colour(name)
    thin = dict(color=colour, linewidth=1.3, alpha=0.6)
    plot.plot([gain["low"], gain["high"]], [y, y], **thin)
    plot.plot([x, x], [change["low"], change["high"]], **thin)
    face = colour if gain["answer"] == "gain" else "none"
    plot.plot(x, y, "o", color=colour, markerfacecolor=face, markersize=8, markeredgewidth=1.5)
    right, up, side = PLACES.get(name, (9, 9, "left"))
    place = dict(textcoords="offset points", ha=side, color=colour, fontsize=10)
    plot.annotate(name, (x, y), (right, up), **place)


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
    ringed[worst] = " and\n".join(ringed.values())
    fig = Figure(figsize=(WIDTH, 5.6), layout="constrained")
    plot = fig.add_subplot(xlabel="words swapped", ylabel="margin of the right answer")
    beside = swapped + 0.3 * np.sin(np.arange(len(margin)) * 2.4)  # dots lie beside each other
    for shown, colour, alpha in ((margin > 0, INK, 0.45), (margin <= 0, LOSS, 0.75)):
        dots = dict(color=colour, markersize=4.5, alpha=alpha)
        plot.plot(beside[shown], margin[shown], "o", **dots)
    plot.plot(swapped[path], margin[path], "-o", color=INK, linewidth=3, markersize=7)
    plot.axhline(0, color=INK, linewidth=1)
    start = path[0]  # in this column there is one dot only
    plot.annotate(
        "greedy search",
        (swapped[start], margin[start]),
        (-20, 11),
        textcoords="offset points",
        ha="left",
        weight="bold",
    )
    for k, (place, word) in enumerate(ringed.items()):
        side = "right" if k % 2 and k < len(ringed) - 1 else "left"
        _ringed(plot, beside[place], margin[place], word, side)
    plot.text(-0.35, -0.3, "answered wrongly", color=LOSS, va="top")
    plot.text(-0.35, 0.25, "answered rightly", va="bottom")
    plot.set_xticks(range(int(swapped.max()) + 1))
    plot.set(xlim=(-0.5, swapped.max() + 0.5), ylim=(margin.min() - 0.8, margin.max() + 1.2))
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


def price(changes: pd.DataFrame, kinds: Sequence[str]) -> Figure:
    """Changes where the meaning turned, coloured: a row a defence, a column a set or kind."""
    names = list(dict.fromkeys(changes["defence"]))
    columns = [text for text in dict.fromkeys(changes["text"]) if text not in kinds]
    changes = changes.set_index(["defence", "text"])
    changes = changes.loc[[(name, text) for name in names for text in (*columns, *kinds)]]
    cells: dict[str, dict[str, float]] = {}
    for (name, text), gain in changes["gain"].items():
        cells.setdefault(name, {})[text] = gain
    fig = heatmap(cells, "change against the bare model, in points of accuracy")
    fig.set_size_inches(WIDTH, 3.9)
    plot = fig.axes[0]
    heads = [text.replace(" ", "\n") for text in (*columns, *kinds)]
    ticks = np.arange(len(heads)) + 0.5
    plot.set_xticks(ticks, heads, rotation=0, ha="center", fontsize=10)
    plot.tick_params(labeltop=True, labelbottom=False)
    plot.axvline(len(columns), color=INK, linewidth=1.2)
    for mark, answer in zip(plot.texts, changes["answer"], strict=True):
        mark.set(fontweight="bold" if answer in SHOWN else "normal")
    return fig


# --- Other words and text -----------------------------------------------------------------------


def panels(
    gains: pd.DataFrame,
    xlim: tuple[float, float],
    height: float,
    bare: Mapping[str, float] | None = None,
) -> Figure:
    """One panel a text, one row a defence: gains with intervals; bare: accuracy without, in %."""
    across = 2
    titles = list(dict.fromkeys(gains["text"]))
    names = list(dict.fromkeys(gains["defence"]))
    fig = Figure(figsize=(WIDTH, height), layout="constrained")
    shape = (-(-len(titles) // across), across)
    plots = fig.subplots(*shape, sharex=True, sharey=True, squeeze=False)
    for spare in plots.flat[len(titles) :]:
        spare.set_axis_off()
    for plot, title in zip(plots.flat, titles, strict=False):
        plot.axvline(0, **AXIS)
        for _, row in gains[gains["text"] == title].iterrows():
            y = names.index(row["defence"])
            shown = row["answer"] in SHOWN
            colour = LOSS if row["answer"] == "loss" else ESTIMATE
            _mark(plot, row, y, colour if shown else INK)
            place = dict(transform=plot.get_yaxis_transform(), ha="right", va="center")
            weight = "bold" if shown else "normal"
            plot.text(1, y, signed(row["gain"]), fontsize=10, weight=weight, **place)
        level = f"\nbare: {bare[title]:.1f} %" if bare else ""
        plot.set_title(title + level, fontsize=11)
        plot.grid(axis="y", visible=False)
    for column in plots.T:  # under the last that is drawn
        column[sum(plot.axison for plot in column) - 1].tick_params(labelbottom=True)
    plots[0, 0].set(xlim=xlim, ylim=(len(names) - 0.5, -0.5))
    plots[0, 0].set_yticks(range(len(names)), names, fontsize=10)
    fig.supxlabel("gain over the bare model, points", fontsize=11, color=INK)
    return fig


# --- All attacks at once ------------------------------------------------------------------------


def worst(left: Mapping[tuple[str, str], Proportion]) -> Figure:
    """What each defence keeps under all attacks of an attacker, one panel an attacker.

    left: share of right answers for each attacker and defence.
    """
    titles = list(dict.fromkeys(attacker for attacker, _ in left))
    names = list(dict.fromkeys(defence for _, defence in left))
    fig = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    plots = dict(zip(titles, fig.subplots(1, len(titles), sharey=True), strict=True))
    for (attacker, defence), share in left.items():
        plot, y, colour = plots[attacker], names.index(defence), _colour(defence)
        ends = [100 * end for end in share.interval()]
        plot.plot(ends, [y, y], color=colour, linewidth=2, alpha=0.7)
        plot.plot(100 * share.value, y, "o", color=colour, markersize=8)
        place = dict(transform=plot.get_yaxis_transform(), ha="right", va="center")
        plot.text(1, y, f"{100 * share.value:.1f}", color=colour, fontsize=10.5, **place)
        plot.set_title(f"{attacker}\n{share.n:,} pairs", fontsize=11)
    for plot in plots.values():
        plot.set(xlim=(0, 14), xticks=(0, 5, 10), ylim=(len(names) - 0.5, -0.5))
        plot.set_yticks(range(len(names)), names, fontsize=10)
        plot.grid(axis="y", visible=False)
    fig.supxlabel("accuracy, %", fontsize=11, color=INK)
    return fig


def worst_table(left: Mapping[tuple[str, str], Proportion], caption: str) -> Table:
    """The same in numbers."""
    rows = []
    for (attacker, defence), share in left.items():
        low, high = share.interval()
        row = {"attacker": attacker, "defence": defence, "right": share.right, "of": share.n}
        row |= {"accuracy, %": 100 * share.value, "from": 100 * low, "to": 100 * high}
        rows.append(row)
    return table(rows, caption, 1, folded=True)


# --- Every swap ---------------------------------------------------------------------------------


def by_swaps(gains: pd.DataFrame, greedy: pd.DataFrame) -> Figure:
    """One panel a defence: gain by the number of swaps allowed, every text tried and greedy."""
    names = list(dict.fromkeys(gains["defence"]))
    levels = list(dict.fromkeys(gains["text"]))
    fig = Figure(figsize=(WIDTH, 5.0), layout="constrained")
    plots = fig.subplots(2, -(-len(names) // 2), sharex=True, sharey=True, squeeze=False)
    for spare in plots.flat[len(names) :]:
        spare.set_axis_off()
    for plot, name in zip(plots.flat, names, strict=False):
        colour = _colour(name)
        plot.axhline(0, **AXIS)
        rows = gains[gains["defence"] == name]
        said = greedy[greedy["defence"] == name].set_index("text")["gain"]
        plot.plot(range(len(levels)), rows["gain"], color=colour, linewidth=1.2, alpha=0.6)
        for x, (_, row) in enumerate(rows.iterrows()):
            face = colour if row["answer"] in SHOWN else "none"
            plot.plot([x, x], [row["low"], row["high"]], color=colour, linewidth=2, alpha=0.6)
            mark = dict(color=colour, markersize=8, markeredgewidth=1.6, markerfacecolor=face)
            plot.plot(x, row["gain"], "o", **mark)
            plot.plot(
                x + 0.28, said[row["text"]], "x", color=LOSS, markersize=6, markeredgewidth=1.6
            )
        plot.set_title(f"{name}\n{rows['n'].iloc[0]:,} pairs", fontsize=10)
        plot.set_xticks(range(len(levels)), levels, fontsize=10)
        plot.grid(axis="x", visible=False)
    ylim = (min(-5, gains["low"].min() - 1), max(17, gains["high"].max() + 1))
    plots[0, 0].set(xlim=(-0.5, len(levels) - 0.4), ylim=ylim)
    fig.supxlabel("words that may be swapped", fontsize=11, color=INK)
    fig.supylabel("gain, points", fontsize=11, color=INK)
    heads = [
        Line2D([], [], color=INK, marker="o", linestyle="", label="every text tried"),
        Line2D([], [], color=LOSS, marker="x", linestyle="", label="what greedy search says"),
    ]
    fig.legend(handles=heads, loc="outside upper center", ncols=2, fontsize=10)
    return fig


# --- Weaker pushes ------------------------------------------------------------------------------

NAMED = {  # name, place in points from the mark, side
    "strength 0.25": ("¼", 7, 4, "left"),
    "strength 0.5": ("½", 7, 4, "left"),
    "strength 0.75": ("¾", -9, -15, "right"),
    "strength 1": ("trained\nestimate", 9, -30, "left"),
    "encoding common 8": ("encoding", -40, 12, "right"),
    "encoding ppdb 4": ("encoding,\nPPDB alone", 8, 7, "left"),
    "P-D 99 % ": ("paper's\ncontrol", -8, 7, "right"),
}


def frontier(gains: pd.DataFrame, losses: pd.DataFrame, aim: float, allowed: float) -> Figure:
    """Gain under every swap of one word against the worse of two losses, one mark a setting."""
    fig = Figure(figsize=(WIDTH, 5.6), layout="constrained")
    plot = fig.add_subplot(xlabel="gain with every swap of one word, points")
    plot.set(
        ylabel="change on the worse of two sets, points",
        xlim=(-6, 16),
        ylim=(-25.5, 4),
        xticks=(-5, 0, 5, 10, 15),
    )
    plot.axhspan(-allowed, 4, color=INK, alpha=0.1, linewidth=0)
    plot.fill_between([aim, 16], -allowed, 4, color=INK, alpha=0.2, linewidth=0)
    plot.text((aim + 16) / 2, 1.2, "the aim", ha="center", va="center", style="italic")
    plot.text(aim - 0.3, 2.6, f"at most {allowed:g} lost", ha="right", style="italic")
    plot.axhline(0, **AXIS)
    plot.axvline(0, **AXIS)
    lost = losses.set_index("control")
    weaker = gains[gains["control"].str.startswith("strength")].sort_values("gain")
    worse = lost.loc[weaker["control"], "gain"]
    plot.plot(weaker["gain"], worse, color=ESTIMATE, linewidth=2)
    for row in gains.to_dict("records"):
        _setting(plot, row, lost.loc[row["control"]])
    plot.grid(visible=False)
    return fig


def settings_table(gains: pd.DataFrame, settings: pd.DataFrame, caption: str) -> Table:
    """Gains with one word swapped, and the changes of each setting on the other sets."""
    changes = settings.pivot(index="control", columns="set", values="gain").reset_index()
    heads = {"control": "setting", "gain": "one word swapped", "low": "from", "high": "to"}
    heads |= {"answer": "word"}
    for key, head in (
        ("edited", "contrast set"),
        ("counterfactual", "people rewrote"),
        ("ordinary", "as written"),
    ):
        n = settings.loc[settings["set"] == key, "n"].iloc[0]
        heads[key] = f"{head} ({n:,} pairs)"
    return columns_table(gains.merge(changes, on="control"), heads, caption)


def _setting(plot: Axes, row: Mapping[str, Any], lost: Mapping[str, Any]) -> None:
    """A setting: a small dot, or a named mark with its intervals."""
    x, y = row["gain"], lost["gain"]
    if row["control"] not in NAMED:
        plot.plot(x, y, "o", color=INK, markersize=4.5, alpha=0.7)
        return
    name, right, up, side = NAMED[row["control"]]
    estimate = row["control"].startswith("strength")
    colour = ESTIMATE if estimate else _colour(name.replace("\n", " "))
    plot.plot([row["low"], row["high"]], [y, y], color=colour, linewidth=1.2, alpha=0.6)
    plot.plot([x, x], [lost["low"], lost["high"]], color=colour, linewidth=1.2, alpha=0.6)
    face = colour if row["answer"] == "gain" else "none"
    plot.plot(x, y, "o", color=colour, markersize=8, markerfacecolor=face, markeredgewidth=1.6)
    lead = dict(arrowstyle="-", color=colour, linewidth=0.7, shrinkB=5) if right < -20 else None
    place = dict(textcoords="offset points", ha=side, color=colour, fontsize=10.5)
    plot.annotate(name, (x, y), (right, up), arrowprops=lead, **place)


# --- The judge ----------------------------------------------------------------------------------


def judged(shares: pd.DataFrame, gains: pd.DataFrame) -> Figure:
    """Share of texts that keep their label, and gains with only these counted; by attack."""
    fig = Figure(figsize=(WIDTH, 6.6), layout="constrained")
    upper, lower = fig.subplots(2, 1, height_ratios=(4, 3.4))
    attacks = list(dict.fromkeys(shares["attack"]))
    for plot, frame in ((upper, shares), (lower, gains)):
        names = list(dict.fromkeys(frame["defence"]))
        step = len(names) + 1
        for row in frame.itertuples():
            y = step * attacks.index(row.attack) + names.index(row.defence)
            colour = _colour(row.defence)
            plot.plot([row.low, row.high], [y, y], color=colour, linewidth=2, alpha=0.7)
            plot.plot(row.value, y, "o", color=colour, markersize=7.5)
            if plot is lower:
                hollow = dict(color=colour, markerfacecolor="none", markersize=7.5)
                plot.plot(row.whole, y, "o", **hollow)
        plot.set_yticks(step * np.arange(len(attacks)) + (len(names) - 1) / 2, attacks)
        plot.set_ylim(step * len(attacks) - 1.3, -0.8)
        plot.grid(axis="y", visible=False)
    upper.set(xlim=(0, 100), xlabel="texts that turned the answer and keep their label, %")
    lower.axvline(0, **AXIS)
    lower.set(xlabel="gain when the attacker sees the defence, points")
    names = list(dict.fromkeys(shares["defence"]))
    heads = [Line2D([], [], color=_colour(n), marker="o", linestyle="", label=n) for n in names]
    fig.legend(handles=heads, loc="outside upper center", ncols=len(names), fontsize=10)
    return fig


# --- Two readers --------------------------------------------------------------------------------


def readings(shares: pd.DataFrame) -> Figure:
    """Texts by what two readers say of their label: a bar a kind, both keep it, one does, neither."""
    fig = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    plot = fig.add_subplot(xlabel="share of 50 texts, %", xlim=(0, 100))
    places, left = np.arange(len(shares)), np.zeros(len(shares))
    for column, colour in (("both", ESTIMATE), ("one", "0.75"), ("neither", LOSS)):
        plot.barh(places, shares[column], left=left, color=colour, height=0.7, label=column)
        left += shares[column].to_numpy()
    for y, value in zip(places, shares["both"], strict=True):
        if value > 0:
            plot.text(2, y, f"{value:.0f}", color="white", va="center", fontsize=10, weight="bold")
    plot.set_yticks(places, shares["kind"], fontsize=10)
    plot.invert_yaxis()
    plot.grid(visible=False)
    fig.legend(
        loc="outside upper center", ncols=3, fontsize=10, title="model readers who keep the label"
    )
    return fig


# --- The verdict --------------------------------------------------------------------------------


def summary(gains: pd.DataFrame, columns: Sequence[str], caption: str) -> Table:
    """Changes of each defence on some sets, with the pairs; gains are named, losses marked."""
    rows = []
    answers: dict[tuple[str, str], str] = {}
    for name in dict.fromkeys(gains["defence"]):
        mine = gains[gains["defence"] == name].set_index("text")
        row = {"defence": name}
        for column in columns:
            of = mine.loc[column]
            word = " gain" if of["answer"] == "gain" else ""
            row[column] = f"{signed(of['gain'])}{word} ({of['n']:,})"
            answers[name, column] = of["answer"]
        rows.append(row)

    def is_loss(row: Mapping[str, Any], column: str) -> bool:
        return answers.get((row["defence"], column)) == "loss"

    return table(rows, caption, folded=False, marked=is_loss)
