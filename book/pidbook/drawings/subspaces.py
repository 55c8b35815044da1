"""Drawings of chapter 2: a bent set, the flat subspaces that hold it, and what they miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pidbook.figures import INK, PALETTE, page, reach, slider, table, tidy
from pidbook.figures.tables import Table

BENT, FLAT, STATES, OFF, SUMS, CHANGES = PALETTE


def curve_and_plane(
    points: np.ndarray, curve: np.ndarray, feet: np.ndarray, plane: np.ndarray
) -> Figure:
    """States about a curve in space, a plane (3, 2), and lines from the curve to its feet on it.

    What lies under the plane is drawn before it, so that the plane veils it.
    """
    figure = Figure(figsize=(5.6, 4.2))
    plot = figure.add_subplot(projection="3d", facecolor="none", computed_zorder=False)
    a, b = np.meshgrid([-1.3, 1.3], [-1.3, 1.3])
    sheet = a * plane[:, 0, None, None] + b * plane[:, 1, None, None]
    plot.plot_surface(*sheet, color=FLAT, alpha=0.35, zorder=2)
    normal = np.cross(plane[:, 0], plane[:, 1])
    up = normal * np.sign(normal[2])
    for order, side in ((1, -1), (3, 1)):  # under the plane, over it
        over = side * (curve @ up) >= -0.03  # the two halves of the curve meet
        plot.plot(
            *np.where(over[:, None], curve, np.nan).T, color=BENT, linewidth=2.5, zorder=order
        )
        plot.plot(
            *points[side * (points @ up) > 0].T, "^", color=STATES, markersize=3, zorder=order
        )
        for top, foot in zip(curve[::8], feet[::8], strict=True):
            if side * ((top - foot) @ up) > 0:
                plot.plot(*np.array([foot, top]).T, color=OFF, linewidth=1, zorder=order)
    plot.plot(*feet[::8].T, "o", color=OFF, markersize=3, zorder=2.5)
    plot.set(zlim=reach((-0.8, 0.8), points[:, 2]), xticks=(), yticks=(), zticks=())
    plot.set_axis_off()
    plot.set_box_aspect((1, 1, 0.75), zoom=1.45)
    names = {
        "— clean set": (0.01, BENT),
        "▲ measured states": (0.22, STATES),
        "■ best plane": (0.54, FLAT),
        "— what it loses": (0.77, OFF),
    }
    for name, (x, colour) in names.items():
        figure.text(x, 0.96, name, color=colour, fontsize=12)
    return figure


def directions_table(eigenvalues: np.ndarray, without_noise: Sequence, kept: np.ndarray) -> Table:
    """The eigenvalues of the second moment, and the energy that the first r hold."""
    rows = []
    for k, value in enumerate(eigenvalues):
        row = {"direction": k + 1, "eigenvalue": value, "without noise": without_noise[k]}
        rows.append(row | {"energy kept so far": kept[k]})
    return table(rows, "The three directions of these states", digits=2, folded=True)


def side_views(views: Mapping[tuple, tuple], start: tuple = ("0.6", "2")) -> go.Figure:
    """The curve from the side, what r directions keep of it, and states, by (bend, r)."""
    frames = {}
    for (bend, r), (curve, kept, points) in views.items():
        frames[f"{bend:g}", str(r)] = {
            "curve": curve[:, [0, 2]].T,
            "kept by r directions": kept[:, [0, 2]].T,
            "measured states": points[:, [0, 2]].T,
        }
    names = ("bend β", "directions r")
    points = ["measured states"]
    start = start if start in frames else None  # the first place
    return tidy(slider([], frames, names, "cos ψ", "β cos 2ψ", start, points=points), 3)


def gaps_table(gaps: Mapping[tuple, float]) -> Table:
    """Root mean square gaps, a row a bend."""
    rows: dict[float, dict] = {}
    for (bend, r), gap in gaps.items():
        rows.setdefault(bend, {"bend": bend})[f"gap, r = {r}"] = gap
    for bend, row in rows.items():
        row["bend / √2"] = bend / np.sqrt(2)
    return table(list(rows.values()), "Root mean square gap", folded=True)


def distances(x: np.ndarray, foot: np.ndarray, direction: np.ndarray) -> Figure:
    """Left: a state and its two parts. Right: two disturbances of its foot, along and off."""
    figure = page(3.3)
    left, right = figure.subplots(1, 2)
    clean = foot / 2
    size = 0.8
    off = size * (x - foot) / np.linalg.norm(x - foot)
    under = np.array([direction[1], -direction[0]])  # at right angles to the line
    wide, high = np.transpose([x, foot, clean + size * direction, clean + off])
    for plot in (left, right):
        plot.axline((0, 0), direction, color=FLAT, linewidth=1)
        plot.text(*(1.57 * direction + 0.17 * under), r"$\mathcal{V}$", color=FLAT, fontsize=13)
        plot.set(xlim=reach((-0.1, 1.7), wide), ylim=reach((-0.2, 1.6), high), aspect="equal")
        plot.set_axis_off()
    left.set_title(r"a subspace $\mathcal{V}$")
    zero = np.zeros(2)
    left.plot(*np.transpose([zero, x]), "--", color=STATES, linewidth=1.5)
    left.plot(*x, "o", color=STATES, markersize=8)
    left.text(*(x / 2 + (-0.14, 0.08)), "x", color=STATES, fontsize=13)
    _arrow(left, zero, foot, FLAT, "Πx", (0.05, -0.18))
    _arrow(left, foot, x, OFF, "Qx", (0.1, 0.06), gap=5)
    right.set_title("two disturbances")
    beside = (0.6 * direction[1] - 0.48, -0.3)
    _arrow(right, clean, clean + size * direction, INK, "along: not seen", beside)
    _arrow(right, clean, clean + off, OFF, "off: seen", (0.1, 0.06))
    right.plot(*clean, "o", color=STATES, markersize=8)
    return figure


def _arrow(
    plot: Axes,
    tail: np.ndarray,
    tip: np.ndarray,
    colour: str,
    name: str,
    beside: tuple,
    gap: float = 0,  # points between the head and the tip
) -> None:
    look = dict(arrowstyle="-|>", color=colour, linewidth=2.5, shrinkA=0, shrinkB=gap)
    plot.annotate("", tip, tail, arrowprops=look)
    plot.text(*((tail + tip) / 2 + beside), name, color=colour, fontsize=13)


def energy_lost(
    measured: Mapping[float, np.ndarray],
    formula: Mapping[float, np.ndarray],
    ranks: Mapping[float, int],
    limit: float,
    start: str = "0.7",
) -> go.Figure:
    """Share of the energy lost by directions kept, with a slider over the bend."""
    if not 0 < limit < 1:
        raise ValueError(f"the limit is {limit}; a share of the energy is above 0 and below 1")
    frames = {}
    held = f"{100 * (1 - limit):g} % kept"
    for bend, lost in measured.items():
        first = ranks[bend]  # the first r that loses no more, if there is one
        ring = [[first], [np.append(lost, np.nan)[first]]]
        lines = {"formula": formula[bend], "measured": lost, held: ring}
        frames[f"{bend:g}"] = lines
    label = ("directions kept r", "share of the energy lost")
    start = start if start in frames else None  # the first place
    points = ["measured", held]
    kept = range(len(next(iter(measured.values()))))
    figure = slider(kept, frames, "bend β", *label, start, points=points, log=True)
    figure.data[0].line.color = INK
    figure.data[1].marker = dict(color=OFF, size=6)
    figure.data[2].marker = dict(color=INK, size=15, symbol="circle-open")
    figure.add_hline(limit, line=dict(color=INK, dash="dot", width=1.5))
    figure.add_annotation(
        x=0, y=np.log10(limit), text=f"{100 * limit:g} %", showarrow=False, yshift=-11
    )
    return tidy(figure, 5)


def large_mean(cloud: np.ndarray, lines: Mapping[str, np.ndarray]) -> Figure:
    """States away from the origin (n, 2), and what each of two lines through it leaves of them.

    A line is given by its direction, (2,).
    """
    figure = page(3.9)
    words = {
        "basis about the origin": "lost: how the states differ",
        "basis about the mean": "called an error: the mean",
    }
    shown = cloud[np.argsort(cloud[:, 0])[3::8]]
    panels = figure.subplots(1, len(lines), sharex=True, sharey=True, squeeze=False)[0]
    wide, high = cloud.T
    for panel, (name, direction) in zip(panels, lines.items(), strict=True):
        panel.axline((0, 0), direction, color=FLAT)
        for state in shown:
            foot = state @ direction * direction
            panel.plot(*np.array([foot, state]).T, color=OFF, linewidth=1)
        panel.plot(wide, high, "^", color=STATES, markersize=3, zorder=3)
        panel.plot(0, 0, "+", color=INK, markersize=12)
        panel.set_title(name, pad=22)
        panel.text(
            0.5, 1.02, words.get(name, "lost"), color=OFF, ha="center", transform=panel.transAxes
        )
        panel.set(xlim=reach((-1.5, 4.5), wide), ylim=reach((-1.7, 4.8), high), aspect="equal")
        panel.set(xlabel="first number", xticks=(0, 2, 4), yticks=(0, 2, 4))
    panels[0].set_ylabel("second number")
    return figure


def clean_bias(
    before: np.ndarray, now: np.ndarray, shares: Mapping[str, float], by_chance: float
) -> Figure:
    """Left: a state before and after a turn, and the line of its change.

    Right: share of clean energy outside each subspace, and outside a random one, by_chance.
    """
    figure = page(3.2)
    left, right = figure.subplots(1, 2, width_ratios=(1.4, 1.2))
    zero = np.zeros(2)
    line = (now - before) / np.linalg.norm(now - before)
    foot = line * (line @ now)
    ends = np.outer(line, (-0.35, max(0.55, 1.1 * line @ now)))
    left.plot(*ends, color=CHANGES, linewidth=1.5)
    left.text(0.2, -0.2, "subspace of changes", color=CHANGES, fontsize=12, ha="center", va="top")
    left.plot(*np.transpose([foot, now]), color=OFF, linewidth=1.5)
    for name, state in {"$x_{t-1}$": before, "$x_t$": now}.items():
        _arrow(left, zero, state, STATES, name, (0.1 * state[1], -0.1 * state[0]))
    _arrow(left, before, now, CHANGES, "change", (0.03, 0.1))
    wide, high = np.transpose([before, now, *ends.T])
    left.set(xlim=reach((-0.5, 0.95), wide), ylim=reach((-0.32, 1.1), high), aspect="equal")
    left.set_title("a state and its change")
    left.set_axis_off()
    values = 100 * np.array(list(shares.values()))
    bars = right.barh(list(shares), values, 0.6, color=(FLAT, SUMS, CHANGES))
    right.bar_label(bars, [f"{value:.0f} %" for value in values], padding=5)
    right.axvline(100 * by_chance, color=INK, linewidth=1.4, linestyle=":")
    right.text(100 * by_chance - 2, 0.5, "a random\nsubspace", color=INK, ha="right", va="center")
    right.set(xlim=(0, 112), xticks=(0, 50, 100), xlabel="clean energy outside, %")
    right.invert_yaxis()
    right.grid(visible=False)
    return figure


def clean_bias_table(shares: Mapping[str, np.ndarray]) -> Table:
    """The same shares from layer 1 on."""
    rows = []
    for t in range(1, len(shares["P"])):
        row = {"t": t}
        for name, line in shares.items():
            row[f"{name}-subspace"] = line[t]
        rows.append(row)
    return table(rows, "Clean bias: share of clean energy outside", digits=2, folded=True)


def over_time(moved: np.ndarray, energy: np.ndarray, short: int) -> Figure:
    """Left: how an edit of the last token moves each. Right: where a text of so few tokens lands."""
    figure = Figure(figsize=(5.6, 3), layout="constrained")
    edit, spill = figure.subplots(1, 2)
    tokens = range(1, len(moved) + 1)
    edit.bar(tokens, moved, color=[FLAT] * (len(moved) - 1) + [BENT])
    edit.set(title=f"an edit of token {len(moved)}", ylabel="part of the edit that arrives")
    spill.bar(tokens, 100 * energy, color=[BENT] * short + [FLAT] * (len(moved) - short))
    spill.set(title=f"a text of {short} tokens", ylabel="share of the energy, %")
    for plot in (edit, spill):
        plot.set(xlabel="token", xticks=tokens)
        plot.axhline(0, color=INK, linewidth=1)
    return figure


def over_time_table(moved: np.ndarray, energy: np.ndarray) -> Table:
    """The heights of those bars."""
    rows = []
    for k, (move, share) in enumerate(zip(moved, energy, strict=True), start=1):
        rows.append({"token": k, "moves by": move, "share of the energy, %": 100 * share})
    return table(rows, "Both projections", digits=2, folded=True)
