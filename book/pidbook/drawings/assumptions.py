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
    OURS,
    PAPER,
    Table,
    name_ends,
    page,
    page_and_plot,
    reach,
    table,
)

COLOURS = {  # of laws, throughout the chapter; a name is looked up by how it begins
    "no control": INK,
    "P": OURS,
    "relaxed": LOSS,
    "averaged": PAPER,
    "exact": ESTIMATE,
}


def _colour(law: str) -> str:
    return next((colour for start, colour in COLOURS.items() if law.startswith(start)), INK)


# --- A clean input under three laws -------------------------------------------------------------


def clean(moved: Mapping[str, np.ndarray]) -> Figure:
    """Error of a clean input under each law, (T + 1,) a law."""
    fig = Figure(figsize=(5.6, 3.8))
    plot = fig.add_subplot(xlabel="layers passed, t", ylabel="error of a clean input")
    for name, y in moved.items():
        plot.plot(y, marker="o", color=_colour(name), label=f"{name}: {y[-1]:.2f}")
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
    change = after - before
    if not change.any():
        raise ValueError(
            "the layer leaves the state as it is; let it rotate by another ANGLE than 0"
        )
    fig = Figure(figsize=(5.6, 2.7))
    left, right = fig.subplots(1, 2, sharey=True)
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
    left.set_title("without the past: $x$ is off", fontsize=11)
    _arrow(right, after, before, INK, linestyle="--")
    _arrow(right, change, (0, 0), INK)
    ring = dict(color=ESTIMATE, markersize=17, markeredgewidth=2, fillstyle="none")
    right.plot(*change, "o", **ring)
    words = "$x - y$ lies\nhere: no push"
    side = "right" if below[0] < 0 else "left"
    right.annotate(words, 0.4 * change, 10 * below, color=ESTIMATE, ha=side, va="top", **points)
    right.set_title("with it: $x - y$ is on the line", fontsize=11)
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


def contest_table(standings: Mapping[str, tuple[float, float, float]], networks: int) -> Table:
    """Loss and errors of each law."""
    rows = []
    for law, (loss, perturbed, on_clean) in standings.items():
        row = {"law": law, "loss / least": loss, "error, perturbed": perturbed}
        rows.append(row | {"error, clean": abs(on_clean)})
    return table(rows, f"Medians, networks: {networks}", 2, folded=True)


# --- Each of the other assumptions, broken more and more ----------------------------------------

Dials = Mapping[tuple[str, str], Mapping[float, Mapping[str, float]]]


def dials(errors: Dials) -> Figure:
    """A panel an assumption, by (title, dial): errors by how far it is broken, a line a kind."""
    looks = {
        "clean, controlled": dict(
            color=LOSS, marker="o", markersize=8, fillstyle="none", linewidth=1.5
        ),
        "perturbed, controlled": dict(color=OURS, marker="o", markersize=5, linewidth=2),
        "perturbed, no control": dict(color=INK, linewidth=1.5),
        "perturbed, Theorem 1": dict(color=OURS, linestyle="--", linewidth=1.5),
    }
    fig = page(5.4)
    panels = fig.subplots(2, 2, sharey=True)
    for panel, ((title, dial), places) in zip(panels.flat, errors.items(), strict=True):
        for kind, style in looks.items():
            line = [of[kind] for of in places.values()]
            panel.plot(list(places), line, label=kind, **style)
        panel.set_title(title, fontsize=11)
        panel.set(xlabel=dial, xticks=list(places))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.grid(axis="x", visible=False)
    values = [e for places in errors.values() for of in places.values() for e in of.values()]
    panels[0, 0].set_ylim(reach((-0.03, 0.95), *values))
    for panel in panels[:, 0]:
        panel.set_ylabel("error after the last layer")
    fig.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


def dials_table(errors: Dials) -> Table:
    """The same in numbers, a place of a dial a row."""
    rows = []
    for (_, dial), places in errors.items():
        for place, of in places.items():
            rows.append({"": dial, "at": f"{place:g}"} | {k: abs(e) for k, e in of.items()})
    return table(rows, "Errors after the last layer", folded=True)
