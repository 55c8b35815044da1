"""Many numbers in one frame, in panels that a telephone shows whole: tables, steps, gains."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize, to_rgba
from matplotlib.figure import Figure

from pidbook.figures.colours import ESTIMATE, INK, LOSS, OURS

DEEPEST = 0.55  # opacity of a cell: its number stays legible on light pages and on dark ones
Cells = Mapping[str, Mapping[str, float | None]]
WIDTH = 5.2  # inches; on a narrow page letters of 10 points are then 8 pixels high or more
LETTERS, ONE_LETTER = 10, 0.086  # points; inches of width, about
LONGEST = 18  # letters of a row's name, then it goes on in the next line


def heatmap(
    panels: Mapping[str, Cells], label: str, centre: float | None = 0.0, digits: int = 1
) -> Figure:
    """Draw tables as colours, side by side if that is not too wide, the number in each cell.

    Parameters
    ----------
    panels : mapping of title to row to column to float; None is left empty
        The same columns in every panel; rows may differ.
    label : str, what the numbers are, with the unit
    centre : float, optional
        The number without colour: red below it, green above it. None: from pale to deep blue.
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
    values = {t: np.array([[*c.values()] for c in s.values()], float) for t, s in shown.items()}
    norm, colours = _scale(np.concatenate([v.ravel() for v in values.values()]), centre)
    rows = list(shown.values())
    width = ONE_LETTER * max(len(name) for cells in rows for name in cells)
    across = len(rows) if width + 0.5 * len(columns) * len(rows) <= WIDTH else 1
    longest = ONE_LETTER * max(map(len, columns))
    level = longest * len(columns) * across < WIDTH - width
    beneath = (0.1 if level else 0.6) * longest
    fig, plots = _grid(len(rows), across, 0.5 + 0.27 * max(map(len, rows)) + beneath)
    middle = dict(c=INK, size=LETTERS, ha="center", va="center")
    for k, (plot, (title, cells)) in enumerate(zip(plots, shown.items(), strict=True)):
        plot.pcolormesh(values[title], norm=norm, cmap=colours)
        for (row, column), value in np.ndenumerate(values[title]):
            if np.isfinite(value):
                text = f"{value:{'+' * (centre == 0)}.{digits}f}".replace("-", "\N{MINUS SIGN}")
                plot.text(column + 0.5, row + 0.5, text, **middle)
        turned = {} if level else {"rotation": 35, "ha": "right"}
        plot.set_xticks(np.arange(len(columns)) + 0.5, columns, **turned)
        repeated = k % across and list(cells) == list(rows[0])
        plot.set_yticks(np.arange(len(cells)) + 0.5, [""] * len(cells) if repeated else list(cells))
        plot.invert_yaxis()
        plot.set_title(title, fontsize=LETTERS + 1)
        plot.grid(False)
        plot.tick_params(length=0, labeltop=level, labelbottom=not level)
        plot.spines[:].set_visible(False)
    fig.supxlabel(label, fontsize=LETTERS, color=INK)
    return fig


def _grid(count: int, across: int, height: float, **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure of a page's narrow width and its panels, each so many inches high."""
    across = min(across, count)
    fig = Figure(figsize=(WIDTH, 0.6 - (-count // across) * height), layout="constrained")
    fig.get_layout_engine().set(hspace=0.06)  # a title stands clear of the ticks above it
    plots = list(fig.subplots(-(-count // across), across, squeeze=False, **shared).ravel())
    for spare in plots[count:]:
        spare.remove()
    for k, plot in enumerate(plots[:count]):  # the lowest of each column names their axis
        plot.tick_params(labelsize=LETTERS, **{"labelbottom": True} if k >= count - across else {})
        plot.grid(axis="y", visible=False)
    return fig, plots[:count]


def _rows(names: list[str], *size: Any, **shared: Any) -> tuple[Figure, list[Axes]]:
    """A grid whose panels have the same rows, the first on top; the last of its sizes is a head."""
    *panels, head = size
    row = 0.38 if max(map(len, names)) > LONGEST else 0.25
    fig, plots = _grid(*panels, head + row * len(names), sharey=True, **shared)
    lines = [fill(name, LONGEST) for name in names]
    plots[0].set_yticks(range(len(names)), lines, linespacing=0.95)
    plots[0].set_ylim(len(names) - 0.5, -0.5)
    return fig, plots


def _scale(values: np.ndarray, centre: float | None) -> tuple[Normalize, Colormap]:
    """Colours of numbers: from a centre to both sides, or from the least to the largest."""
    values = values[np.isfinite(values)]
    if not values.size:
        raise ValueError("there is no number to draw")
    if centre is None:
        norm = Normalize(values.min(), values.max() + 1e-9)
        steps = [(0, OURS, 0.05), (1, OURS, DEEPEST)]
    else:
        far = max(np.abs(values - centre).max(), 1e-9)
        norm = Normalize(centre - far, centre + far)
        steps = [(0, LOSS, DEEPEST), (0.5, LOSS, 0), (0.5, ESTIMATE, 0), (1, ESTIMATE, DEEPEST)]
    tints = [(place, to_rgba(colour, opacity)) for place, colour, opacity in steps]
    return norm, LinearSegmentedColormap.from_list("tints", tints)
