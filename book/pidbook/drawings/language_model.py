"""Pictures of chapter 15, a language model and its typing errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pidbook.figures import ESTIMATE, INK, NOISE, OURS, Table, page, page_and_plot, reach, table

LOOKS = {
    "paper's P": (OURS, "o"),
    "trained push": (ESTIMATE, "o"),
    "another text's push": (NOISE, "o"),
    "spelling corrector": (INK, "s"),
}
OTHER = (INK, "^")  # brown is the placebo's alone
XLABEL = "share of the divergence won back, %"


def _whole(value: float) -> str:
    """A whole number with a true minus; below 1 with one digit more."""
    return f"{value:.{1 if abs(value) < 0.95 else 0}f}".replace("-", "\N{MINUS SIGN}")


def _between(row: pd.Series) -> str:
    """A share with its interval."""
    return f"{row['share']:+.0f} [{row['low']:+.0f}, {row['high']:+.0f}]"


def listed(frame: pd.DataFrame, caption: str, digits: int) -> Table:
    """A frame as it is, a word or its slips first."""
    return table(
        frame.rename_axis("").reset_index().to_dict("records"), caption, digits, folded=True
    )


# --- Single prompts -----------------------------------------------------------------------------


def next_words(chances: pd.DataFrame) -> Figure:
    """Chances in % of some words: after the clean prompt, the slips, the slips with control."""
    fig, plot = page_and_plot(3.5, xlabel="chance of the next word, %")
    looks = [("none", INK), (INK, INK), (ESTIMATE, ESTIMATE)]
    for k, (name, (fill, edge)) in enumerate(zip(chances, looks, strict=True)):
        places = np.arange(len(chances)) + 0.28 * (k - 1)
        bars = plot.barh(places, chances[name], 0.25, color=fill, edgecolor=edge, label=name)
        plot.bar_label(bars, [f"{v:.0f}" for v in chances[name]], padding=3, color=INK)
    plot.set_yticks(range(len(chances)), [f"“{word}”" for word in chances.index])
    plot.set(xlim=reach((0, 37), 1.05 * chances), ylim=(len(chances) - 0.5, -0.5))
    plot.legend(loc="lower right")
    plot.grid(axis="y", visible=False)
    return fig


def prompts(divergence: pd.DataFrame) -> Figure:
    """Divergence of the next word, a prompt a row: with slips, and with slips and control."""
    fig, plot = page_and_plot(4.8, xlabel="divergence of the next word, nats")
    bare, controlled = (divergence[name] for name in divergence)
    y = np.arange(len(divergence))
    for k in y:
        ends = [bare.iloc[k], controlled.iloc[k]]
        plot.plot(ends, [k, k], color=INK, linewidth=1, alpha=0.5)
    ring = dict(color=INK, markersize=8, markerfacecolor="none", zorder=3)
    plot.plot(bare, y, "o", label=bare.name, **ring)
    plot.plot(controlled, y, "o", color=ESTIMATE, markersize=6, label=controlled.name)
    plot.set_yticks(y, divergence.index)
    plot.set(xlim=(0, 1.07 * bare.max()), ylim=(len(y) - 0.4, -0.6))
    plot.grid(axis="y", visible=False)
    plot.legend(loc="lower right")
    return fig


# --- Shares of 200 texts ------------------------------------------------------------------------


def _sets(fig: Figure, shares: pd.DataFrame) -> Iterator[tuple[Axes, str]]:
    """A panel for each set of text, beside one another, with the set's name."""
    names = list(dict.fromkeys(shares["data"]))
    (plots,) = fig.subplots(1, len(names), sharey=True, squeeze=False)
    return zip(plots, names, strict=True)


def won_back(shares: pd.DataFrame) -> Figure:
    """Share won back; columns data, name, share, low, high.

    A panel a set of text; a row has a bar, its interval and its number.
    """
    names = shares["name"].nunique()
    fig = page(max(3.7, 0.7 + 0.75 * names))
    for plot, data in _sets(fig, shares):
        rows = shares[shares["data"] == data]
        for y, (_, row) in enumerate(rows.iterrows()):
            colour, mark = LOOKS.get(row["name"], OTHER)
            plot.barh(y, row["share"], 0.5, color=colour, alpha=0.3)
            _interval(plot, y, row, colour, mark)
        plot.axvline(0, color=INK, linewidth=0.8)
        plot.set_yticks(range(len(rows)), [_broken(name) for name in rows["name"]])
        plot.set(title=data, ylim=(len(rows) - 0.5, -0.5))
        plot.set_xlim(reach((-100, 100), shares[["low", "high"]]))
        plot.locator_params(axis="x", nbins=4, prune="both")
        plot.grid(axis="y", visible=False)
        plot.spines["left"].set_visible(False)
        plot.tick_params(axis="y", length=0)
    fig.supxlabel(XLABEL, x=0.62, fontsize="medium", color=INK)
    return fig


def _broken(name: str) -> str:
    """A name in two lines, unless it is short."""
    if len(name) < 10:
        return name
    first, _, rest = name.partition(" ")
    return f"{first}\n{rest}" if rest else first


def _interval(
    plot: Axes, y: float, row: pd.Series, colour: str, mark: str, label: str | None = None
) -> None:
    """A share with its interval, hollow where that includes 0, and its number to the right."""
    ends = [[row["share"] - row["low"]], [row["high"] - row["share"]]]
    hollow = row["low"] <= 0 <= row["high"]
    look = dict(color=colour, markersize=5, capsize=4, label=label)
    face = "none" if hollow else colour
    plot.errorbar(row["share"], y, xerr=ends, fmt=mark, markerfacecolor=face, **look)
    how = dict(textcoords="offset points", color=INK, va="center")
    plot.annotate(_whole(row["share"]), (max(row["high"], 0), y), (7, 0), **how)


def shares_table(
    shares: pd.DataFrame, title: str, down: tuple[str, ...] = ("name",), across: str = "data"
) -> Table:
    """Shares with intervals: a row for what stands in some columns, a column for another."""
    cells = shares.assign(cell=shares.apply(_between, axis=1))
    wide = cells.pivot_table("cell", [*down], across, aggfunc="first", sort=False)
    return table(wide.reset_index().to_dict("records"), title, folded=True)


def by_kind(shares: pd.DataFrame) -> Figure:
    """Share won back by kind of slip; columns as in `won_back`, and kind."""
    fig = page(4.4)
    kinds = list(dict.fromkeys(shares["kind"]))
    names = list(dict.fromkeys(shares["name"]))
    for plot, data in _sets(fig, shares):
        for name, shift in zip(names, np.linspace(-0.26, 0.26, len(names)), strict=True):
            some = shares[(shares["data"] == data) & (shares["name"] == name)]
            for _, row in some.iterrows():
                y = kinds.index(row["kind"])
                look = LOOKS.get(name, OTHER)
                _interval(plot, y + shift, row, *look, None if y else name)
        plot.axvline(0, color=INK, linewidth=0.8)
        plot.set_yticks(range(len(kinds)), [_broken(kind) for kind in kinds])
        plot.set(title=data, ylim=(len(kinds) - 0.5, -0.5))
        plot.set_xlim(reach((-40, 50), shares[["low", "high"]]))
        plot.locator_params(axis="x", nbins=4, prune="both")
        plot.grid(axis="y", visible=False)
        plot.tick_params(axis="y", length=0)
    fig.supxlabel(XLABEL, x=0.58, fontsize="medium", color=INK)
    handles = fig.axes[0].get_legend_handles_labels()
    fig.legend(*handles, loc="outside upper center", ncols=min(3, len(names)))
    return fig
