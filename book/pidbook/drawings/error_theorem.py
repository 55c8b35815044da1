"""Pictures of chapter 5, Theorem 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pidbook.figures import (
    INK,
    LOSS,
    OURS,
    Table,
    page,
    page_and_plot,
    reach,
    slider,
    table,
    tidy,
)

THEORY = dict(color=OURS, linewidth=3.5, alpha=0.7, label="Theorem 1")
DOTS = dict(color=OURS, marker="o", markersize=5, linestyle="", label="simulated")
FREE = dict(color=INK, linewidth=1.2, linestyle="--")  # the network without control
FAINT = dict(color=INK, linewidth=0.8, alpha=0.5)

# --- The smallest case --------------------------------------------------------------------------


def plane(
    clean: np.ndarray, free: np.ndarray, controlled: np.ndarray, undone: np.ndarray
) -> Figure:
    """States in the plane as the layers rotate it, and with that undone; (T + 1, 2) each."""
    fig = page(3.6)
    left, right = fig.subplots(1, 2, width_ratios=(5, 4))
    _turning(left, clean, free, controlled)
    _undone(right, clean[0], free[0], undone)
    names = ("clean", "controlled", "without control")
    marks = dict(zip(*reversed(right.get_legend_handles_labels()), strict=True))
    fig.legend([marks[name] for name in names], names, loc="outside upper center", ncols=3)
    return fig


def _turning(plot: Axes, clean: np.ndarray, free: np.ndarray, controlled: np.ndarray) -> None:
    """One ray a layer, with the number of layers passed."""
    last = len(clean) - 1
    for t in range(last + 1):
        ray = clean[t] / np.linalg.norm(clean[t])
        plot.plot(*np.outer(ray, [0, 0.8]), **FAINT)
        plot.plot(*np.outer(ray, [1.2, 3.15]), **FAINT)
        plot.annotate(str(t), ray, ha="center", va="center")
        _states(plot, clean[t], controlled[t], free[t] if t in (0, last) else None)
    plot.plot(*np.transpose([clean[last], free[last]]), **FREE)
    start = (clean[0] + free[0]) / 2
    plot.text(start[0] + 0.17, start[1] - 0.18, "z", color=LOSS, ha="left", va="center")
    x, y = free[last]
    plot.text(x + 0.55, y, "z, rotated by\nthe layers alone", va="center")
    x, y = np.concatenate([clean, controlled, free[[0, last]]]).T
    plot.set(xlim=reach((-3.0, 3.0), x), ylim=reach((-1.6, 3.0), y), title="as the layers rotate")
    plot.set(aspect="equal", anchor="N")
    plot.set_axis_off()


def _undone(plot: Axes, clean: np.ndarray, free: np.ndarray, undone: np.ndarray) -> None:
    """All states above one line, the height of four of them in words."""
    last = len(undone) - 1
    plot.plot([1.2, 3.15], [0, 0], color=INK, linewidth=0.8)
    for t, state in enumerate(undone):
        _states(plot, clean, state, free if t == 0 else None)
    x, heights = undone[0, 0] + 0.11, undone[:, 1]
    start = f"start: {heights[0]:.2f} above\nthe line; without\ncontrol it stays"
    plot.text(x, heights[0] + 0.06, start, va="top")
    free_above, free_below = heights[0] - 0.4, 0.2  # between the words at the start and at the end
    for t, words in ((1, "after 1 layer"), (2, "after 2")):
        if free_below < heights[t] < free_above:
            plot.text(x, heights[t], f"{words}: {heights[t]:.2f}", va="center")
            free_above = heights[t] - 0.1
    leader = dict(arrowstyle="-", color=INK, linewidth=0.8)
    end = f"after {last}: {heights[last]:.2f}"
    plot.annotate(end, undone[last], (x + 0.19, 0.13), va="center", arrowprops=leader)
    along = undone[0, 0] - clean[0]
    both_ways = dict(arrowstyle="<->", color=INK, linewidth=0.8, shrinkA=0, shrinkB=0)
    plot.annotate("", (clean[0], -0.1), (undone[0, 0], -0.1), arrowprops=both_ways)
    middle = (clean[0] + undone[0, 0]) / 2
    plot.text(middle, -0.2, f"{along:.1f} along the line", ha="center", va="center")
    x, y = np.vstack([undone, clean]).T
    plot.set(xlim=reach((1.9, 3.2), x), ylim=reach((-0.28, 1.35), y), title="the rotation undone")
    plot.set(aspect="equal", anchor="N")
    plot.set_axis_off()


def _states(plot: Axes, clean: np.ndarray, controlled: np.ndarray, free: np.ndarray | None) -> None:
    """A clean state, the controlled one beside it and, if given, the one without control."""
    plot.plot(*np.transpose([clean, controlled]), color=LOSS, linewidth=1.5)
    if free is not None:
        hollow = dict(color=INK, fillstyle="none", markersize=10, linestyle="")
        plot.plot(*free, marker="D", label="without control", **hollow)
    plot.plot(*clean, "s", color=INK, label="clean")
    plot.plot(*controlled, **DOTS | {"label": "controlled"})


def plane_table(undone: np.ndarray, formula: np.ndarray, shares: np.ndarray) -> Table:
    """Coordinates of the controlled state, the formula, and the share that each layer leaves."""
    rows = []
    for t, (along, height) in enumerate(undone):
        row = {"layers passed, t": t, "along": along, "height": height}
        row[f"{formula[0]:g} α₀ … αₜ₋₁"] = formula[t]
        row["αₜ"] = f"{shares[t]:.3f}" if t < len(shares) else ""
        rows.append(row)
    return table(rows, "The controlled state, with the rotation undone", digits=3, folded=True)


# --- The price ----------------------------------------------------------------------------------


def price_slider(
    theory: Mapping[float, np.ndarray],
    simulated: Mapping[float, np.ndarray],
    thin: Sequence[float] = (10, 100, 1000),
) -> go.Figure:
    """Length outside the subspace by layer, (T + 1,) each, at a price that the reader chooses.

    The curves of `thin` prices are always there, with their names; a steep one with sqrt(c).
    """
    last = len(next(iter(theory.values()))) - 1
    frames = {f"{c:g}": {"Theorem 1": theory[c], "simulated": simulated[c]} for c in theory}
    labels = ("layers passed, t", "length outside the subspace")
    start = "1" if "1" in frames else next(iter(frames))
    fig = slider(range(last + 1), frames, "c", *labels, start, ["simulated"])
    for c in (c for c in thin if c in theory):
        curve = theory[c]
        points = " L ".join(f"{t},{y:.3f}" for t, y in enumerate(curve))
        line = dict(color=OURS, width=1.2)
        fig.add_shape(type="path", path=f"M {points}", line=line, layer="below")
        steep = curve[last] < 0.2  # then the name stands at the bend, not at the end
        x, y = (2.1, curve[2] + 0.03) if steep else (last + 0.3, curve[last])
        fig.add_annotation(text=f"c = {c:g}", x=x, y=y)
        if steep:  # sqrt(c) layers, where the curve has come down to 1/e
            mark = dict(color=INK, width=1.5, dash="dot")
            fig.add_shape(x0=c**0.5, x1=c**0.5, y0=0, y1=np.exp(-1), line=mark, layer="below")
            fig.add_annotation(text=f"√{c:g} ≈ {c**0.5:.1f}", x=c**0.5 + 0.1, y=0.09)
    _level(fig, last, 1, "dash")
    _level(fig, last, np.exp(-1), "dot")
    fig.add_annotation(text="without control", x=last / 2, y=1.06)
    fig.add_annotation(text="1/e: 0.37", x=last + 0.3, y=np.exp(-1) - 0.035)
    fig.update_annotations(showarrow=False, xanchor="left", borderpad=0)
    fig.update_layout(font_size=17, height=490, xaxis_title_font_size=17)
    fig.update_layout(yaxis_title=dict(font_size=17, standoff=12))
    fig.update_xaxes(range=(-0.4, last + 3.8), tickvals=list(range(0, last + 1, 2)))
    fig.update_yaxes(range=(-0.05, 1.14))
    fig.data[0].update(line=dict(color=OURS, width=5), opacity=THEORY["alpha"])
    fig.data[1].marker.update(color=OURS, symbol="circle")
    return tidy(fig)


def _level(fig: go.Figure, last: int, y: float, dash: str) -> None:
    """A level line from the first layer to the last."""
    line = dict(color=INK, width=1.5, dash=dash)
    fig.add_shape(x0=0, x1=last, y0=y, y1=y, line=line, layer="below")


def price_table(
    simulated: Mapping[float, np.ndarray], layers: Sequence[int] = (0, 1, 3, 6)
) -> Table:
    """Simulated lengths, (T + 1,) each, at some layers and after the last, a price a row."""
    rows = []
    for c, lengths in simulated.items():
        last = len(lengths) - 1
        passed = [*(t for t in layers if t < last), last]
        rows.append({"c": f"{c:g}"} | {f"t = {t}": lengths[t] for t in passed})
    title = "Simulated length of the error outside the subspace, by layer"
    return table(rows, title, 4, folded=True)


# --- The rule for the price ---------------------------------------------------------------------


def valleys(
    theory: Mapping[float, tuple[np.ndarray, np.ndarray]],
    simulated: Mapping[float, tuple[np.ndarray, np.ndarray]],
    best: Mapping[float, tuple[float, float]],
) -> Figure:
    """Mean squared error against the price, for several clean energies X; Z is 1.

    theory, simulated: X to (prices, errors); best: X to (price, error).
    """
    if min(best) <= 0:
        raise ValueError(f"clean energies X: {list(best)}; each must be above 0, or its price is 0")
    curves = [*theory.values(), *simulated.values()]
    highest = max(3.3, *(np.max(errors) for _, errors in curves))
    lowest = min(error for _, error in best.values())
    low, high = reach((-0.1, 3.3), highest, lowest - 0.08 * highest)
    first, last = reach((-0.125, 4.115), *(np.log10(prices) for prices, _ in curves))
    fig, plot = page_and_plot(4.6, xscale="log", xlim=(10**first, 10**last), ylim=(low, high))
    plot.set(xlabel="price c: low to high", ylabel="mean squared error outside")
    plot.axhspan(1, high, color=INK, alpha=0.1, linewidth=0)
    plot.axhline(1, **FREE)
    at_right = dict(ha="right", transform=plot.get_yaxis_transform())
    plot.text(0.98, 2.2, "worse than\nwithout control", va="center", **at_right)
    plot.text(0.98, 1.06, "without control", va="bottom", **at_right)
    star = dict(color=OURS, markeredgecolor=INK, markersize=17, linestyle="", marker="*")
    leader = dict(arrowstyle="-", color=INK, linewidth=0.8, shrinkB=9)
    for X, (price, error) in best.items():
        plot.plot(*theory[X], **THEORY | {"label": "R(η), theory"})
        plot.plot(*simulated[X], **DOTS)
        plot.plot(price, error, **star, label="price of the rule")
        start = (theory[X][0][0], theory[X][1][0])
        plot.annotate(
            f"clean energy X = {X:g}", start, (0, 6), va="bottom", textcoords="offset points"
        )
        near = error > 0.6  # near the level of no control: the number stands well above it
        place = (4, 42) if near else (0, -14 if error == lowest else 15)
        middle = dict(ha="center", va="center", arrowprops=leader if near else None)
        where = dict(xytext=place, textcoords="offset points")
        plot.annotate(f"c = {price:.0f}", (price, error), **where, **middle)
    fig.legend(handles=plot.lines[1:4], loc="outside upper center", ncols=3)
    powers = range(int(np.ceil(first)), int(np.floor(last)) + 1)
    plot.set_xticks([10.0**power for power in powers], [f"{10.0**power:g}" for power in powers])
    return fig


def valleys_table(
    best: Mapping[float, tuple[float, float]], at_rule: Mapping[float, float]
) -> Table:
    """The price of the rule, and the error there by theory and simulated; Z is 1."""
    rows = []
    for X, (price, error) in best.items():
        row = {"X / Z": X, "best c": price, "best η": X / (X + 1)}
        rows.append(row | {"rule": error, "simulated": at_rule[X]})
    return table(rows, "Mean squared error at the price of the rule", folded=True)
