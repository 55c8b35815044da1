"""Drawings of chapter 4: the shares that controls leave, by layer, price and weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from matplotlib.figure import Figure

from pidbook.figures import INK, LOSS, OURS, PALETTE, reach, slider, table, tidy
from pidbook.figures.tables import Table

LEFT, MEAN = PALETTE[4], PALETTE[1]  # what all layers together leave; the averaged law


def shares(
    by_layer: Mapping[tuple, np.ndarray], by_all: Mapping[tuple, np.ndarray], start: tuple
) -> go.Figure:
    """Shares left by each layer and by all before it, with sliders over price and depth."""
    frames = {}
    for (price, depth), alpha in by_layer.items():
        frames[f"{price:g}", str(depth)] = {
            "left by layer t": [range(depth), alpha],
            "left by all layers before it": [range(depth + 1), by_all[price, depth]],
        }
    names = ["price c", "layers T"]
    start = start if start in frames else None  # the first place
    figure = slider([], frames, names, "layer t", "share left", start, points=["left by layer t"])
    small = dict(color=LEFT, size=5)
    figure.data[1].update(mode="lines+markers", line_color=LEFT, marker=small)
    return tidy(figure)


def shares_table(by_layer: Mapping[tuple, np.ndarray], by_all: Mapping[tuple, np.ndarray]) -> Table:
    """The first share of the deepest network, and what each depth leaves at the exit."""
    deepest = max(depth for _, depth in by_layer)
    rows: dict[float, dict] = {}
    for price, depth in by_layer:
        first = by_layer[price, deepest][0]
        row = rows.setdefault(price, {"c": f"{price:g}", f"α₀, T = {deepest}": first})
        row[f"left, T = {depth}"] = f"{by_all[price, depth][-1]:.1e}"
    caption = "α of the first layer, and the share left at the exit, for every second price"
    return table(list(rows.values())[::2], caption, 4, folded=True)


def two_layers(
    along: np.ndarray,
    across: np.ndarray,
    arrives: Sequence[np.ndarray],
    controlled: Sequence[np.ndarray],
) -> Figure:
    """The first two layers: the line of clean states, the state that arrives, and the controlled."""
    figure = Figure(figsize=(5.6, 3.2), layout="constrained")
    ends = [1.62 * direction for direction in along[:2]]  # of the lines
    across_page, up_page = np.transpose([*arrives[:2], *controlled[:2], *ends])
    for t, plot in enumerate(figure.subplots(1, 2)):
        x = arrives[t]
        v = controlled[t]
        plot.plot(*np.outer(along[t], (-0.25, 1.62)), color=INK, linewidth=1)
        plot.plot(0, 0, "o", color=INK, markersize=5)
        plot.text(*(-0.13 * across[t]), "0", ha="center", va="center")
        for tip, tail, colour in ((x, (0, 0), INK), (v, (0, 0), OURS), (v, x, OURS)):
            look = dict(color=colour, arrowstyle="-|>,head_width=.25,head_length=.5", lw=1.9)
            plot.annotate("", tip, tail, arrowprops=look | dict(shrinkA=0, shrinkB=0))
        off = f"{across[t] @ x:.2f} → {across[t] @ v:.2f}"
        plot.set(xlim=reach((-0.3, 1.65), across_page), ylim=reach((-0.25, 1.5), up_page))
        plot.set(title=f"layer {t}", aspect="equal")
        plot.set(xticks=[], yticks=[], xlabel=f"off the line:\n{off}")
        plot.grid(False)
        plot.spines[:].set_visible(False)
        beside = 0.25 * np.array([-x[1], x[0]]) / np.linalg.norm(x)
        plot.text(*(0.6 * x + beside), "arrives", ha="center", va="center")
        plot.text(*((x + v) / 2 + (0.06, 0.04)), "control", color=OURS, va="bottom")
        # between arrow and line; beyond the line where it is near
        near = 0.75 if t else 0.3  # left of the words "clean states"
        middle = 0.75 * v if across[t] @ v > 0.3 else near * (along[t] @ v) * along[t]
        away = -8 * across[t]
        sides = dict(ha="left" if away[0] > 0 else "right", va="top" if away[1] < 0 else "bottom")
        where = dict(xytext=away, textcoords="offset points")
        plot.annotate("controlled", middle, color=OURS, **where, **sides)
    tilt = np.degrees(np.arctan2(*along[0][::-1]))
    look = dict(rotation=tilt, rotation_mode="anchor", ha="right", va="top")
    figure.axes[0].text(*(1.62 * along[0] - 0.03 * across[0]), "clean states", **look)
    return figure


def useful_prices(ratio: np.ndarray, left: Mapping[int, np.ndarray], limit: np.ndarray) -> Figure:
    """Share left at the exit, by depth: against the price, and against the price over depth²."""
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    by_price, by_ratio = figure.subplots(1, 2, sharey=True)
    by_ratio.semilogx(ratio, limit, color=INK, linewidth=1.2)
    by_ratio.axvline(1, color=INK, linewidth=1, linestyle="--")
    by_ratio.text(1.3, 0.1, "c = T²")
    by_price.axvline(1, color=INK, linewidth=1, linestyle="--")
    by_price.text(1.3, 0.9, "c = 1")
    for k, (depth, line) in enumerate(left.items()):
        look = dict(color=(INK, LEFT, OURS)[k % 3], marker="os^Dv"[k % 5], label=f"T = {depth}")
        dashes = ("-", "--", ":")[k % 3]
        by_price.semilogx(ratio[::2] * depth**2, line[::2], dashes, markersize=5, **look)
        own = slice(k % 3, None, 3)  # every third mark, so that none hides another
        by_ratio.semilogx(ratio[own], line[own], linestyle="", markersize=6, **look)
    by_price.set(xlabel="price c", ylabel="left at the exit")
    by_ratio.set(xlabel="price / depth², c / T²")
    handles = by_price.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=3)
    return figure


def useful_prices_table(
    ratio: np.ndarray, left: Mapping[int, np.ndarray], limit: np.ndarray
) -> Table:
    """Some of those shares."""
    rows = []
    for k in range(3, len(ratio), 3):
        row = {"c / T²": ratio[k]}
        for depth, line in left.items():
            row[f"T = {depth}"] = line[k]
        rows.append(row | {"1 / cosh": limit[k]})
    return table(rows, "Share left at the exit", folded=True)


def removed(
    weights: np.ndarray, optimum: Mapping[float, np.ndarray], average: Mapping[float, np.ndarray]
) -> Figure:
    """Share that the first layer removes, by weight: a panel for each price."""
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    panels = figure.subplots(1, len(optimum), sharey=True, squeeze=False)[0]
    for plot, (price, best) in zip(panels, optimum.items(), strict=True):
        mean = average[price]
        plot.plot(weights, best, color=OURS, label="optimum")
        plot.plot(weights, mean, "--", color=MEAN, label="averaged law")
        plot.fill_between(weights, mean, best, color=LOSS, alpha=0.32, linewidth=0)
        plot.set(title=f"c = {price:g}", xlabel="weight q", xticks=(0, 0.5, 1))
    panels[0].set_ylim(reach((0, 1.09), *optimum.values(), *average.values()))
    panels[0].set_ylabel("share removed by layer 0")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=2)
    return figure
