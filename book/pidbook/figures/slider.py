"""Figures with sliders: every position is computed beforehand and stored in the figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import log10
from typing import Any

import numpy as np
import plotly.graph_objects as go

from pidbook.figures.style import look_plotly

Key = str | tuple[str, ...]
Lines = Mapping[str, Sequence[float]]


def slider(
    x: Sequence[float],
    frames: Mapping[Key, Lines],
    name: str | Sequence[str],
    xlabel: str = "",
    ylabel: str = "",
    start: Key | None = None,
    points: Sequence[str] = (),
    log: bool = False,
) -> go.Figure:
    """Lines that change as the reader moves one slider, or several (drawn as controls of the page).

    Parameters
    ----------
    x : (k,) floats
    frames : mapping of positions to lines
        A position is a str, or for several sliders a tuple, every combination there. Lines: name to
        (k,) values over `x`, or to (2, m) places and values; the same names at each position.
    name : str or sequence of str, what each slider changes
    xlabel, ylabel : str, with the unit
    start : str or tuple of str, optional, the position shown first
    points : sequence of str, lines drawn as marks
    log : bool, for a logarithmic vertical axis

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> fig = slider([0, 1], {"0.1": {"a": [0, 1]}, "0.2": {"a": [0, 2]}}, "c", start="0.2")
    >>> len(fig.layout.sliders[0].steps), list(fig.data[0].y)
    (2, [0.0, 2.0])
    """
    names = [name] if isinstance(name, str) else list(name)
    places = {_key(key): lines for key, lines in frames.items()}
    labels = _labels(places, names)
    first = next(iter(places)) if start is None else _key(start)
    if first not in places:
        raise ValueError(f"the start {start!r} is no position of the slider: {list(frames)}")
    pictures = {key: _picture(x, lines) for key, lines in places.items()}
    own = any(np.ndim(line) == 2 for lines in places.values() for line in lines.values())
    fig = go.Figure(_traces(pictures[first], list(places[first]), points))

    def change(key: tuple[str, ...]) -> dict[str, list]:
        """What plotly's restyle needs: the places too, where lines have their own."""
        return pictures[key] if own else {"y": pictures[key]["y"]}

    fig.update_layout(
        sliders=dials(labels, [f"{name} = " for name in names], first, change),
        xaxis_title=xlabel,
        yaxis=dict(title=ylabel, range=_range(pictures, "y", log), type="log" if log else None),
        height=480 + 75 * (len(names) - 1),
        showlegend=True,
    )
    if log:  # powers of ten, not 100µ; one mark a decade unless there are few
        low, high = fig.layout.yaxis.range
        fig.update_yaxes(exponentformat="power", dtick=max(1, round((high - low) / 8)))
    if own:
        fig.update_xaxes(range=_range(pictures, "x", False))
    if len(names) > 1:  # the site reads every combination here
        fig.layout.meta = {"pictures": [change(key) for key in product(*labels)]}
    return fig


def dials(
    labels: Sequence[Sequence[str]],
    prefixes: Sequence[str],
    first: tuple[str, ...],
    change: Callable[[tuple[str, ...]], dict[str, list]],
) -> list[dict[str, Any]]:
    """Plotly's sliders: each moves one place of a position, the others as they are at first."""
    return [
        dict(
            active=column.index(first[k]),
            steps=[
                dict(
                    method="restyle",
                    label=label,
                    args=[change((*first[:k], label, *first[k + 1 :]))],
                )
                for label in column
            ],
            currentvalue=dict(prefix=prefix),
            pad=dict(t=55 + 75 * k),
        )
        for k, (column, prefix) in enumerate(zip(labels, prefixes, strict=True))
    ]


def _traces(
    picture: Mapping[str, list[list[float]]], lines: Sequence[str], points: Sequence[str]
) -> list[go.Scatter]:
    """The lines of one picture; those of `points` as marks."""
    traces = []
    for k, line in enumerate(lines):
        colour, symbol, dash = look_plotly(k, turn=1)
        style: dict[str, Any] = dict(line=dict(dash=dash, width=2.5, color=colour))
        if line in points:
            style = dict(mode="markers", marker=dict(size=9, symbol=symbol, color=colour))
        elif len(picture["x"][k]) < 30:
            style["mode"] = "lines"
        traces.append(go.Scatter(x=picture["x"][k], y=picture["y"][k], name=line, **style))
    return traces


def _key(key: Key) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else tuple(key)


def _labels(places: Mapping[tuple[str, ...], Lines], names: list[str]) -> list[list[str]]:
    """Positions of each slider, in their order."""
    lines = {tuple(shown) for shown in places.values()}
    if len(lines) != 1:
        raise ValueError(f"every slider position needs the same lines; got {sorted(lines)}")
    if any(len(key) != len(names) for key in places):
        raise ValueError(f"every position needs one value for each of {names}")
    labels = [list(dict.fromkeys(column)) for column in zip(*places, strict=True)]
    lacking = [key for key in product(*labels) if key not in places]
    if lacking:
        raise ValueError(f"no lines for the position {dict(zip(names, lacking[0], strict=True))}")
    return labels


def _picture(x: Sequence[float], lines: Lines) -> dict[str, list[list[float]]]:
    """Places and values of each line."""
    both = []
    for name, values in lines.items():
        array = np.asarray(values, dtype=float)
        pair = array if array.ndim == 2 else np.array([np.asarray(x, dtype=float), array])
        if pair.shape[0] != 2:
            raise ValueError(f"line {name!r} has shape {array.shape}; expected (k,) or (2, m)")
        both.append(pair.tolist())
    return {"x": [pair[0] for pair in both], "y": [pair[1] for pair in both]}


def _range(pictures: Mapping[Any, dict], axis: str, log: bool) -> list[float]:
    """Ends of an axis that fit every picture, so that it stands still."""
    values = np.concatenate([line for shown in pictures.values() for line in shown[axis]])
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    if log:
        if low <= 0:
            raise ValueError(f"the value {low} does not fit a logarithmic axis")
        low, high = log10(low), log10(high)
    room = 0.05 * (high - low or 1.0)
    return [low - room, high + room]
