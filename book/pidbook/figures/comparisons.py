"""A table in colours, which a telephone shows whole."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure

from pidbook.figures.colours import ESTIMATE, INK, LOSS

DEEPEST = 0.55  # opacity of a cell: its number stays legible on light pages and on dark ones
WIDTH = 5.2  # inches; on a narrow page letters of 10 points are then 8 pixels high or more
LETTERS = 10  # points


def heatmap(cells: Mapping[str, Mapping[str, float]], label: str) -> Figure:
    """Draw a table as colours, the number in each cell: red below 0, green above it.

    Parameters
    ----------
    cells : mapping of row to column to float, the same columns in every row
    label : str, what the numbers are, with the unit

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> fig = heatmap({"P-D": {"A2T": 2.5, "PSO": -1.0}}, "points")
    >>> [text.get_text() for text in fig.axes[0].texts]
    ['+2.5', '−1.0']
    """
    columns = list(next(iter(cells.values())))
    values = np.array([[*row.values()] for row in cells.values()])
    far = np.abs(values).max()
    steps = [(0, LOSS, DEEPEST), (0.5, LOSS, 0), (0.5, ESTIMATE, 0), (1, ESTIMATE, DEEPEST)]
    tints = [(place, to_rgba(colour, opacity)) for place, colour, opacity in steps]
    cmap = LinearSegmentedColormap.from_list("tints", tints)
    fig = Figure(figsize=(WIDTH, 1.2 + 0.27 * len(cells)), layout="constrained")
    plot = fig.add_subplot()
    plot.pcolormesh(values, vmin=-far, vmax=far, cmap=cmap)
    for (row, column), value in np.ndenumerate(values):
        text = f"{value:+.1f}".replace("-", "\N{MINUS SIGN}")
        plot.text(column + 0.5, row + 0.5, text, c=INK, size=LETTERS, ha="center", va="center")
    plot.set_xticks(np.arange(len(columns)) + 0.5, columns)
    plot.set_yticks(np.arange(len(cells)) + 0.5, list(cells))
    plot.invert_yaxis()
    plot.grid(False)
    plot.tick_params(length=0, labelsize=LETTERS, labeltop=True, labelbottom=False)
    plot.spines[:].set_visible(False)
    fig.supxlabel(label, fontsize=LETTERS, color=INK)
    return fig
