"""Pictures of chapter 6, the assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
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
    page_and_plot,
    reach,
    table,
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
    """Error of a clean input under each law, (T + 1,) a law."""
    fig = Figure(figsize=(5.6, 3.8))
    plot = fig.add_subplot(xlabel="layers passed, t", ylabel="error of a clean input")
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
    caption = "Error of a clean input of length 1, by layer; last row: the length that is left"
    return table(rows, caption, 2, folded=True)


# --- What the past is for -----------------------------------------------------------------------


def past(before: np.ndarray, after: np.ndarray, push: np.ndarray) -> Figure:
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
    _arrow(left, after + push, after, LOSS, lw=3, shrinkA=4)
    side = "right" if along[0] < 0 else "left"
    left.annotate("push", after + push / 2, 10 * along, color=LOSS, ha=side, va="center", **points)
    left.set_title("relaxed: $x$ is off the line", fontsize=11)
    _arrow(right, after, before, INK, linestyle="--")
    _arrow(right, change, (0, 0), INK)
    ring = dict(color=ESTIMATE, markersize=17, markeredgewidth=2, fillstyle="none")
    right.plot(*change, "o", **ring)
    words = "$x - y$ lies\nhere: no push"
    side = "right" if below[0] < 0 else "left"
    right.annotate(words, 0.4 * change, 10 * below, color=ESTIMATE, ha=side, va="top", **points)
    right.set_title("exact: $x - y$ is on the line", fontsize=11)
    for plot in (left, right):
        _arrow(plot, after, (0, 0), INK)
        _arrow(plot, before, (0, 0), INK)
        x, y = np.transpose([before, after, 1.12 * change, after + push])  # with room for the ring
        plot.set(aspect="equal", xlim=reach((-0.95, 1.2), x), ylim=reach((-0.5, 1.2), y))
        plot.axis("off")
    return fig


def _arrow(plot: Axes, tip: Sequence[float], tail: Sequence[float], color: str, **style) -> None:
    shape = dict(arrowstyle="-|>", color=color, shrinkA=0, shrinkB=0, mutation_scale=14)
    plot.annotate("", tip, tail, arrowprops=shape | style)


# --- Errors on clean and on perturbed inputs ----------------------------------------------------

Ends = Mapping[str, tuple[float, float]]


def contest(ends: Ends) -> Figure:
    """A law a row: its error on clean inputs hollow and above, on perturbed ones full."""
    fig, plot = page_and_plot(4.2, xlabel="error after the last layer")
    for y, (law, (on_clean, on_perturbed)) in enumerate(ends.items()):
        stem = [0, max(on_clean - 0.02, 0)]
        plot.plot(stem, [y - 0.2] * 2, color=_colour(law), linewidth=0.8)
        hollow = dict(fillstyle="none", markeredgewidth=1.8)
        plot.plot(on_clean, y - 0.2, "o", color=_colour(law), **hollow)
        _beside(plot, on_clean, y - 0.2, law)
        _stem(plot, on_perturbed, y + 0.2, law)
    _rows(plot, list(ends))
    plot.set_xlim(reach((-0.03, 1.15), *ends.values()))
    marks = [plot.plot([], [], "o", color=INK, fillstyle=fill)[0] for fill in ("none", "full")]
    names = ("clean inputs", "perturbed inputs")
    fig.legend(marks, names, loc="outside upper center", ncols=2)
    return fig


def _stem(plot: Axes, error: float, y: float, law: str) -> None:
    """A full mark on a stem from 0, and its number."""
    plot.plot([0, error], [y, y], color=_colour(law), linewidth=1.6)
    plot.plot(error, y, "o", color=_colour(law))
    _beside(plot, error, y, law)


def _beside(plot: Axes, value: float, y: float, law: str) -> None:
    beside = dict(textcoords="offset points", va="center", fontsize=10, color=_colour(law))
    plot.annotate(f"{value:.2f}", (value, y), (8, 0), **beside)


def _rows(plot: Axes, names: Sequence[str]) -> None:
    """Names at the left, the first at the top."""
    plot.set_ylim(len(names) - 0.4, -0.6)
    plot.grid(visible=False)
    plot.set_yticks(range(len(names)), names, fontsize=11)
    plot.xaxis.set_major_formatter("{x:g}")


def contest_table(standings: Mapping[str, Mapping[str, tuple[float, float, float]]]) -> Table:
    """Loss and errors of each law, for each case."""
    rows = []
    for case, laws in standings.items():
        for law, (loss, perturbed, on_clean) in laws.items():
            row = {"terms": case, "law": law, "loss / least": loss}
            rows.append(row | {"error, perturbed": perturbed, "error, clean": abs(on_clean)})
    return table(rows, "Medians of eight networks", 2, folded=True)


# --- A lasting disturbance ----------------------------------------------------------------------


def push(lines: Mapping[str, np.ndarray]) -> Figure:
    """Four ways to meet a lasting disturbance: the controlled state along it, (T,) each."""
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
    plot = fig.add_subplot(xlabel="layers passed, t", ylabel="position outside the subspace")
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
    return table(
        rows, "Distance outside the subspace, mean of the second half of the layers", 4, folded=True
    )


# --- Three subspaces or one ---------------------------------------------------------------------


def eigenvalues(cases: Mapping[str, np.ndarray]) -> Figure:
    """One panel a weight: its eigenvalues (d,), the smallest first."""
    fig = page(2.9)
    panels = fig.subplots(1, len(cases), sharex=True, sharey=True)
    for panel, (name, values) in zip(panels, cases.items(), strict=True):
        numbers = np.arange(1, len(values) + 1)
        none = np.abs(values) < 1e-9
        panel.plot(numbers[~none], values[~none], "o", color=OURS, markersize=4)
        panel.plot(numbers[none], values[none], "s", color=ESTIMATE, markersize=4)
        words = f"{none.sum()} of {len(values)} are 0" if none.any() else "none is 0"
        colour = ESTIMATE if none.any() else LOSS
        panel.text(0.95, 0.05, words, ha="right", transform=panel.transAxes, color=colour)
        panel.set_title(name, fontsize=11)
        panel.grid(axis="x", visible=False)
    highest = max(3.0, *(values.max() for values in cases.values()))
    panels[0].set(ylim=reach((-0.25, 3.3), highest), yticks=(0, 1, 2, 3), ylabel="eigenvalue")
    fig.supxlabel("number of the eigenvalue, the smallest first", fontsize="medium")
    return fig


def eigenvalues_table(cases: Mapping[str, np.ndarray]) -> Table:
    """How often each eigenvalue stands there."""
    rows = []
    for name, values in cases.items():
        kinds, counts = np.unique(np.round(values, 6) + 0.0, return_counts=True)
        words = ", ".join(f"{n} times {v:g}" for v, n in zip(kinds, counts, strict=True))
        rows.append({"weight": name.replace("\n", " "), "eigenvalues": words})
    return table(rows, "Eigenvalues of a weight", folded=True)


# --- One assumption, broken more and more -------------------------------------------------------


def dial(errors: Mapping[str, Mapping[str, float]], name: str) -> Figure:
    """Errors after the last layer, a line a kind, against how far an assumption is broken."""
    fig, plot = page_and_plot(3.5, xlabel=name, ylabel="error after six layers")
    looks = {
        "perturbed, controlled": dict(color=OURS, marker="o", markersize=6, linewidth=2),
        "clean, controlled": dict(
            color=LOSS, marker="o", markersize=9, fillstyle="none", linewidth=1.5
        ),
        "perturbed, no control": dict(color=INK, linewidth=1.5),
        "Theorem 1": dict(color=OURS, linestyle="--", linewidth=2),
        "clean, old subspace": dict(color=LOSS, linestyle="--", linewidth=1.5),
    }
    places = [float(place.rstrip("°")) for place in errors]
    for kind in next(iter(errors.values())):
        plot.plot(places, [of[kind] for of in errors.values()], label=kind, **looks[kind])
    plot.set_xticks(places, list(errors))
    values = [value for of in errors.values() for value in of.values()]
    plot.set_ylim(reach((-0.03, 0.47), *values))
    plot.grid(axis="x", visible=False)
    fig.legend(loc="outside upper center", ncols=2)
    return fig


def dial_table(errors: Mapping[str, Mapping[str, float]], name: str) -> Table:
    """The same in numbers, a place of the dial a row."""
    rows = []
    for place, of in errors.items():
        rows.append({name: place} | {kind: abs(error) for kind, error in of.items()})
    return table(rows, "Errors after six layers", folded=True)


# --- Layers that bend ---------------------------------------------------------------------------


def bend_table(medians: Mapping[str, Ends], wins: Mapping[str, Mapping[str, int]]) -> Table:
    """Median errors at each scale, and in how many networks a law beats P only by formula."""
    rows = []
    for scale, ends in medians.items():
        for law, (on_clean, perturbed) in ends.items():
            row = {"C, B times": scale, "law": law, "perturbed": perturbed, "clean": on_clean}
            rows.append(row | {"wins of 8": wins[scale][law]})
    title = "Errors after the last layer; wins: networks with less than P only by formula"
    return table(rows, title, 2, folded=True)
