"""Radar plots of accuracies, to hover over and to choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import plotly.graph_objects as go
from plotly.colors import hex_to_rgb

from pidbook.figures.colours import INK, PALETTE
from pidbook.figures.slider import dials
from pidbook.figures.style import look_plotly

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
    down = 90 - np.degrees(_lowest(len(axes))) - 180 / len(axes)  # a spoke, as plotly wants
    fig = go.Figure()
    for k, (name, values) in enumerate(series.items()):
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
                ticktext=["" if ring == RINGS[0] else f"{ring:g} %" for ring in RINGS],
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
    lists = [list(dict.fromkeys(column)) for column in zip(*frames, strict=True)]
    absent = [None] * len(axes)

    def change(key: tuple[str, ...]) -> dict[str, list]:
        outlines = [frames[key].get(name, absent) for name in frames[first]]
        measured = [name in frames[key] for name in frames[first]]  # others leave the legend, too
        return {"r": [[*values, values[0]] for values in outlines], "visible": measured}

    fig = radar_plotly(axes, frames[first])
    fig.update_layout(
        sliders=dials(lists, [f"{name}: " for name in names], first, change),
        meta={"pictures": [change(key) for key in product(*lists)], "choose": True},
        height=fig.layout.height + 75 * len(names),
    )
    return fig


def _lowest(spokes: int) -> float:
    """Angle, clockwise from the top, of the middle of the lowest edge (the right of two)."""
    return (2 * ((spokes - 1) // 2) + 1) * np.pi / spokes
