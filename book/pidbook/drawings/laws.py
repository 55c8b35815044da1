"""Pictures of chapter 11, which control, and at which price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from pidbook.figures import ATTACKER, INK, NOISE, OURS, PAPER, name_ends

WIDTH = 5.4  # inches: then letters of 9.5 points can be read on a telephone
SMALL = 9.5  # points, the smallest letters
WORDS = 10.5  # points, of titles and axes
HOLLOW = dict(markerfacecolor="none", markeredgewidth=1.6)  # not shown to differ from it
BARE = dict(color=INK, linewidth=1.2, linestyle="--", zorder=0)  # the line of the bare model


# --- Accuracy, a control a row ------------------------------------------------------------------


def accuracies(
    rows: pd.DataFrame,
    sets: Sequence[str],
    limits: tuple[float, float] | None = None,
    adaptive: Sequence[str] = (),
    names: str = "row",
) -> Figure:
    """Accuracy with the interval of its gain, a set a panel; the bare model a line.

    A point is as wide in each panel.

    rows: columns set, bare (accuracy of the bare model, %), gain, low, high (points over it),
    answer, and push where random pushes were tried. sets: those to draw. limits: of all panels,
    wider where an interval is; without, each panel has its own, about its marks. adaptive: sets of
    an adaptive attack. names: the column that names a row.
    """
    rows = rows.assign(row=rows[names])
    names = list(dict.fromkeys(rows["row"]))
    low, high = rows["bare"] + rows["low"], rows["bare"] + rows["high"]
    fig = Figure(figsize=(WIDTH, 1.3 + 0.55 * len(names)), layout="constrained")
    plots = fig.subplots(1, len(sets), sharey=True)
    ends = {key: (low[rows["set"] == key].min(), high[rows["set"] == key].max()) for key in sets}
    half = 0.95 * max(end - start for start, end in ends.values())  # room for the numbers
    for plot, key in zip(plots, sets, strict=True):
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
        plot.set_title(key, fontsize=WORDS)
        plot.grid(axis="y", visible=False)
        plot.tick_params(axis="y", length=0)
    if "push" in rows:
        last = rows[rows["set"] == sets[0]].iloc[-1]
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

    The bar of P-D is full.

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
        for x, (control, value) in enumerate(values.items()):
            plot.bar(x, value, 0.75, color=colour, alpha=1 if control == "P-D" else 0.4)
            words = dict(color=colour, fontsize=SMALL, ha="center", va="bottom")
            plot.text(x, max(value, of_model["bare"]) + 1, f"{value:.1f}", **words)
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


def by_price(rows: pd.DataFrame, sets: Sequence[str]) -> Figure:
    """Accuracy against the price, a set a panel, a control a line, the bare model a line across.

    rows: columns law, price, set, gain (points), and bare (accuracy of the bare model, %).
    """
    fig = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    plots = fig.subplots(1, len(sets), sharex=True, sharey=True)
    prices = sorted(rows["price"].unique())
    rows = rows.assign(accuracy=rows["bare"] + rows["gain"])
    for plot, key in zip(plots, sets, strict=True):
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
        plot.set_title(key, fontsize=WORDS)
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
