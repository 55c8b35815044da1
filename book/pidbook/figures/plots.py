"""Figures: lines, gains with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pidbook.figures.style import INK, look


def curves(
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    xlabel: str = "",
    ylabel: str = "",
) -> Figure:
    """Draw named lines over one axis.

    Parameters
    ----------
    x : (k,) floats
    lines : mapping of str to (k,) floats
    xlabel, ylabel : str, with the unit

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> curves([0, 1, 2], {"base": [3, 2, 1]}, xlabel="block").axes[0].get_xlabel()
    'block'
    """
    fig = Figure(layout="constrained")
    plot = fig.add_subplot()
    for k, (name, values) in enumerate(lines.items()):
        style = look(k, turn=1)
        if len(x) > 30:  # so many marks would hide the line
            style.pop("marker")
        plot.plot(x, values, label=name, **style)
    if np.equal(np.mod(np.asarray(x, dtype=float), 1), 0).all():  # blocks, sweeps, places
        plot.xaxis.set_major_locator(MaxNLocator(nbins="auto", steps=[1, 2, 5, 10], integer=True))
    plot.set_xlabel(xlabel)
    plot.set_ylabel(ylabel)
    if len(lines) > 3:  # too many to find a free corner
        wide = max(map(len, lines)) > 18
        plot.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2 if wide else 3)
    elif len(lines) > 1:
        plot.legend()
    return fig


def name_ends(plot: Axes, least: float = 0.09) -> None:
    """Write the name of each line at its right end, in its colour, in place of a legend.

    Parameters
    ----------
    plot : matplotlib.axes.Axes
    least : float, between two names, as a share of the height

    Examples
    --------
    >>> fig = curves([0, 1, 2], {"base": [3, 2, 1], "P-D": [3, 1, 1]})
    >>> name_ends(fig.axes[0])
    >>> [text.get_text() for text in fig.axes[0].texts]
    ['base', 'P-D']
    """
    if plot.get_legend():
        plot.get_legend().remove()
    lines = [line for line in plot.lines if not line.get_label().startswith("_")]
    ends = [line.get_xydata()[-1] for line in lines]
    plot.set_ylim(plot.get_ylim())  # the places below are shares of this height
    to_share = (plot.transData + plot.transAxes.inverted()).transform
    wanted = np.array([to_share(end)[1] for end in ends]).clip(0, 1)
    order, places = np.argsort(-wanted, kind="stable"), wanted.copy()
    for _ in range(100):  # neighbours push each other apart until all have room
        for above, below in zip(order, order[1:], strict=False):
            if (push := (least - places[above] + places[below]) / 2) > 1e-6:
                places[above] += push
                places[below] -= push
    for line, y in zip(lines, places, strict=True):
        look = dict(color=line.get_color(), va="center", annotation_clip=False)
        place = dict(xycoords="axes fraction", xytext=(4, 0), textcoords="offset points")
        plot.annotate(line.get_label(), (1, y), **place, **look)


def gain_bar(
    plot: Axes,
    y: float,
    gain: float,
    ends: Sequence[float] = (),
    text: str = "",
    **look: str,
) -> None:
    """Draw a gain as a pale bar from 0, with a mark, its interval, and a number beside the plot.

    Parameters
    ----------
    plot : matplotlib.axes.Axes
    y : float, place of the row
    gain : float
    ends : two floats, the interval; none is drawn if they are left out
    text : str, beside the plot; the gain with its sign, if left out
    **look : `color`, `marker` and `label`, as in `Axes.plot`

    Examples
    --------
    >>> plot = Figure().subplots()
    >>> gain_bar(plot, 0, 3.7, (1.4, 6.0), color=INK, marker="o")
    >>> plot.texts[0].get_text()
    '+3.7'
    """
    line, rows = dict(color=look["color"], solid_capstyle="butt"), plot.get_yaxis_transform()
    plot.plot([0, gain], [y, y], linewidth=9, alpha=0.3, **line)
    plot.plot(ends, [y] * len(ends), linewidth=2, **line)
    plot.plot(gain, y, markersize=7, linestyle="", **look)
    text = text or f"{round(gain, 6):+.1f}".replace("-", "\N{MINUS SIGN}")
    plot.text(1.02, y, text, va="center", color=look["color"], fontsize=12.5, transform=rows)


def gain_plot(
    groups: Mapping[str, Mapping[str, tuple[float, float, float]]],
    xlabel: str = "",
    colours: Sequence[str] = (),
) -> Figure:
    """Plot gains as points with their intervals, grouped by what they are measured against.

    Parameters
    ----------
    groups : mapping of comparison to mapping of row to (gain, low, high), in points
    xlabel : str
    colours : sequence of str, of the comparisons, one each; a colour's second comes with hollow marks

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = list(next(iter(groups.values())))
    fig = Figure(figsize=(6.4, 0.7 + 0.24 * len(names) * (len(groups) + 1)), layout="constrained")
    plot = fig.add_subplot()
    step = 0.8 / len(groups)
    for k, (group, rows) in enumerate(groups.items()):
        places = np.arange(len(names)) + (k - (len(groups) - 1) / 2) * step
        gains, lows, highs = np.array(list(rows.values())).T
        style = look(k) | {"linestyle": ""}
        if colours:
            style |= dict(
                color=colours[k], fillstyle="none" if colours[k] in colours[:k] else "full"
            )
        bars = [gains - lows, highs - gains]
        plot.errorbar(gains, places, xerr=bars, capsize=3, label=group, **style)
    plot.axvline(0, color=INK, linewidth=0.8)
    plot.set_yticks(range(len(names)), names)
    plot.set_ylim(len(names) - 0.5, -0.5)  # the first row on top, none on the frame
    plot.grid(axis="y", visible=False)
    plot.set_xlabel(xlabel)
    wide = len(groups) > 2 and max(map(len, groups)) > 16
    fig.legend(loc="outside upper center", ncols=2 if wide else min(3, len(groups)))
    return fig
