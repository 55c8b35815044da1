"""Drawings of chapter 1: the mass under P, I and D, and a network with its controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from pidbook.figures import (
    ESTIMATE,
    INK,
    LOSS,
    OURS,
    PALETTE,
    curves,
    name_ends,
    page,
    page_and_plot,
    reach,
    slider,
    table,
    tidy,
)
from pidbook.figures.tables import Table

P_I_D = ESTIMATE  # in all pictures of the mass: PALETTE[2]; P and P-D have the two before it
DOTTED = dict(color=INK, linewidth=1.2, linestyle=(0, (1, 2)))


def dials(
    time: np.ndarray,
    output: np.ndarray,
    gains: Mapping[str, Sequence[float]],
    disturbed_from: float,
    start: tuple,
) -> go.Figure:
    """Position over time, with a slider a gain; output: (times, values of P, of I, of D)."""
    values = list(gains.values())
    frames = {}
    for place in np.ndindex(output.shape[1:]):
        key = tuple(f"{axis[k]:g}" for axis, k in zip(values, place, strict=True))
        frames[key] = {"position": output[:, *place].round(3)}
    names = [f"gain {name}" for name in gains]
    start = start if start in frames else next(iter(frames))  # the first place
    figure = slider(time, frames, names, "time", "position", start)
    figure.add_hline(1, line_dash="dot", line_color=INK)
    figure.add_vline(disturbed_from, line_dash="dot", line_color=INK)
    figure.update_yaxes(range=reach((-0.2, 2.2), frames[start]["position"]))
    return tidy(figure)


def settings_table(settings: Sequence[tuple], columns: Mapping[str, np.ndarray]) -> Table:
    """Settings (P, I, D) of the dials, and columns of numbers about each."""
    rows = []
    for k, gains in enumerate(settings):
        row = dict(zip(("P", "I", "D"), map(str, gains), strict=True))
        for name, values in columns.items():
            row[name] = values[k]
        rows.append(row)
    return table(rows, "Some settings of the dials", folded=True)


def three_terms(
    time: np.ndarray, positions: Mapping[str, np.ndarray], disturbed_from: float, target: float = 1
) -> Figure:
    """Position over time under P, P-D and P-I-D."""
    figure = curves(time, positions, xlabel="time", ylabel="position")
    figure.set_size_inches(5.8, 4.0)
    plot = figure.axes[0]
    name_ends(plot)
    plot.set_xlim(-1, time[-1])
    plot.axhline(target, **DOTTED)
    plot.axvline(disturbed_from, **DOTTED)
    return figure


def positions_table(time: np.ndarray, positions: Mapping[str, np.ndarray]) -> Table:
    """The positions at every fifth unit of time."""
    rows = []
    for wanted in range(5, round(time[-1]) + 1, 5):
        k = int(np.argmin(abs(time - wanted)))
        rows.append({"time": wanted} | {name: y[k] for name, y in positions.items()})
    return table(rows, "Position over time", folded=True)


def price(noisy: Mapping[str, Any], swings: Any, said: str) -> Figure:
    """Left: the force under laws measured with noise. Right: swings, and what is said of them."""
    figure = page(3.5)
    left, right = figure.subplots(1, 2)
    for k, name in reversed(list(enumerate(noisy))):  # the first law, P, is drawn over the others
        run = noisy[name]
        look = dict(color=PALETTE[k % len(PALETTE)], linewidth=1 if k else 2)
        left.plot(run.time, run.control, label=name, **look)
    forces = reach((-5, 6), *(run.control for run in noisy.values()))
    left.set(title="D: a noisy force", xlabel="time", ylabel="force", ylim=forces)
    left.legend(loc="upper left", ncols=2)
    right.plot(swings.time, swings.output, "--", color=P_I_D)
    right.axhline(1, **DOTTED)
    right.set(title=f"I: {said}", xlabel="time", ylabel="position")
    return figure


def surprises(
    time: np.ndarray, replayed: Mapping[str, np.ndarray], feedback: Mapping[str, np.ndarray]
) -> Figure:
    """A panel for each surprise: the position under the replayed forces and under the feedback."""
    figure = page(3.7)
    panels = figure.subplots(1, len(replayed), sharey=True, squeeze=False)[0]
    positions = reach((-0.1, 2.6), *replayed.values(), *feedback.values())
    for plot, (name, position) in zip(panels, replayed.items(), strict=True):
        plot.plot(time, position, "--", color=INK, label="replayed")
        plot.plot(time, feedback[name], color=P_I_D, label="feedback")
        plot.axhline(1, **DOTTED)
        plot.set(
            title=name, xlabel="time", xticks=range(0, round(time[-1]) + 1, 10), ylim=positions
        )
    panels[0].set_ylabel("position")
    panels[-1].legend(loc="lower right")
    return figure


def surprises_table(
    replayed: Mapping[str, np.ndarray], feedback: Mapping[str, np.ndarray], end: float
) -> Table:
    """The last positions of those runs, at the time of their end."""
    rows = []
    for name, position in replayed.items():
        rows.append({"": name, "replayed": position[-1], "feedback": feedback[name][-1]})
    return table(rows, f"Position at time {end:g}; the target is 1", folded=True)


def error_and_control(
    x: np.ndarray, error: np.ndarray, control: np.ndarray, direction: np.ndarray
) -> Figure:
    """A state in the plane, its error off a line through 0 in that direction, and its control."""
    figure = Figure(figsize=(5.6, 3.3), layout="none")
    line = np.outer(direction, (-0.6, 3.4))
    wide = reach((-0.75, 3.45), line[0], x[0])
    high = reach((-0.3, 2.17), line[1], x[1])
    plot = figure.add_axes((0, 0, 1, 1), xlim=wide, ylim=high, aspect="equal")
    plot.set_axis_off()
    plot.plot(*line, color=INK, linewidth=5, alpha=0.4)
    whole = dict(arrowstyle="simple,head_width=1.1,head_length=0.7,tail_width=0.55", alpha=0.7)
    whole |= dict(color=LOSS, linewidth=0, mutation_scale=18, shrinkA=0, shrinkB=0)
    plot.annotate("", x + error, x, arrowprops=whole)
    part = dict(arrowstyle="-|>", linewidth=2.2, mutation_scale=16, shrinkA=0, shrinkB=4)
    plot.annotate("", x + control, x, arrowprops=part | dict(color=OURS))
    plot.plot(*x, "o", color=INK, markersize=9)
    plot.plot(*(x + control), "o", color=INK, markersize=9, fillstyle="none")

    def label(place: np.ndarray, text: str, colour: str, offset: tuple, **look: Any) -> None:
        """Write beside a place; the offset is in points."""
        place_in_points = dict(xytext=offset, textcoords="offset points", fontsize=12)
        plot.annotate(text, place, color=colour, **place_in_points, **look)

    label(x, "state $x_t$", INK, (0, 10), ha="center")
    label(x + error / 2, "error $e_t = -Q_t x_t$", LOSS, (-10, -4), ha="right")
    label(x + control / 2, r"control $u_t = (1 - \alpha_t)\, e_t$", OURS, (10, 0))
    label(x + control, "controlled state $x_t + u_t$", INK, (13, -5))
    tilt = np.degrees(np.arctan2(direction[1], direction[0]))
    clean = dict(rotation=tilt, ha="center", va="top")
    label(2.6 * direction, "where clean states live", INK, (3, -10), **clean)
    return figure


def network() -> Figure:
    """Two layers, a controller of three terms before each, and the wire that is missing."""
    figure, plot = page_and_plot(2.8, aspect="equal", xlim=(-0.5, 10.0), ylim=(-3.75, 0.85))
    plot.set_axis_off()
    for left, name in ((0.0, "0"), (5.4, "T-1")):
        gap = 0.55 if left else 0.3  # a longer name needs more room
        plot.text(left, 0, f"$x_{{{name}}}$", fontsize=13, **_centred(INK))
        _arrow(plot, (left + gap, 0), (left + 0.95, 0), INK)
        plot.add_patch(Circle((left + 1.2, 0), 0.25, fill=False, edgecolor=OURS, linewidth=2))
        plot.text(left + 1.2, 0, "+", fontsize=13, **_centred(OURS))
        _arrow(plot, (left + 1.45, 0), (left + 2.0, 0), INK)
        _box(plot, (left + 2.0, -0.5), (1.3, 1.0), 0.12, edgecolor=INK, linewidth=2)
        plot.text(left + 2.65, 0, f"$F_{{{name}}}$", fontsize=13, **_centred(INK))
        _arrow(plot, (left + 3.3, 0), (left + 3.8, 0), INK)
        _controller(plot, left, name)
    plot.text(4.07, 0, "···", fontsize=15, **_centred(INK))
    _arrow(plot, (4.32, 0), (4.82, 0), INK)
    plot.text(9.55, 0, "$x_T$", fontsize=13, **_centred(INK))
    plot.plot([0, 0, 4.95, 4.95], [-2.75, -3.45, -3.45, -2.08], **DOTTED)  # the missing wire
    for y in (-2.08, -2.73):  # into I and into D
        plot.plot([4.95, 5.82], [y, y], **DOTTED)
    plot.plot(3.1, -3.45, "x", color=INK, markersize=13, markeredgewidth=2)
    plot.text(3.1, -2.35, "a true I or D\nwould need this", **_centred(INK))
    return figure


def _centred(colour: str) -> dict[str, str]:
    return dict(ha="center", va="center", color=colour)


def _arrow(plot: Axes, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    look = dict(arrowstyle="-|>", color=colour, linewidth=1.8, shrinkA=0, shrinkB=0)
    plot.annotate("", xy=end, xytext=start, arrowprops=look)


def _box(plot: Axes, corner: tuple, size: tuple, rounding: float, **look: Any) -> None:
    style = f"round,pad=0,rounding_size={rounding}"
    plot.add_patch(FancyBboxPatch(corner, *size, boxstyle=style, fill=False, **look))


def _controller(plot: Axes, left: float, name: str) -> None:
    """Three boxes under a state, whose sum goes up into the circle."""
    wire = dict(color=OURS, linewidth=1.6)
    plot.plot([left, left], [-0.3, -2.6], **wire)
    for k, letter in enumerate("PID"):
        y = -1.3 - 0.65 * k
        plot.plot([left, left + 0.45], [y, y], **wire)
        _box(plot, (left + 0.45, y - 0.24), (0.5, 0.48), 0.08, edgecolor=OURS, linewidth=1.6)
        plot.text(left + 0.7, y, letter, fontsize=11, **_centred(OURS))
        plot.plot([left + 0.95, left + 1.2], [y, y], **wire)
    plot.plot([left + 1.2, left + 1.2], [-2.6, -1.0], **wire)
    _arrow(plot, (left + 1.2, -1.0), (left + 1.2, -0.25), OURS)
    plot.text(left + 1.32, -0.72, f"$u_{{{name}}}$", fontsize=11, color=OURS, va="center")


def blind_spot(distances: Mapping[str, np.ndarray]) -> Figure:
    """Distance from the clean run by layer, for shifts inside the subspace, off it, and others."""
    figure = page(3.7)
    plot = figure.add_subplot()
    looks = {"inside": (LOSS, "s", 10), "off it": (OURS, "o", 6)}
    layers = range(len(next(iter(distances.values()))))
    for name, distance in distances.items():
        colour, mark, size = looks.get(name, (ESTIMATE, "^", 6))
        plot.plot(distance, color=colour, marker=mark, markersize=size)
        if name == "inside":
            middle = (layers[-1] / 2, 0.95 * distance[0])
            words = "shifted inside the clean subspace"
            plot.text(*middle, words, color=colour, ha="center", va="top")
        else:
            plot.text(1.2, distance[1] + 0.02, f"shifted {name}", color=colour)
    plot.set_ylim(reach((-0.03, 0.9), *distances.values()))
    plot.set(xticks=layers, xlabel=f"layer t ({layers[-1]}: the exit)")
    plot.set_ylabel("distance from the clean run")
    return figure


def blind_spot_table(
    distances: Mapping[str, np.ndarray], losses: Mapping[str, float], controls: Mapping[str, float]
) -> Table:
    """What each shift costs, how hard the control answers, and what is left at the exit."""
    rows = []
    for name, distance in distances.items():
        row = {"shifted": name, "running loss": losses[name], "largest control": controls[name]}
        rows.append(row | {"error at the exit": distance[-1]})
    return table(rows, "What the shifts cost", folded=True)
