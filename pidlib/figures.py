"""Figures: radar plots, lines with intervals, spectra, agreement, a slider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.figure import Figure

from pidlib.sliders import slider
from pidlib.style import (
    DASHES,
    INK,
    MARKERS,
    PALETTE,
    STYLES,
    SYMBOLS,
    tidy,
    use_book_style,
)
from pidlib.tables import print_counts, print_table

__all__ = [
    "INK",
    "PALETTE",
    "agreement",
    "curves",
    "print_counts",
    "print_table",
    "radar_matplotlib",
    "radar_plotly",
    "slider",
    "spectra",
    "tidy",
    "use_book_style",
]

RINGS = 4  # of a radar plot


def radar_plotly(
    axes: Sequence[str],
    series: Mapping[str, Sequence[float]],
    title: str = "",
    intervals: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    top: float = 100.0,
) -> go.Figure:
    """Radar plot of accuracies, to hover over.

    Parameters
    ----------
    axes : sequence of str
        Names of the k spokes (attacks), at least 3.
    series : mapping of str to (k,) floats
        Name of a model (base, controlled) to its values in percent, 0 .. `top`.
    title : str
        Printed above; the caption of the page usually says it better.
    intervals : mapping of str to k pairs (low, high), optional
        In percent; shown on hovering.
    top : float
        End of the radial axis, in percent.

    Returns
    -------
    plotly.graph_objects.Figure
        Show it through `tidy`.

    Raises
    ------
    ValueError
        Fewer than 3 axes, no series, a wrong length, or a value outside 0 .. `top`.

    Examples
    --------
    >>> fig = radar_plotly(["clean", "A", "B"], {"base": [80, 60, 10], "P-D": [79, 68, 21]})
    >>> [trace.name for trace in fig.data]
    ['base', 'P-D']

    Source: paper Fig. 2.
    """
    rows = _checked(axes, series, top)
    rings = [top * k / RINGS for k in range(1, RINGS + 1)]
    fig = go.Figure()
    for k, (name, values) in enumerate(rows.items()):
        colour = PALETTE[k % len(PALETTE)]
        spread = (intervals or {}).get(name)
        notes = [f"{low:.1f} to {high:.1f}" for low, high in spread] if spread else None
        hover = "%{theta}: %{r:.1f} %" + ("<br>95 % interval %{text}" if notes else "")
        fig.add_trace(
            go.Scatterpolar(
                r=[*values, values[0]],
                theta=[*axes, axes[0]],
                name=name,
                mode="lines+markers",
                text=[*notes, notes[0]] if notes else None,
                hovertemplate=f"{name}<br>{hover}<extra></extra>",
                fill="toself",
                fillcolor=_clear(colour, 0.12),
                line=dict(color=colour, width=2.5, dash=DASHES[k % len(DASHES)]),
                marker=dict(size=8, symbol=SYMBOLS[k % len(SYMBOLS)]),
            )
        )
    fig.update_layout(
        title=title or None,
        height=460,
        legend=dict(orientation="h", x=0.5, xanchor="center", y=-0.1, yanchor="top"),
        margin=dict(l=70, r=70, t=60 if title else 40, b=40),
        polar=dict(
            gridshape="linear",
            radialaxis=dict(
                range=[0, top],
                angle=90,
                tickangle=90,
                tickvals=rings,
                ticktext=[f"{ring:g} %" for ring in rings[:-1]] + [""],
                tickfont_size=11,
            ),
            angularaxis=dict(direction="clockwise", rotation=90),
        ),
    )
    return fig


def radar_matplotlib(
    axes: Sequence[str],
    series: Mapping[str, Sequence[float]],
    title: str = "",
    intervals: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    top: float = 100.0,
) -> Figure:
    """Radar plot of accuracies, for paper.

    Parameters
    ----------
    axes, series, title, intervals, top
        As in `radar_plotly`; intervals are drawn as bars along the spokes.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        As `radar_plotly`.

    Examples
    --------
    >>> fig = radar_matplotlib(["clean", "A", "B"], {"base": [80, 60, 10]})
    >>> [text.get_text() for text in fig.axes[0].get_xticklabels()]
    ['clean', 'A', 'B']

    Source: paper Fig. 2.
    """
    rows = _checked(axes, series, top)
    angles = np.linspace(0, 2 * np.pi, len(axes), endpoint=False)
    fig = Figure(figsize=(5.2, 4.6), layout="constrained")
    plot = fig.add_subplot(projection="polar")
    plot.set_theta_offset(np.pi / 2)
    plot.set_theta_direction(-1)
    for k, (name, values) in enumerate(rows.items()):
        colour = PALETTE[k % len(PALETTE)]
        turn, ring = np.append(angles, angles[0]), [*values, values[0]]
        style = dict(color=colour, linestyle=STYLES[k % len(STYLES)])
        plot.plot(turn, ring, label=name, marker=MARKERS[k % len(MARKERS)], **style)
        plot.fill(turn, ring, color=colour, alpha=0.12, linewidth=0)
        for angle, (low, high) in zip(angles, (intervals or {}).get(name, ()), strict=False):
            plot.plot([angle, angle], [low, high], color=colour, linewidth=5, alpha=0.4)
    # the rings as polygons, like the paper's, in place of matplotlib's circles
    plot.grid(False)
    plot.spines["polar"].set_visible(False)
    rings = [top * k / RINGS for k in range(1, RINGS + 1)]
    for ring in rings:
        plot.plot(np.append(angles, angles[0]), [ring] * (len(axes) + 1), **_hair())
    for angle in angles:
        plot.plot([angle, angle], [0, top], **_hair())
    plot.set_ylim(0, top)
    plot.set_yticks([])
    middle = angles[1] / 2  # where an edge of the polygon is nearest to the centre
    for ring in rings:
        place = dict(ha="left", va="bottom", fontsize=9, color=INK)
        plot.text(middle, ring * np.cos(middle), f" {ring:g} %", **place)
    plot.set_xticks(angles, list(axes))
    plot.tick_params(axis="x", pad=8)
    fig.legend(loc="outside lower center", ncols=len(rows))
    if title:
        fig.suptitle(title)
    return fig


def curves(
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    intervals: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    xlabel: str = "",
    ylabel: str = "",
    log: bool = False,
) -> Figure:
    """Draw named lines over one axis, each with its interval as a band.

    Parameters
    ----------
    x : (k,) floats
        Places, such as block numbers.
    lines : mapping of str to (k,) floats
        Name to values.
    intervals : mapping of str to ((k,) lows, (k,) highs), optional
        Drawn as a band around the line of that name.
    xlabel, ylabel : str
        What the axes measure, with the unit.
    log : bool
        Logarithmic vertical axis.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        No line, or a line whose length is not that of `x`.

    Examples
    --------
    >>> fig = curves([0, 1, 2], {"base": [3, 2, 1]}, xlabel="block")
    >>> fig.axes[0].get_xlabel()
    'block'

    Source: ours.
    """
    if not lines:
        raise ValueError("there are no lines to draw: give at least one name with its values")
    fig = Figure(layout="constrained")
    plot = fig.add_subplot()
    for k, (name, values) in enumerate(lines.items()):
        if len(values) != len(x):
            raise ValueError(f"line {name!r} has {len(values)} values for {len(x)} places")
        look = dict(marker=MARKERS[k % len(MARKERS)], color=PALETTE[k % len(PALETTE)])
        if len(x) > 30:  # so many marks would hide the line
            look.pop("marker")
        plot.plot(x, values, label=name, linestyle=STYLES[(k + 1) % len(STYLES)], **look)
        if intervals and name in intervals:
            plot.fill_between(x, *intervals[name], color=look["color"], alpha=0.18, linewidth=0)
    plot.set_xlabel(xlabel)
    plot.set_ylabel(ylabel)
    if log:
        plot.set_yscale("log")
    if len(lines) > 3:  # too many to find a free corner
        plot.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    elif len(lines) > 1:
        plot.legend()
    return fig


def spectra(
    eigenvalues: Mapping[str, Sequence[float]], thresholds: Sequence[float] = (0.99, 0.95)
) -> Figure:
    """Plot how much of the second moment the largest directions hold.

    Parameters
    ----------
    eigenvalues : mapping of str to (d,) floats
        Name of a layer to its eigenvalues, in any order, not negative.
    thresholds : sequence of float
        Shares in (0, 1] drawn as level lines, where the ranks are read.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> fig = spectra({"x_0": [4.0, 3.0, 2.0, 1.0]}, thresholds=[0.9])
    >>> [float(y) for y in fig.axes[0].lines[0].get_ydata().round(2)]
    [0.4, 0.7, 0.9, 1.0]

    Source: paper section 2.1 (ranks by variance), Table 7.
    """
    lines = {}
    for name, values in eigenvalues.items():
        ordered = np.sort(np.asarray(values, dtype=float))[::-1]
        if ordered[-1] < -1e-9 * ordered[0]:
            raise ValueError(f"{name!r} has the eigenvalue {ordered[-1]:.3g}; none may be negative")
        lines[name] = np.cumsum(ordered) / ordered.sum()
    count = max(len(values) for values in lines.values())
    fig = curves(range(1, count + 1), lines, xlabel="directions kept", ylabel="share of Σσ²")
    for k, level in enumerate(thresholds):
        fig.axes[0].axhline(level, color=INK, linewidth=0.8, linestyle=":")
        above = dict(xytext=(2, 3), va="bottom") if k == 0 else dict(xytext=(2, -3), va="top")
        fig.axes[0].annotate(f"{100 * level:g} %", (1, level), textcoords="offset points", **above)
    return fig


def agreement(
    predicted: Mapping[str, Sequence[float]],
    true: Mapping[str, Sequence[float]],
    what: str = "error",
) -> Figure:
    """Plot predicted against true values on logarithmic axes, with the diagonal.

    Parameters
    ----------
    predicted, true : mapping of str to (k,) floats
        The same names and lengths in both; values above 0.
    what : str
        The quantity compared, with its unit.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> fig = agreement({"linear": [1.0, 2.0]}, {"linear": [1.0, 2.1]})
    >>> fig.axes[0].get_xlabel()
    'predicted error'

    Source: paper Table 6 (predicted against true error).
    """
    fig = Figure(figsize=(4.8, 4.4), layout="constrained")
    plot = fig.add_subplot()
    for k, (name, values) in enumerate(predicted.items()):
        plot.loglog(values, true[name], MARKERS[k % len(MARKERS)], label=name, alpha=0.7)
    both = np.concatenate([np.asarray(v, float) for m in (predicted, true) for v in m.values()])
    ends = [both.min(), both.max()]
    plot.loglog(ends, ends, color=INK, linewidth=1, label="equal")
    plot.set_xlabel(f"predicted {what}")
    plot.set_ylabel(f"true {what}")
    plot.legend()
    return fig


def _checked(
    axes: Sequence[str], series: Mapping[str, Sequence[float]], top: float
) -> dict[str, list[float]]:
    """Series as lists of floats that fit the axes."""
    if len(axes) < 3:
        raise ValueError(f"a radar plot needs at least 3 axes; got {list(axes)}")
    if not series:
        raise ValueError("there is no series to draw: give at least one name with its values")
    rows = {name: [float(v) for v in values] for name, values in series.items()}
    for name, values in rows.items():
        if len(values) != len(axes):
            raise ValueError(f"series {name!r} has {len(values)} values for {len(axes)} axes")
        bad = [v for v in values if not 0 <= v <= top]
        if bad:
            raise ValueError(f"series {name!r} has {bad[0]}, outside 0..{top:g} percent")
    return rows


def _clear(colour: str, alpha: float) -> str:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def _hair() -> dict[str, Any]:
    return dict(color="#808080", alpha=0.3, linewidth=0.7, zorder=0.5)
