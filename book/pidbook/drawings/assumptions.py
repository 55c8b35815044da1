"""Pictures of chapter 6, the assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pidbook.figures import (
    ESTIMATE,
    INK,
    LOSS,
    NOISE,
    OURS,
    PAPER,
    Table,
    name_ends,
    page,
    reach,
    slider,
    table,
    tidy,
)

COLOURS = {  # of each law, throughout the chapter; a name is looked up by how it begins
    "no control": INK,
    "P": OURS,
    "relaxed": LOSS,
    "averaged": PAPER,
    "exact": ESTIMATE,
    "residual": NOISE,
}


def _colour(law: str) -> str:
    return next(colour for start, colour in COLOURS.items() if law.startswith(start))


# --- A clean input under four laws --------------------------------------------------------------


def clean(moved: Mapping[str, np.ndarray]) -> Figure:
    """How far each law has moved a clean state, (T + 1,) a law."""
    fig = Figure(figsize=(5.6, 3.8))
    plot = fig.add_subplot(xlabel="layer t", ylabel="moved, share of the length")
    for name, y in moved.items():
        style = dict(
            marker="o", fillstyle="none", color=_colour(name), label=f"{name}: {y[-1]:.2f}"
        )
        if name == "P only":  # broad: another line lies on it
            style |= dict(linewidth=6, markersize=13, markeredgewidth=2, alpha=0.6)
        plot.plot(y, **style)
    plot.set_ylim(reach((-0.06, 1.06), *moved.values()))
    name_ends(plot)
    return fig


def clean_table(moved: Mapping[str, np.ndarray], left: Mapping[str, float]) -> Table:
    """The same in numbers, and what is left of the length."""
    rows = []
    for t in range(len(next(iter(moved.values())))):
        rows.append({"t": t} | {name: abs(y[t]) for name, y in moved.items()})
    rows.append({"t": "left"} | dict(left))
    caption = "How far a clean state is moved, as a share of its length; last row: the length left"
    return table(rows, caption, 2, folded=True)


# --- What the past is for -----------------------------------------------------------------------


def past(before: np.ndarray, after: np.ndarray, pull: np.ndarray) -> Figure:
    """A state before and after a layer, (2,) each: against the clean changes, and their change."""
    fig = Figure(figsize=(5.6, 2.7))
    left, right = fig.subplots(1, 2, sharey=True)
    change = after - before
    along = change / np.linalg.norm(change)
    below = np.array([-along[1], along[0]])
    points = dict(textcoords="offset points")
    for plot in (left, right):
        plot.axline((0, 0), change, color=INK, linestyle=":")
        beside = dict(color=INK, va="center") | points
        plot.annotate("clean changes", -0.5 * along, -10 * below, **beside)
        plot.text(*after + (0.02, 0.06), "x", color=INK, style="italic", ha="center")
        plot.text(*before + (0.05, 0), "y", color=INK, style="italic")
    _arrow(left, after + pull, after, LOSS, lw=3, shrinkA=4)
    side = "right" if along[0] < 0 else "left"
    left.annotate("pull", after + pull / 2, 10 * along, color=LOSS, ha=side, va="center", **points)
    left.set_title("relaxed: $x$ is off the line", fontsize=11)
    _arrow(right, after, before, INK, linestyle="--")
    _arrow(right, change, (0, 0), INK)
    ring = dict(color=ESTIMATE, markersize=17, markeredgewidth=2, fillstyle="none")
    right.plot(*change, "o", **ring)
    words = "$x - y$ lies\nhere: no pull"
    side = "right" if below[0] < 0 else "left"
    right.annotate(words, 0.4 * change, 10 * below, color=ESTIMATE, ha=side, va="top", **points)
    right.set_title("exact: $x - y$ is on the line", fontsize=11)
    for plot in (left, right):
        _arrow(plot, after, (0, 0), INK)
        _arrow(plot, before, (0, 0), INK)
        x, y = np.transpose([before, after, 1.12 * change, after + pull])  # with room for the ring
        plot.set(aspect="equal", xlim=reach((-0.95, 1.2), x), ylim=reach((-0.5, 1.2), y))
        plot.axis("off")
    return fig


def _arrow(plot: Axes, tip: Sequence[float], tail: Sequence[float], color: str, **style) -> None:
    shape = dict(arrowstyle="-|>", color=color, shrinkA=0, shrinkB=0, mutation_scale=14)
    plot.annotate("", tip, tail, arrowprops=shape | style)


# --- Errors on clean and on perturbed inputs ----------------------------------------------------

Ends = Mapping[str, tuple[float, float]]


def _two_marks(plot: Axes, ends: Ends) -> None:
    """A law a row: its error on clean inputs hollow and above, on perturbed ones full."""
    for y, (law, (on_clean, on_perturbed)) in enumerate(ends.items()):
        colour = _colour(law)
        stem = [0, max(on_clean - 0.03, 0)]
        plot.plot([0, on_perturbed], [y + 0.2] * 2, color=colour, linewidth=1.6)
        plot.plot(on_perturbed, y + 0.2, "o", color=colour)
        plot.plot(stem, [y - 0.2] * 2, color=colour, linewidth=0.8)
        plot.plot(on_clean, y - 0.2, "o", color=colour, fillstyle="none", markeredgewidth=1.8)
        for value, height in ((on_clean, y - 0.2), (on_perturbed, y + 0.2)):
            beside = dict(textcoords="offset points", va="center", fontsize=10, color=colour)
            plot.annotate(f"{value:.2f}", (value, height), (8, 0), **beside)
    plot.set(ylim=(len(ends) - 0.4, -0.6), xlabel="error at the exit")
    plot.grid(visible=False)
    plot.set_yticks(range(len(ends)), list(ends), fontsize=11)
    plot.xaxis.set_major_formatter("{x:g}")
    marks = [plot.plot([], [], "o", color=INK, fillstyle=fill)[0] for fill in ("none", "full")]
    names = ("clean inputs", "perturbed inputs")
    plot.figure.legend(marks, names, loc="outside upper center", ncols=2)


def contest(losses: Mapping[str, float], ends: Ends) -> Figure:
    """Two panels, a law a row: errors at the exit, and the loss over the least loss."""
    fig = page(4.7)
    errors, paid = fig.subplots(1, 2, sharey=True)
    _two_marks(errors, ends)
    errors.set_xlim(reach((-0.05, 1.3), *ends.values()))
    for y, (law, loss) in enumerate(losses.items()):
        paid.plot(loss, y, "s", color=_colour(law))
        paid.text(1.2 * loss, y, f"{loss:.1f}", va="center", fontsize=10, color=_colour(law))
    most = max(60, 3 * max(losses.values()))
    paid.set(xscale="log", xlim=(0.85, most), xlabel="loss / least loss")
    paid.set(xticks=(1, 3, 10), xticklabels=(1, 3, 10))
    paid.minorticks_off()
    paid.grid(visible=False)
    return fig


def contest_table(standings: Mapping[str, Mapping[str, tuple[float, float, float]]]) -> Table:
    """Loss and errors of each law, for each case."""
    rows = []
    for case, laws in standings.items():
        for law, (loss, perturbed, on_clean) in laws.items():
            row = {"terms": case, "law": law, "loss / least": loss}
            rows.append(row | {"error, perturbed": perturbed, "error, clean": abs(on_clean)})
    return table(rows, "Medians of eight networks", 2, folded=True)


# --- A lasting push -----------------------------------------------------------------------------


def push(lines: Mapping[str, np.ndarray]) -> Figure:
    """Four ways to meet a lasting push: where the controlled state lies along it, (T,) each."""
    controlled = [line for name, line in lines.items() if name != "no control"]
    low, high = reach((-0.145, 0.25), *controlled)  # without control the error leaves the picture
    unit = (high - low) / 0.395
    looks = {  # colour, dashes, layer of the name, how far above the curve
        "no control": (INK, "-", 2.9, None),
        "P only": (OURS, "-", 9, 0.012),
        "exact P-I, sums of x, as in the paper": (ESTIMATE, "--", 4.2, -0.026),
        "exact P-I, sums of v": (ESTIMATE, "-", 9, 0.014),
    }
    fig = Figure(figsize=(5.6, 4.2))
    plot = fig.add_subplot(xlabel="layer t", ylabel="off the subspace, along the push")
    for name, (colour, dashes, layer, above) in looks.items():
        line = lines[name]
        plot.plot(line, color=colour, linestyle=dashes, linewidth=2.4)
        middle = line[min(9, len(line) - 1)]
        y = high - 0.02 * unit if above is None else middle + above * unit
        plot.text(layer, y, name, color=colour, va="center")
    plot.set(xlim=(-0.5, len(lines["P only"]) - 0.7), ylim=(low, high))
    return fig


def push_table(means: Mapping[str, float]) -> Table:
    """Mean distances of the later layers."""
    rows = [{"law": name, "mean": mean} for name, mean in means.items()]
    return table(rows, "Off the subspace, mean of the second half of the layers", 4, folded=True)


# --- Three dials --------------------------------------------------------------------------------


def dials(
    frames: Mapping[tuple[str, ...], Mapping[str, np.ndarray]],
    names: Sequence[str],
    start: tuple[str, ...],
) -> go.Figure:
    """Errors by layer, (T + 1,) a line, for every position of three sliders."""
    lines = list(frames[start])
    layers = range(len(frames[start][lines[0]]))
    fig = slider(layers, frames, names, "layer t", "error", start, points=lines[:2])
    perturbed, on_clean, free, theorem = fig.data
    perturbed.marker.update(color=OURS, symbol="circle", size=8, line=dict(width=2, color=OURS))
    ring = dict(width=2, color=OURS)  # around the other mark, so that none hides the other
    on_clean.marker.update(color=OURS, symbol="circle-open", size=18, line=ring)
    free.line.update(color=INK, dash="solid", width=2.5)
    theorem.line.update(color=OURS, dash="dash", width=2.5)
    fig.update_layout(height=560, legend_entrywidth=190)
    return tidy(fig)


def dials_table(
    frames: Mapping[tuple[str, ...], Mapping[str, np.ndarray]], still: tuple[str, ...]
) -> Table:
    """Errors at the exit where at most one dial is turned; `still` is where none is."""
    rows = []
    for key, lines in frames.items():
        turned = sum(place != rest for place, rest in zip(key, still, strict=True))
        if turned <= 1:
            row = dict(zip(("φ", "κ", "β"), key, strict=True))
            rows.append(row | {name: abs(y[-1]) for name, y in lines.items()})
    return table(rows, "Errors after six layers, one dial turned", folded=True)


# --- Layers that bend ---------------------------------------------------------------------------


def bend(ends: Ends) -> Figure:
    """A law a row: its errors at the exit of bent networks."""
    fig = page(5.8)
    plot = fig.add_subplot(xticks=(0, 0.5, 1, 1.5))
    _two_marks(plot, ends)
    plot.set_xlim(reach((-0.06, 1.75), *ends.values()))
    return fig


def bend_table(medians: Mapping[str, Ends], wins: Mapping[str, Mapping[str, int]]) -> Table:
    """Median errors at each scale, and in how many networks a law beats P by formula."""
    rows = []
    for scale, ends in medians.items():
        for law, (on_clean, perturbed) in ends.items():
            row = {"C, B times": scale, "law": law, "perturbed": perturbed, "clean": on_clean}
            rows.append(row | {"wins of 8": wins[scale][law]})
    title = "Errors at the exit; wins: networks with less than P by formula on perturbed inputs"
    return table(rows, title, 2, folded=True)
