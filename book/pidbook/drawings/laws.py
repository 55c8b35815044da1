"""Pictures of chapter 11, which control, and at which price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from pidbook.figures import ATTACKER, INK, NOISE, OURS, PAPER, name_ends, signed
from pidbook.figures.limits import reach

WIDTH = 5.4  # inches: then letters of 9.5 points can be read on a telephone
SMALL = 9.5  # points, the smallest letters
WORDS = 10.5  # points, of titles and axes
HOLLOW = dict(markerfacecolor="none", markeredgewidth=1.6)  # not shown to differ from it
BARE = dict(color=INK, linewidth=1.2, linestyle="--", zorder=0)  # the line of the bare model


# --- Accuracy, a control a row ------------------------------------------------------------------


def accuracies(
    rows: pd.DataFrame,
    panels: Mapping[str, str],
    limits: tuple[float, float] | None = None,
    adaptive: Sequence[str] = (),
) -> Figure:
    """Accuracy with the interval of its gain, a set a panel; the bare model a line.

    A point is as wide in each panel.

    rows: columns row (its name), set, bare (accuracy of the bare model, %), gain, low, high (points
    over it), answer, and push where random pushes were tried. panels: titles of the sets. limits:
    of all panels, wider where an interval is; without, each panel has its own, about its marks.
    adaptive: sets of an adaptive attack.
    """
    names = list(dict.fromkeys(rows["row"]))
    low, high = rows["bare"] + rows["low"], rows["bare"] + rows["high"]
    fig = Figure(figsize=(WIDTH, 1.3 + 0.55 * len(names)), layout="constrained")
    plots = fig.subplots(1, len(panels), sharey=True)
    ends = {key: (low[rows["set"] == key].min(), high[rows["set"] == key].max()) for key in panels}
    half = 0.95 * max(end - start for start, end in ends.values())  # room for the numbers
    for plot, (key, title) in zip(plots, panels.items(), strict=True):
        if limits:
            plot.set_xlim(min(limits[0], low.min()), max(limits[1], high.max()))
        else:
            middle = sum(ends[key]) / 2
            plot.set_xlim(middle - half, middle + half)
            plot.xaxis.set_major_locator(MultipleLocator(20))
        colour, marker = (ATTACKER, "s") if key in adaptive else (OURS, "o")
        of_set = rows[rows["set"] == key]
        bare = of_set["bare"].iloc[0]
        for row in of_set.itertuples():
            y = names.index(row.row)
            plot.plot([bare + row.low, bare + row.high], [y, y], color=colour, linewidth=1.5)
            style = {} if row.answer in ("gain", "loss") else HOLLOW
            plot.plot(bare + row.gain, y, marker, color=colour, markersize=6, **style)
            ahead = row.gain > 0  # the number stands on the side away from the bare model's line
            words = dict(color=colour, fontsize=SMALL, ha="left" if ahead else "right")
            number = f" {bare + row.gain:.1f} "
            plot.text(bare + (row.high if ahead else row.low), y, number, va="center", **words)
        if "push" in rows:
            y = [names.index(name) + 0.3 for name in of_set["row"]]
            plot.plot(bare + of_set["push"], y, "x", color=NOISE, markersize=6)
        plot.plot([bare, bare], [-0.6, len(names) - 0.4], **BARE)
        words = dict(color=INK, fontsize=SMALL, ha="center", va="top")
        plot.text(bare, len(names) - 0.35, f"bare model\n{bare:.1f}", **words)
        plot.set_title(title, fontsize=WORDS)
        plot.grid(axis="y", visible=False)
        plot.tick_params(axis="y", length=0)
    if "push" in rows:
        last = rows[rows["set"] == next(iter(panels))].iloc[-1]
        words = dict(color=NOISE, fontsize=SMALL, ha="left", va="center")
        plots[0].text(last["bare"] + last["push"], len(names) - 0.7, "  random", **words)
    plots[0].set_ylim(len(names) + 0.45, -0.6)
    plots[0].set_yticks(range(len(names)), [n.replace(", ", "\n") for n in names], fontsize=WORDS)
    fig.supxlabel("accuracy, %: to the right is better", fontsize=WORDS)
    return fig


# --- What a control does ------------------------------------------------------------------------


def pushes(
    state: np.ndarray, lines: Mapping[str, np.ndarray], moves: Mapping[str, np.ndarray]
) -> Figure:
    """A state in the plane, a subspace a line, and the push of each control, (2,) each."""
    fig = Figure(figsize=(WIDTH, 3.1), layout="constrained")
    plot = fig.subplots()
    beside = dict(textcoords="offset points", va="top")
    for name, end in lines.items():
        plot.axline((0, 0), end, color=INK, linewidth=1.2)
        plot.annotate(name, end, (8, -3), color=INK, fontsize=WORDS, **beside)
    for control, move in moves.items():
        arrow = dict(arrowstyle="-|>", color=OURS, linewidth=1.8, shrinkA=0, shrinkB=0)
        plot.annotate("", state + move, state, arrowprops=arrow)
        plot.annotate(control, state + move, (9, -4), color=OURS, fontsize=WORDS, **beside)
    plot.plot(*state, "o", color=INK, markersize=8)
    plot.annotate("state", state, (-38, 4), color=INK, fontsize=WORDS, **beside)
    plot.set(aspect="equal", xlim=(-0.7, 4.6), ylim=(-0.35, 3.15))
    plot.axis("off")
    return fig


# --- Table 3: which terms -----------------------------------------------------------------------


def terms(shares: pd.DataFrame) -> Figure:
    """Accuracy under each control as bars, a panel a row; the bare model a line.

    The highest bar is full, if no other is level with it (to 0.1).

    shares: accuracy in %, columns bare and the controls, rows the titles of the panels: the paper's
    four models, then ours under attack and without, which stand apart on the right.
    """
    controls = [name for name in shares if name != "bare"]
    fig = Figure(figsize=(WIDTH, 4.6), layout="constrained")
    grid = fig.add_gridspec(2, 4, width_ratios=(1, 1, 0.05, 1))
    places = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 3), (1, 3)]
    for place, (title, of_model) in zip(places, shares.iterrows(), strict=True):
        plot = fig.add_subplot(grid[place])
        colour = OURS if place[1] == 3 else PAPER
        values = of_model[controls]
        numbers = [f"{value:.1f}" for value in values]
        for x, (value, number) in enumerate(zip(values, numbers, strict=True)):
            alone = value == values.max() and numbers.count(number) == 1
            plot.bar(x, value, 0.75, color=colour, alpha=1 if alone else 0.4)
            words = dict(color=colour, fontsize=SMALL, ha="center", va="bottom")
            plot.text(x, max(value, of_model["bare"]) + 1, number, **words)
        plot.axhline(of_model["bare"], **(BARE | dict(zorder=3)))
        plot.set_title(title, fontsize=WORDS, color=colour)
        plot.grid(visible=False)
        plot.set_xticks(range(len(controls)), controls, fontsize=SMALL)
        plot.tick_params(axis="x", length=0)
        plot.set(ylim=(0, 95), yticks=(0, 25, 50, 75))
        if place[1]:
            plot.tick_params(axis="y", labelleft=False)
    fig.supxlabel("dashed line: bare model", fontsize=WORDS)
    fig.supylabel("accuracy, %: up is better", fontsize=WORDS)
    return fig


# --- What a higher price saves ------------------------------------------------------------------


def by_price(rows: pd.DataFrame, panels: Mapping[str, str]) -> Figure:
    """Accuracy against the price, a set a panel, a control a line, the bare model a line across.

    rows: columns law, price, set, gain (points), and bare (accuracy of the bare model, %).
    """
    fig = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    plots = fig.subplots(1, len(panels), sharex=True, sharey=True)
    prices = sorted(rows["price"].unique())
    rows = rows.assign(accuracy=rows["bare"] + rows["gain"])
    for plot, (key, title) in zip(plots, panels.items(), strict=True):
        of_set = rows[rows["set"] == key]
        bare = of_set["bare"].iloc[0]
        plot.plot([prices[0], prices[-1]], [bare, bare], label="bare model", **BARE)
        for law, line in of_set.groupby("law", sort=False):
            points = line.set_index("price")["accuracy"][prices]
            label = f"{law}: {points.iloc[-1]:.1f}"
            plot.plot(prices, points, "o-", color=OURS, markersize=5.5, label=label)
            start = points.iloc[0]
            top = start == of_set["accuracy"].max()
            words = dict(color=OURS, fontsize=SMALL, ha="center", va="bottom" if top else "top")
            plot.text(prices[0], start + (1 if top else -1), f"{start:.1f}", **words)
        plot.set_title(title, fontsize=WORDS)
        plot.grid(axis="x", visible=False)
    low, high = rows["bare"].min(), rows["accuracy"].max()
    plots[0].set(xscale="log", xlim=(prices[0] / 5, prices[-1] * 1.4), ylim=(low - 3, high + 5))
    plots[0].set_xticks(prices, [f"{price:g}" for price in prices])
    plots[0].minorticks_off()
    for plot in plots:
        name_ends(plot, least=0.075)
    fig.supxlabel("price c of a push: to the right pushes are weaker", fontsize=WORDS)
    fig.supylabel("accuracy, %: up is better", fontsize=WORDS)
    return fig


# --- Table 4: formula or search -----------------------------------------------------------------

STYLES = {"formula": "o-", "formula × 0.72": "o:", "PMP": "D--"}
ROWS = {  # columns: titles and the ends of their axes
    "clean": ("accuracy on clean text, %", (30, 98)),
    "attacked": ("accuracy under attack, %", (14, 59)),
}


def by_threshold(cells: pd.DataFrame) -> Figure:
    """Accuracy against the threshold, a model a column, a control a line, the bare model one across.

    cells: a row a threshold, index (model, control, threshold), columns clean and attacked, a row
    of panels each. A line is called as its control; "no control" is the bare model.
    """
    models = list(cells.index.unique("model"))
    fig = Figure(figsize=(WIDTH, 5.6), layout="constrained")
    plots = fig.subplots(len(ROWS), len(models), sharex=True, sharey="row", squeeze=False)
    for column, model in enumerate(models):
        colour = OURS if "ours" in model else PAPER
        of_model = cells.loc[model]
        controls = list(of_model.index.unique("control").drop("no control"))
        kinds = [control.split(",")[0] for control in controls]  # "PMP, running cost"
        least = 0.135 if len(set(kinds)) == len(kinds) else 0.18  # names of two lines need more
        for plot, (key, (title, limits)) in zip(plots[:, column], ROWS.items(), strict=True):
            for control, kind in zip(controls, kinds, strict=True):
                line = of_model.loc[control, key]
                name = kind if kinds.count(kind) == 1 else control
                name = name.replace(" ×", "\n×").replace(", ", ",\n").replace(" cost", "")
                plot.plot(line, STYLES[kind], color=colour, markersize=5, label=name)
            plot.set_ylim(reach(limits, cells[key]))
            name_ends(plot, least)
            bare = of_model.loc["no control", key].iloc[0]
            plot.axhline(bare, **BARE)
            above = key == "clean"
            words = dict(color=INK, fontsize=SMALL, va="bottom" if above else "top")
            plot.text(99, bare + (0.8 if above else -0.8), "bare model", **words)
            plot.grid(visible=False)
            if column == 0:
                plot.set_ylabel(title, fontsize=WORDS)
        plots[0, column].set_title(model.replace(", ", ",\n"), fontsize=WORDS, color=colour)
    thresholds = sorted(cells.index.unique("threshold"))
    plots[0, 0].set(xlim=(thresholds[-1] + 0.7, thresholds[0] - 0.7), xticks=thresholds)
    fig.supxlabel("threshold, %: subspaces shrink →", fontsize=WORDS)
    return fig


def equal_clean(pairs: pd.DataFrame) -> Figure:
    """Accuracy under attack of PMP and a formula that are equal on clean text, such a pair a row.

    pairs: columns clean, formula and attacked (of PMP), in %, gain (PMP less formula), low and high
    in points, threshold and c of PMP, its_threshold and its_c of the formula.
    """
    fig = Figure(figsize=(WIDTH, 1.1 + 0.75 * len(pairs)), layout="constrained")
    plot = fig.subplots()
    words = dict(color=OURS, fontsize=SMALL, va="center", textcoords="offset points")
    for y, row in enumerate(pairs.itertuples()):
        line = dict(arrowstyle="-", color=OURS, linewidth=1.2, shrinkA=5, shrinkB=5)
        plot.annotate("", (row.formula, y), (row.attacked, y), arrowprops=line)
        ends = [
            (row.attacked, "D", OURS, f"PMP\n{row.threshold} %, c = {row.c}"),
            (row.formula, "o", OURS, f"formula\n{row.its_threshold} %, c = {row.its_c}"),
        ]
        for (x, marker, fill, name), side in zip(sorted(ends), (-1, 1), strict=True):
            style = dict(color=OURS, markerfacecolor=fill, markersize=7, markeredgewidth=1.5)
            plot.plot(x, y, marker, **style)
            beside = "right" if side < 0 else "left"
            plot.annotate(name, (x, y), (8 * side, 0), ha=beside, **words)
        number = f"{signed(row.gain)}\n[{signed(row.low)}, {signed(row.high)}]"
        look = dict(xycoords=("axes fraction", "data"), ha="left", annotation_clip=False)
        plot.annotate(number, (1, y), (8, 0), **(words | look | dict(color=INK)))
    look = dict(xycoords="axes fraction", fontsize=WORDS, va="bottom")
    for x, side, title in ((0, "right", "right on\nclean text"), (1, "left", "PMP less\nformula")):
        shift = dict(xytext=(8 if x else -2, 2), textcoords="offset points")
        plot.annotate(title, (x, 1), ha=side, annotation_clip=False, **look, **shift)
    both = pairs[["formula", "attacked"]].to_numpy()
    span = both.max() - both.min()  # a share of it is room for the words
    limits = both.min() - 0.75 * span, both.max() + 0.9 * span
    plot.set(xlim=limits, ylim=(len(pairs) - 0.5, -0.5))
    plot.set_yticks(range(len(pairs)), [f"{x:.1f} %" for x in pairs["clean"]], fontsize=WORDS)
    plot.tick_params(axis="y", length=0)
    plot.grid(axis="y", visible=False)
    plot.set_xlabel("accuracy under attack, %: to the right is better", fontsize=WORDS)
    return fig
