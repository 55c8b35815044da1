"""Pictures of chapter 11, which control, and at which price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pidbook.figures import ATTACKER, INK, NOISE, OURS, PAPER, name_ends, signed

WIDTH = 5.4  # inches: then letters of 9.5 points can be read on a telephone
SMALL = 9.5  # points, the smallest letters
WORDS = 10.5  # points, of titles and axes
HOLLOW = dict(markerfacecolor="none", markeredgewidth=1.6)  # not shown


# --- Gains, a control a row ---------------------------------------------------------------------


def gains(
    rows: pd.DataFrame,
    panels: Mapping[str, str],
    limits: tuple[float, float],
    label: str = "points over the bare model: to the right is better",
    adaptive: Sequence[str] = (),
) -> Figure:
    """Gains with their intervals, a set a panel, on one scale; hollow where nothing is shown.

    rows: columns row (its name), set, gain, low, high, answer, and push where random pushes were
    tried. panels: titles of the sets. limits: of the points, wider where an interval is.
    adaptive: sets of an adaptive attack.
    """
    names = list(dict.fromkeys(rows["row"]))
    limits = (min(limits[0], rows["low"].min()), max(limits[1], rows["high"].max()))
    height = 0.65 if "push" in rows else 0.52
    fig = Figure(figsize=(WIDTH, 1.1 + height * len(names)), layout="constrained")
    plots = fig.subplots(1, len(panels), sharex=True, sharey=True)
    half = 0.045 * len(panels) * np.ptp(limits)  # of a number's width
    for plot, (key, title) in zip(plots, panels.items(), strict=True):
        colour, marker = (ATTACKER, "s") if key in adaptive else (OURS, "o")
        of_set = rows[rows["set"] == key]
        for row in of_set.itertuples():
            y = names.index(row.row)
            style = {} if row.answer in ("gain", "loss") else HOLLOW
            plot.plot([row.low, row.high], [y, y], color=colour, linewidth=1.5)
            plot.plot(row.gain, y, marker, color=colour, markersize=6, **style)
            number = dict(color=colour, fontsize=SMALL, ha="center", va="bottom")
            off_zero = np.copysign(max(abs(row.gain), half), row.gain)
            plot.text(off_zero, y - 0.12, signed(row.gain), **number)
        if "push" in rows:
            y = [names.index(name) + 0.26 for name in of_set["row"]]
            plot.plot(of_set["push"], y, "x", color=NOISE, markersize=6, markeredgewidth=1.4)
        plot.set_title(title, fontsize=WORDS)
        plot.axvline(0, color=INK, linewidth=0.8, zorder=0)
        plot.grid(axis="y", visible=False)
        plot.tick_params(axis="y", length=0)
    if "push" in rows:
        push = rows.loc[rows["set"] == next(iter(panels)), "push"].iloc[-1]
        side = "left" if push > 0 else "right"
        style = dict(color=NOISE, fontsize=SMALL, ha=side, va="center")
        plots[0].text(push, len(names) - 0.74, "  random  ", **style)
    plots[0].set(xlim=limits, ylim=(len(names) - 0.35, -0.55))
    labels = [name.replace(", ", "\n").replace(": ", ":\n") for name in names]
    plots[0].set_yticks(range(len(names)), labels, fontsize=WORDS)
    fig.supxlabel(label, fontsize=WORDS)
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
        plot.plot(*(state + move / 2), "o", color=OURS, markersize=5.5)
        plot.annotate(control, state + move, (9, -4), color=OURS, fontsize=WORDS, **beside)
    plot.plot(*state, "o", color=INK, markersize=8)
    plot.annotate("state", state, (-38, 4), color=INK, fontsize=WORDS, **beside)
    plot.set(aspect="equal", xlim=(-0.7, 4.6), ylim=(-0.35, 3.15))
    plot.axis("off")
    return fig


# --- Table 3: which terms -----------------------------------------------------------------------


def over_p(points: pd.DataFrame, controls: Sequence[str]) -> Figure:
    """Points of each control over P as bars, a panel each, a model a row; the last two are ours.

    points: a row a model, a column a control.
    """
    colours = [PAPER] * (len(points) - 2) + [OURS, INK]
    places = [y + 0.5 * (y >= len(points) - 2) for y in range(len(points))]
    fig = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    plots = fig.subplots(1, len(controls), sharex=True, sharey=True)
    for plot, control in zip(plots, controls, strict=True):
        plot.barh(places, points[control], 0.7, color=colours)
        for y, value, colour in zip(places, points[control], colours, strict=True):
            side = "left" if value >= 0 else "right"
            style = dict(color=colour, fontsize=SMALL, va="center", ha=side)
            plot.text(value + (0.4 if value >= 0 else -0.4), y, signed(value), **style)
        plot.axvline(0, color=INK, linewidth=0.8)
        plot.axhline(places[-2] - 0.75, color=INK, linewidth=0.8, linestyle=":")
        plot.set_title(control, fontsize=WORDS)
        plot.grid(visible=False)
        plot.tick_params(axis="y", length=0)
    plots[0].set_yticks(places, points.index, fontsize=WORDS)
    for name, colour in zip(plots[0].get_yticklabels(), colours, strict=True):
        name.set_color(colour)
    plots[0].set(xlim=(-16, 27), ylim=(places[-1] + 0.6, -0.6), xticks=(0, 10))
    fig.supxlabel("points of accuracy, over P: to the right is better", fontsize=WORDS)
    return fig


# --- What a higher price saves ------------------------------------------------------------------


def by_price(rows: pd.DataFrame, panels: Mapping[str, str]) -> Figure:
    """Gain against the price, a set a panel on its own scale, a control a line.

    rows: columns law, price, set and gain.
    """
    fig = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    fig.get_layout_engine().set(wspace=0.08)
    plots = fig.subplots(1, len(panels), sharex=True)
    prices = sorted(rows["price"].unique())
    for plot, (key, title) in zip(plots, panels.items(), strict=True):
        of_set = rows[rows["set"] == key]
        for law, line in of_set.groupby("law", sort=False):
            points = line.set_index("price")["gain"][prices]
            label = f"{law}: {signed(points.iloc[-1])}"
            plot.plot(prices, points, "o-", color=OURS, markersize=5.5, label=label)
            start = points.iloc[0]
            top = start == of_set["gain"].max()
            number = dict(color=OURS, fontsize=SMALL, ha="center", va="bottom" if top else "top")
            number |= dict(xytext=(0, 5 if top else -5), textcoords="offset points")
            plot.annotate(signed(start), (prices[0], start), **number)
        plot.axhline(0, color=INK, linewidth=0.8, zorder=0)
        plot.set_title(title, fontsize=WORDS)
        plot.grid(axis="x", visible=False)
        reach = np.ptp([*of_set["gain"], 0])
        low, high = min(of_set["gain"].min(), 0), max(of_set["gain"].max(), 0)
        plot.set(ylim=(low - 0.14 * reach, high + 0.14 * reach))
        plot.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 5, 10]))
    plots[0].set(xscale="log", xlim=(prices[0] / 5, prices[-1] * 1.4))
    plots[0].set_xticks(prices, [f"{price:g}" for price in prices])
    plots[0].minorticks_off()
    for plot in plots:
        name_ends(plot, least=0.075)
    fig.supxlabel("price c of a push: to the right pushes are weaker", fontsize=WORDS)
    fig.supylabel("points over the bare model: up is better", fontsize=WORDS)
    return fig


# --- Table 4: formula or search -----------------------------------------------------------------

STYLES = {"formula": "o-", "PMP": "D--", "formula × 0.72": "s:"}
BESIDE = {  # of the words at the ends of a line: points from their mark, by threshold
    "paper": {
        "formula": {99: (7, 1), 85: (7, -6)},
        "PMP": {99: (7, -9), 85: (2, -15)},
    },
    "ours": {
        "formula": {99: (-30, -8), 85: (-10, -16)},
        "PMP": {99: (7, -4), 85: (7, 0)},
        "formula × 0.72": {99: (8, -10), 85: (6, 2)},
    },
}


def clean_and_attacked(cells: pd.DataFrame) -> Figure:
    """Accuracy under attack against accuracy on clean text, a model a panel, a control a line.

    cells: a row a threshold, index (model, control, threshold), columns clean and attacked.
    """
    models = list(cells.index.unique("model"))
    fig = Figure(figsize=(WIDTH, 3.9), layout="constrained")
    plots = fig.subplots(1, len(models), sharey=True)
    words = dict(textcoords="offset points", fontsize=SMALL)
    for plot, model in zip(plots, models, strict=True):
        who, colour = ("ours", OURS) if "ours" in model else ("paper", PAPER)
        for control, places in BESIDE[who].items():
            line = cells.loc[model, control]
            look = dict(color=colour, markersize=5.5, label=control)
            plot.plot(line["clean"], line["attacked"], STYLES[control], **look)
            for threshold, place in places.items():
                whose = "× 0.72:\n" if control == "formula × 0.72" else ""
                name = f"{whose}{threshold} %"
                plot.annotate(name, line.loc[threshold], place, color=colour, **words)
        bare = cells.loc[model, "no control"].iloc[0]
        plot.plot(*bare, "o", color=INK, markersize=5.5)
        plot.annotate("bare model", bare, (8, -15), ha="right", color=INK, **words)
        plot.set_title(model, fontsize=WORDS, loc="left")
        plot.grid(visible=False)
        place = dict(loc="lower left", bbox_to_anchor=(0, 0.09))
        plot.legend(**place, fontsize=SMALL, frameon=False, handlelength=2.4)
    plots[0].set(ylim=(17, 59), xlim=(30, 104))
    plots[-1].set(xlim=(48, 94))
    fig.supxlabel("accuracy on clean text, %: to the right is better", fontsize=WORDS)
    fig.supylabel("accuracy under attack, %: up is better", fontsize=WORDS)
    return fig


def equal_clean(rows: pd.DataFrame) -> Figure:
    """Accuracy under attack of the formula and PMP, a row a clean accuracy that both have.

    rows: columns clean (of both, in %), cost, threshold and price (of PMP, as text), formula and
    attacked (of PMP), formula_threshold and formula_price, gain, low and high.
    """
    fig = Figure(figsize=(WIDTH, 0.9 + 0.68 * len(rows)), layout="constrained")
    plot = fig.subplots()
    words = dict(fontsize=SMALL, color=OURS, va="center")
    side = rows[["formula", "attacked"]].max(axis=None) + 3  # where the numbers stand
    for y, row in enumerate(rows.itertuples()):
        plot.plot([row.formula, row.attacked], [y, y], color=OURS, linewidth=1.5, alpha=0.5)
        plot.plot(row.formula, y, "o", color=OURS, markersize=8)
        plot.plot(row.attacked, y, "D", color=OURS, markersize=7.5)
        ends = f"[{signed(row.low)}, {signed(row.high)}]"
        plot.text(side, y, f"{signed(row.gain)} {ends}", **words)
        given = f"{row.formula_threshold} %, c = {row.formula_price}"
        plot.text(row.formula, y + 0.16, given, **(words | dict(ha="center", va="top")))
    first = rows.iloc[0]
    beside = dict(fontsize=SMALL, color=OURS, ha="center", va="bottom")
    plot.text(first["formula"], -0.26, "formula", **beside)
    plot.text(first["attacked"], -0.26, "PMP", **beside)
    plot.text(side, -0.62, "PMP less formula", fontsize=SMALL, color=INK, va="center")
    names = []
    for row in rows.itertuples():
        of_pmp = f"{row.cost} cost,\n{row.threshold} %, c = {row.price}"
        names.append(f"both {row.clean:g} % clean\n{of_pmp}")
    plot.set_yticks(range(len(rows)), names, fontsize=WORDS)
    plot.set(xlim=(24, side + 19), ylim=(len(rows) - 0.45, -0.95), xticks=(30, 40, 50))
    plot.grid(visible=False)
    plot.tick_params(axis="y", length=0)
    plot.set_xlabel("accuracy under attack, %: to the right is better", fontsize=WORDS)
    return fig
