"""The look of every figure: colours, the plotly template, matplotlib's defaults."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from pidbook.figures.colours import INK, PALETTE
from pidbook.figures.limits import reach

MARKERS = ("o", "s", "^", "D", "v", "P")
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
DASHES = ("dash", "solid", "dot", "dashdot", "longdash", "longdashdot")
STYLES = ("--", "-", ":", "-.", (0, (7, 2)), (0, (7, 2, 1, 2)))
LOOKS = 6  # different colours, markers and dashes; each of the tuples above has so many
_KAGGLE = Path("/kaggle/input")  # by which plotly knows the place


def page(height: float) -> Figure:
    """A figure as wide as a page of the book, so many inches high."""
    return Figure(figsize=(5.8, height), layout="constrained")


def page_and_plot(height: float, **axes: Any) -> tuple[Figure, Axes]:
    """The same with one plot in it; `axes` as for `Figure.add_subplot`."""
    figure = page(height)
    return figure, figure.add_subplot(**axes)


def look(k: int, turn: int = 0) -> dict[str, Any]:
    """Colour, marker and dashes of the k-th line in matplotlib.

    Parameters
    ----------
    k : int
    turn : int, how many further on the dashes are

    Returns
    -------
    dict of `color`, `marker` and `linestyle`, for matplotlib's `plot`

    Examples
    --------
    >>> look(0)["marker"], look(6)["marker"]
    ('o', 'o')
    """
    style = STYLES[(k + turn) % LOOKS]
    return dict(color=PALETTE[k % LOOKS], marker=MARKERS[k % LOOKS], linestyle=style)


def look_plotly(k: int, turn: int = 0) -> tuple[str, str, str]:
    """The same in plotly: colour, symbol and dashes."""
    return PALETTE[k % LOOKS], SYMBOLS[k % LOOKS], DASHES[(k + turn) % LOOKS]


_INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
MATPLOTLIB = (
    dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none")
    | dict.fromkeys(_INKED, INK)
    | {
        "savefig.transparent": True,
        "grid.color": "#808080",
        "grid.alpha": 0.25,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.framealpha": 0.0,
        "legend.edgecolor": "none",
        "axes.prop_cycle": mpl.cycler(color=PALETTE),
        "figure.figsize": (5.8, 3.5),
        "figure.constrained_layout.use": True,
        "font.size": 11,
        "lines.linewidth": 1.8,
        "svg.hashsalt": "book",
        "svg.fonttype": "path",
    }
)


def use_book_style() -> None:
    """Set the plotly template and the matplotlib defaults of the book, for light and dark pages."""
    grid = "rgba(128,128,128,.25)"
    axis = dict(gridcolor=grid, zerolinecolor="rgba(128,128,128,.4)", linecolor=INK)
    axis |= dict(ticks="outside", tickcolor=INK, automargin=True)
    viridis = [dict(colorscale="Viridis")]
    pio.templates["book"] = go.layout.Template(
        data=dict(heatmap=viridis, surface=viridis, contour=viridis),
        layout=dict(
            paper_bgcolor="rgba(0,0,0,0)",
            plot_bgcolor="rgba(0,0,0,0)",
            font=dict(color=INK, family="system-ui, sans-serif", size=14),
            colorway=list(PALETTE),
            height=420,
            xaxis=axis,
            yaxis=axis,
            legend=dict(orientation="h", x=0, y=1.02, yanchor="bottom"),
            polar=dict(
                bgcolor="rgba(0,0,0,0)",
                radialaxis=dict(gridcolor=grid, linecolor=INK, tickcolor=INK),
                angularaxis=dict(gridcolor=grid, linecolor=grid, tickcolor=INK),
            ),
            margin=dict(l=50, r=20, t=50, b=50),
            updatemenudefaults=dict(bgcolor="rgba(128,128,128,.15)", bordercolor=INK),
            sliderdefaults=dict(
                bgcolor="rgba(128,128,128,.35)",
                activebgcolor=PALETTE[0],
                bordercolor=INK,
                tickcolor=INK,
            ),
        ),
    )
    pio.templates.default = "book"
    _choose_renderer()
    mpl.rcParams.update(MATPLOTLIB)
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg", metadata={"Date": None})
        _show_whole()
    except (ImportError, AttributeError):  # outside a notebook there is nothing to set
        pass


def _show_whole() -> None:
    """Let a notebook widen the limits of a picture that would hide a mark of it."""
    from IPython import get_ipython

    if (shell := get_ipython()) is not None:
        svg = shell.display_formatter.formatters["image/svg+xml"]
        draw = svg.lookup_by_type(Figure)
        svg.for_type(Figure, lambda figure: draw(widened(figure)))


def widened(figure: Figure) -> Figure:
    """Widen the limits of each plot that would hide a mark or a bar; the same figure.

    A picture so keeps its look, and a reader who changes a number still sees everything.

    Examples
    --------
    >>> figure, plot = page_and_plot(2)
    >>> _ = plot.plot([0, 2], [0, 1], "o")
    >>> _ = plot.set_xlim(0, 1)
    >>> [float(end) for end in widened(figure).axes[0].get_xlim()]
    [0.0, 2.05]
    """
    for plot in figure.axes:
        artists = (*plot.lines, *plot.collections, *plot.patches)
        points = np.concatenate([np.zeros((0, 2)), *map(_points, artists)])
        for axis, values in zip((plot.xaxis, plot.yaxis), points.T, strict=True):
            start, end = axis.get_view_interval()
            limits = min(start, end), max(start, end)
            low, high = reach(limits, values)
            if (low, high) != limits:
                ends = (low, high) if start < end else (high, low)
                axis.axes.set(**{f"{axis.axis_name}lim": ends})
    return figure


def _points(artist: Any) -> np.ndarray:
    """Marks or corners of an artist in the numbers of its plot, (k, 2); none for a bare line."""
    data = artist.axes.transData
    if isinstance(artist, PathCollection) and artist.get_offset_transform() == data:
        return np.ma.filled(np.asarray(artist.get_offsets(), float), np.nan)
    if isinstance(artist, Line2D) and artist.get_transform() == data:
        if artist.get_marker() not in ("None", "", None):
            return np.asarray(artist.get_xydata(), float)
    if isinstance(artist, Rectangle) and artist.get_data_transform() == data:
        return artist.get_bbox().get_points()
    return np.zeros((0, 2))


def _choose_renderer() -> None:
    """Let plotly store a figure as data, except where it has a renderer for the place."""
    if "plotly.io._renderers" in sys.modules:
        if pio.renderers.default not in ("colab", "kaggle", "vscode"):
            pio.renderers.default = "plotly_mimetype"
    # Asking `pio.renderers` loads nbformat, and with it a grammar of web addresses: a second
    # for pages that draw nothing with plotly. It reads the variable when it first draws.
    elif not ({"COLAB_NOTEBOOK_ID", "VSCODE_PID"} & set(os.environ) or _KAGGLE.exists()):
        os.environ.setdefault("PLOTLY_RENDERER", "plotly_mimetype")


def tidy(fig: go.Figure, digits: int = 4) -> go.Figure:
    """Copy a plotly figure with rounded numbers in plain lists: small, and the same on every machine.

    Parameters
    ----------
    fig : plotly.graph_objects.Figure
    digits : int, decimal places

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> tidy(go.Figure(go.Scatter(y=np.array([1 / 3, 2 / 3]))), 2).data[0].y
    (0.33, 0.67)
    """
    return go.Figure(_plain(fig.to_plotly_json(), digits))


def _plain(value: Any, digits: int) -> Any:
    """Plotly's JSON with arrays decoded to lists and floats rounded."""
    if isinstance(value, dict) and {"bdata", "dtype"} <= value.keys():
        array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
        shape = str(value.get("shape", array.size)).split(",")
        value = array.reshape([int(k) for k in shape])
    if isinstance(value, dict):
        return {key: _plain(item, digits) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item, digits) for item in value]
    # no -0.0: its sign is rounding noise
    return round(value, digits) + 0.0 if isinstance(value, float) else value
