"""Gains with their intervals, row by row."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from pidlib.style import INK, MARKERS, PALETTE


def gain_plot(
    groups: Mapping[str, Mapping[str, tuple[float, float, float]]],
    xlabel: str = "",
    zero: bool = True,
) -> Figure:
    """Plot gains as points with their intervals, grouped by what they are measured against.

    Parameters
    ----------
    groups : mapping of str to mapping of str to (gain, low, high)
        Name of a comparison, then name of a row, then its gain and 95 % interval, all in
        points. Every comparison has the same rows.
    xlabel : str
        What the axis measures.
    zero : bool
        Whether a line marks 0; False for shares, which lie far from it.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        No comparisons, rows that differ, or a gain outside its interval.

    Examples
    --------
    >>> fig = gain_plot({"over none": {"A": (1.0, 0.5, 1.5), "B": (0.0, -1.0, 1.0)}})
    >>> [label.get_text() for label in fig.axes[0].get_yticklabels()]
    ['A', 'B']

    Source: ours.
    """
    if not groups:
        raise ValueError("there are no comparisons to draw: give at least one")
    names = list(next(iter(groups.values())))
    for group, rows in groups.items():
        if list(rows) != names:
            raise ValueError(f"{group!r} has the rows {list(rows)}; the first has {names}")
        for name, (gain, low, high) in rows.items():
            if not low <= gain <= high:
                raise ValueError(f"{group!r}, {name!r}: {gain} is not between {low} and {high}")
    fig = Figure(figsize=(6.4, 0.7 + 0.24 * len(names) * (len(groups) + 1)), layout="constrained")
    plot = fig.add_subplot()
    step = 0.8 / len(groups)
    for k, (group, rows) in enumerate(groups.items()):
        places = [row + (k - (len(groups) - 1) / 2) * step for row in range(len(names))]
        gains, lows, highs = zip(*rows.values(), strict=True)
        bars = [
            [gain - low for gain, low in zip(gains, lows, strict=True)],
            [high - gain for gain, high in zip(gains, highs, strict=True)],
        ]
        look = dict(color=PALETTE[k % len(PALETTE)], marker=MARKERS[k % len(MARKERS)])
        plot.errorbar(gains, places, xerr=bars, linestyle="", capsize=3, label=group, **look)
    if zero:
        plot.axvline(0, color=INK, linewidth=0.8)
    plot.set_yticks(range(len(names)), names)
    plot.set_ylim(len(names) - 0.5, -0.5)  # the first row on top, none on the frame
    plot.grid(axis="y", visible=False)
    plot.set_xlabel(xlabel)
    wide = len(groups) > 2 and max(map(len, groups)) > 16
    fig.legend(loc="outside upper center", ncols=2 if wide else min(3, len(groups)))
    return fig
