"""Drawings of chapter 3: shares as tiles, two bills of one layer, and the cost of another gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from pidbook.figures import OURS, PALETTE, curves, name_ends, reach, table
from pidbook.figures.tables import Table

GREEDY = PALETTE[1]  # a layer that looks at its own bill only


def tiles(shares: Sequence[Fraction]) -> Figure:
    """A row of tiles for networks of 1, 2, ... layers; shares: from the last layer back."""
    layers = len(shares)
    figure = Figure(figsize=(5.6, max(2.4, 0.2 + 0.55 * layers)))
    look = dict(ha="center", va="center", color="white", fontsize=min(12, 80 / layers))
    plot = figure.add_subplot()
    for depth in range(1, layers + 1):
        for t in range(depth):
            share = shares[depth - 1 - t]
            colour = np.array(to_rgb(OURS)) * (0.93 - 3.4 * (0.5 - float(share)))  # by value
            plot.barh(depth, 0.94, left=t - 0.47, height=0.86, color=colour)
            text = str(share) if layers < 7 else f"{float(share):.3f}"  # long fractions do not fit
            plot.text(t, depth, text, **look)
    plot.set(yticks=range(1, layers + 1), xticks=range(layers))
    plot.set(xlabel="layer t", ylabel="layers in the network")
    plot.set(xlim=(-0.6, layers - 0.4), ylim=(layers + 0.6, 0.4))
    plot.grid(False)
    return figure


def tiles_table(shares: Sequence[Fraction]) -> Table:
    """What the first layer and all layers of each network leave."""
    rows = []
    for depth in range(1, len(shares) + 1):
        left = prod(shares[:depth], start=Fraction(1))
        row = {"layers": depth, "the first layer leaves": str(shares[depth - 1])}
        rows.append(row | {"all layers leave": str(left), "as a number": float(left)})
    return table(rows, "What is left", digits=5, folded=True)


def two_bills(
    corrected: np.ndarray, own: np.ndarray, with_next: np.ndarray, greedy: int, ahead: int
) -> Figure:
    """Cost by the share corrected; greedy and ahead: the places of the least of each."""
    figure = Figure(figsize=(5.6, 3.3))
    plot = figure.add_subplot()
    plot.plot(corrected, with_next, "-", color=OURS, label="with the next layer's bill")
    plot.plot(corrected, own, "--", color=GREEDY, label="its own bill only")
    for line, best, colour, (right, up) in (
        (with_next, ahead, OURS, (0.09, 0.165)),
        (own, greedy, GREEDY, (0, -0.055)),
    ):
        x, y = corrected[best], line[best]
        plot.plot(x, y, "o", color=colour, markersize=8)
        part = Fraction(x).limit_denominator(9)
        text = f"least at {part} (leaves {1 - part})"
        plot.text(x + right, y + up, text, ha="center", va="center", color=colour)
    paid = (corrected[greedy], with_next[greedy])
    plot.plot(*paid, "o", color=GREEDY, fillstyle="none", markersize=9)
    words = f"greedy: {Fraction(paid[1]).limit_denominator(99)} in all"
    leader = dict(arrowstyle="-", color=GREEDY, linewidth=0.8, shrinkB=6)
    plot.annotate(
        words, paid, (paid[0] - 0.14, paid[1] + 0.26), ha="center", color=GREEDY, arrowprops=leader
    )
    plot.set(
        ylim=reach((0.15, 0.78), own, with_next),
        xlabel="share that the first layer corrects",
        ylabel="cost",
    )
    plot.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


def sizes(seen: Mapping[str, np.ndarray]) -> Figure:
    """Size of the state that each layer sees, a line for each control."""
    layers = range(len(next(iter(seen.values()))))
    figure = curves(layers, seen, "layer t", "size of the state it sees")
    figure.set_size_inches(5.8, 3.5)
    name_ends(figure.axes[0])
    return figure


def other_gains(
    scales: np.ndarray, costs: np.ndarray, least: float, paid: Mapping[str, float], dashed: str
) -> Figure:
    """What the best gain times a factor, and one law of those that paid, pay above the least cost."""
    if dashed not in paid:
        raise ValueError(f"no law {dashed!r}; there are {list(paid)}")
    lines = {"s times the best gain": 100 * (costs / least - 1)}
    figure = curves(scales, lines, "factor s on the best gain", "extra cost, %")
    plot = figure.axes[0]
    extra = 100 * (paid[dashed] / least - 1)
    name = "greedy gain" if dashed == "greedy" else dashed
    plot.axhline(extra, color=GREEDY, linestyle="--", label=name)
    plot.plot(1, 0, "o", color=OURS, markersize=9, label="the best gain", clip_on=False)
    near = np.isclose(scales, 0.9) | np.isclose(scales, 1.1)  # off by 10 %
    plot.plot(scales[near], lines["s times the best gain"][near], "o", color=OURS, markersize=5)
    plot.set(ylim=(0, 1.05 * max(*plot.lines[0].get_ydata(), extra)))
    plot.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return figure


def laws_table(costs: Mapping[str, float], by_identity: Mapping[str, float]) -> Table:
    """Cost of each law, added up and by the identity."""
    rows = []
    for law, paid in costs.items():
        rows.append({"law": law, "cost": paid, "by the identity": by_identity[law]})
    return table(rows, "Cost of each law", digits=4, folded=True)
