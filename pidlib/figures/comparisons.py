"""Two sources of numbers in one frame: heat maps side by side, and steps from before to after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pidlib.figures.style import INK, PALETTE

_DIVERGING = LinearSegmentedColormap.from_list("gains", (PALETTE[1], "#f7f7f7", PALETTE[0]))
Cells = Mapping[str, Mapping[str, float | None]]


def heatmap(
    panels: Mapping[str, Cells], label: str, centre: float | None = 0.0, digits: int = 1
) -> Figure:
    """Draw tables side by side as colours, the number in each cell.

    Parameters
    ----------
    panels : mapping of title to row to column to float; None is left empty
        The same columns in every panel; rows may differ.
    label : str, what the numbers are, with the unit
    centre : float, optional
        The number without colour: orange below it, blue above it. None: from pale to dark.
    digits : int, decimal places

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> fig = heatmap({"paper": {"P-D": {"A2T": 2.5}}, "ours": {"P-D": {"A2T": -1.0}}}, "points")
    >>> [plot.get_title() for plot in fig.axes[:2]]
    ['paper', 'ours']
    """
    shown = {title: {r: dict(c) for r, c in cells.items()} for title, cells in panels.items()}
    heads = {tuple(columns) for cells in shown.values() for columns in cells.values()}
    if len(heads) != 1:
        raise ValueError(f"every row needs the same columns; got {sorted(heads)}")
    (columns,) = heads
    values = {t: np.array([[_value(v) for v in c.values()] for c in cells.values()])
              for t, cells in shown.items()}  # fmt: skip
    norm, colours = _scale(np.concatenate([v.ravel() for v in values.values()]), centre)
    widths = [len(columns)] * len(shown)
    tallest = max(map(len, shown.values()))
    size = 1.6 + 0.62 * sum(widths), 1.2 + 0.34 * tallest
    fig = Figure(figsize=size, layout="constrained")
    for plot, (title, cells) in zip(
        np.ravel(fig.subplots(1, len(shown), squeeze=False)), shown.items(), strict=True
    ):
        plot.pcolormesh(values[title], norm=norm, cmap=colours)
        for (row, column), value in np.ndenumerate(values[title]):
            if np.isfinite(value):
                ink = _ink(colours(norm(value)))
                text = f"{value:+.{digits}f}" if centre == 0 else f"{value:.{digits}f}"
                plot.text(
                    column + 0.5, row + 0.5, text, ha="center", va="center", color=ink, fontsize=9
                )
        plot.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=35, ha="right", fontsize=9)
        repeated = plot is not fig.axes[0] and list(cells) == list(next(iter(shown.values())))
        names = [""] * len(cells) if repeated else list(cells)
        plot.set_yticks(np.arange(len(cells)) + 0.5, names, fontsize=9)
        plot.invert_yaxis()
        plot.set_title(title, fontsize=11)
        plot.grid(False)
        plot.tick_params(length=0)
        for side in plot.spines.values():
            side.set_visible(False)
    fig.supxlabel(label, fontsize=10, color=INK)
    return fig


def dumbbells(
    panels: Mapping[str, Mapping[str, tuple[float, float]]],
    xlabel: str,
    labels: tuple[str, str] = ("base", "controlled"),
    ours: Sequence[str] = ("MiniLM (ours)",),
    columns: int = 3,
) -> Figure:
    """Draw steps from one number to another, a line a row, our rows in a colour of their own.

    Parameters
    ----------
    panels : mapping of title to row to (before, after); rows may differ
    xlabel : str, with the unit
    labels : pair of str, what the hollow and the full mark are
    ours : sequence of str, rows to set off
    columns : int, panels side by side

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> panels = {"A2T": {"DistilBERT": (53.9, 62.3), "MiniLM (ours)": (55.6, 65.0)}}
    >>> dumbbells(panels, "accuracy in %").axes[0].get_title()
    'A2T'
    """
    if not panels:
        raise ValueError("there are no panels to draw: give at least one")
    names = list(dict.fromkeys(name for rows in panels.values() for name in rows))
    across = min(columns, len(panels))
    down = -(-len(panels) // across)
    size = 1.5 + 2.0 * across, 0.7 + down * (0.55 + 0.27 * len(names))
    fig = Figure(figsize=size, layout="constrained")
    grid = fig.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for plot, (title, rows) in zip(grid.ravel(), panels.items(), strict=False):
        for k, name in enumerate(names):
            if name not in rows:
                continue
            before, after = rows[name]
            colour = PALETTE[1] if name in ours else PALETTE[0]
            plot.plot([before, after], [k, k], color=colour, linewidth=2.2, alpha=0.55)
            plot.plot(before, k, "o", color=colour, markerfacecolor="none", markersize=6)
            plot.plot(after, k, "o", color=colour, markersize=6)
        plot.set_title(title, fontsize=11)
        plot.set_ylim(len(names) - 0.5, -0.5)
        plot.set_yticks(range(len(names)), names)
        plot.grid(axis="y", visible=False)
    for plot in grid.ravel()[len(panels) :]:
        plot.set_axis_off()
    fig.supxlabel(xlabel, fontsize=11, color=INK)
    marks = [dict(markerfacecolor="none"), {}]
    handles = [
        Line2D([], [], color=INK, marker="o", linestyle="", label=label, **mark)
        for label, mark in zip(labels, marks, strict=True)
    ]
    if any(name in ours for name in names) and any(name not in ours for name in names):
        handles += [
            Line2D([], [], color=PALETTE[k], linewidth=3, label=label)
            for k, label in enumerate(("the paper's models", "ours"))
        ]
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return fig


def _value(value: float | None) -> float:
    return np.nan if value is None else float(value)


def _scale(values: np.ndarray, centre: float | None) -> tuple[Normalize, mpl.colors.Colormap]:
    """Colours of numbers: from a centre to both sides, or from the least to the largest."""
    values = values[np.isfinite(values)]
    if not values.size:
        raise ValueError("there is no number to draw")
    if centre is None:
        return Normalize(values.min(), values.max() + 1e-9), mpl.colormaps["Blues"]
    far = max(np.abs(values - centre).max(), 1e-9)
    return Normalize(centre - far, centre + far), _DIVERGING


def _ink(colour: tuple[float, ...]) -> str:
    """Black or white letters, whichever stand out more on a colour: 4.5 to 1 at least."""
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in colour[:3]]
    light = np.dot(linear, (0.2126, 0.7152, 0.0722))
    return "#000000" if (light + 0.05) ** 2 > 0.05 * 1.05 else "#ffffff"
