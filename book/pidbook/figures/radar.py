"""Radar plots of accuracies: one to hover over, and many side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.figure import Figure
from plotly.colors import hex_to_rgb

from pidbook.figures.colours import INK, PALETTE
from pidbook.figures.comparisons import LETTERS
from pidbook.figures.slider import dials
from pidbook.figures.style import look, look_plotly

Series = Mapping[str, Sequence[float]]

RINGS = (25.0, 50.0, 75.0, 100.0)  # of a radar plot, in percent
TOP = RINGS[-1]
KEY = (INK, *PALETTE)  # no control is grey, the first control has the colour of ours


def radar_plotly(axes: Sequence[str], series: Series) -> go.Figure:
    """Radar plot of accuracies, to hover over.

    Parameters
    ----------
    axes : sequence of k >= 3 str
    series : mapping of str to (k,) floats in percent

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> [trace.name for trace in radar_plotly(["clean", "A", "B"], {"base": [80, 60, 10]}).data]
    ['base']

    Source: paper Fig. 2.
    """
    rows = _checked(axes, series)
    down = 90 - np.degrees(_lowest(len(axes))) - 180 / len(axes)  # a spoke, as plotly wants
    fig = go.Figure()
    for k, (name, values) in enumerate(rows.items()):
        colour, (_, symbol, dash) = KEY[k % len(KEY)], look_plotly(k)
        fill = ",".join(map(str, (*hex_to_rgb(colour), 0.12)))
        fig.add_trace(
            go.Scatterpolar(
                r=[*values, values[0]],
                theta=[*axes, axes[0]],
                name=name,
                mode="lines+markers",
                hovertemplate=f"{name}<br>%{{theta}}: %{{r:.1f}} %<extra></extra>",
                fill="toself",
                fillcolor=f"rgba({fill})",
                line=dict(color=colour, width=2.5, dash=dash),
                marker=dict(size=8, symbol=symbol),
            )
        )
    fig.update_layout(
        height=460,
        legend=dict(orientation="h", x=0.5, xanchor="center", y=-0.1, yanchor="top"),
        margin=dict(l=70, r=70, t=40, b=40),
        polar=dict(
            gridshape="linear",
            radialaxis=dict(
                range=[0, TOP],
                angle=down,
                tickangle=down,
                tickvals=RINGS,
                ticktext=[f"{ring:g} %" for ring in RINGS],
                tickfont_size=11,
            ),
            angularaxis=dict(direction="clockwise", rotation=90),
        ),
    )
    return fig


def radar_choice(
    axes: Sequence[str], frames: Mapping[tuple[str, ...], Series], names: Sequence[str]
) -> go.Figure:
    """Radar plot whose accuracies the reader chooses from lists, such as the model and the data.

    Parameters
    ----------
    axes : sequence of k >= 3 str
    frames : mapping of a choice from each list to series, as in `radar_plotly`
        Every combination is there. The first is shown at first and has all names; a name that
        another combination lacks is not drawn there.
    names : sequence of str, what each list chooses

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> frames = {("A", "x"): {"base": [1, 2, 3]}, ("A", "y"): {"base": [3, 2, 1]}}
    >>> [len(part.steps) for part in radar_choice("abc", frames, ["model", "data"]).layout.sliders]
    [1, 2]

    Source: paper Fig. 2.
    """
    first = next(iter(frames))
    rows = {key: _checked(axes, series) for key, series in frames.items()}
    lists = [list(dict.fromkeys(column)) for column in zip(*frames, strict=True)]
    absent = [None] * len(axes)
    for key in product(*lists):
        if not rows.get(key) or not rows[key].keys() <= rows[first].keys():
            raise ValueError(f"no {list(rows[first])} for the choice {key}")

    def change(key: tuple[str, ...]) -> dict[str, list]:
        outlines = [rows[key].get(name, absent) for name in rows[first]]
        return {"r": [[*values, values[0]] for values in outlines]}

    fig = radar_plotly(axes, rows[first])
    fig.update_layout(
        sliders=dials(lists, [f"{name}: " for name in names], first, change),
        meta={"pictures": [change(key) for key in product(*lists)], "choose": True},
        height=fig.layout.height + 75 * len(names),
    )
    return fig


def radar_grid(axes: Sequence[str], panels: Mapping[str, Series]) -> Figure:
    """Small radar plots in two columns, for paper.

    Parameters
    ----------
    axes : sequence of str
    panels : mapping of title to series, as in `radar_plotly`, with the same names

    Returns
    -------
    matplotlib.figure.Figure

    Source: paper Fig. 2.
    """
    if not panels:
        raise ValueError("there are no panels to draw: give at least one")
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    fig = Figure(figsize=(2.6 * columns, 2.1 * lines + 0.5), layout="constrained")
    fig.get_layout_engine().set(w_pad=0.07)  # room between the names of neighbours
    for k, (title, series) in enumerate(panels.items()):
        plot = fig.add_subplot(lines, columns, k + 1, projection="polar")
        _draw(plot, axes, _checked(axes, series))
        plot.set_title(title, fontsize=LETTERS + 1)
    handles, names = fig.axes[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=len(names))
    return fig


def _draw(plot: Any, axes: Sequence[str], rows: Series) -> None:
    """Draw one radar plot."""
    angles = np.linspace(0, 2 * np.pi, len(axes), endpoint=False)
    plot.set_theta_offset(np.pi / 2)
    plot.set_theta_direction(-1)
    around = np.append(angles, angles[0])
    for k, (name, values) in enumerate(rows.items()):
        style, ring = look(k) | {"color": KEY[k % len(KEY)]}, [*values, values[0]]
        style.pop("marker")
        plot.plot(around, ring, label=name, **style)
        plot.fill(around, ring, color=style["color"], alpha=0.12, linewidth=0)
    # the rings as polygons, like the paper's, in place of matplotlib's circles
    plot.grid(False)
    plot.spines["polar"].set_visible(False)
    hair = dict(color="#808080", alpha=0.3, linewidth=0.7, zorder=0.5)
    for ring in RINGS:
        plot.plot(around, [ring] * len(around), **hair)
    for angle in angles:
        plot.plot([angle] * 2, [0, TOP], **hair)
    plot.set_ylim(0, TOP)
    plot.set_yticks([])
    place = dict(xytext=(0, -2), textcoords="offset points", ha="center", va="top", color=INK)
    for ring in RINGS[1::2]:  # just outside the edge that it names
        edge = _lowest(len(axes)), ring * np.cos(np.pi / len(axes))
        plot.annotate(f"{ring:g} %", edge, **place, fontsize=LETTERS)
    plot.set_xticks(angles, list(axes))
    plot.tick_params(axis="x", pad=-3, labelsize=LETTERS)
    for name, side in zip(plot.get_xticklabels(), np.sin(angles), strict=True):
        name.set_ha("center" if abs(side) < 0.1 else "left" if side > 0 else "right")


def _checked(axes: Sequence[str], series: Series) -> dict[str, list[float]]:
    """Series as lists of floats that fit the axes."""
    if len(axes) < 3:
        raise ValueError(f"a radar plot needs at least 3 axes; got {list(axes)}")
    if not series:
        raise ValueError("there is no series to draw: give at least one name with its values")
    rows = {name: [float(v) for v in values] for name, values in series.items()}
    for name, values in rows.items():
        if len(values) != len(axes):
            raise ValueError(f"series {name!r} has {len(values)} values for {len(axes)} axes")
        for value in values:
            if not 0 <= value <= TOP:
                raise ValueError(f"series {name!r} has {value}, outside 0..{TOP:g} percent")
    return rows


def _lowest(spokes: int) -> float:
    """Angle, clockwise from the top, of the middle of the lowest edge (the right of two)."""
    return (2 * ((spokes - 1) // 2) + 1) * np.pi / spokes
