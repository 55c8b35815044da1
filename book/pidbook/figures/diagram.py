"""Diagrams drawn by the book: a network with a controller before every block."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from pidbook.figures.colours import INK, PALETTE

BLOCK, CONTROL = PALETTE[0], PALETTE[1]


def network_diagram(blocks: int = 3) -> Figure:
    """Draw blocks in a row, and the P, I and D controllers that act before each.

    Parameters
    ----------
    blocks : int, 2 to 4; the last one stands for block T - 1

    Returns
    -------
    matplotlib.figure.Figure

    Source: Fig. 1, redrawn.
    """
    if not 2 <= blocks <= 4:
        raise ValueError(f"{blocks} blocks do not fit the drawing; give 2 to 4")
    fig = Figure(figsize=(2.9 * blocks + 0.6, 3.1), layout="constrained")
    plot = fig.add_subplot()
    plot.set_axis_off()
    plot.set_aspect("equal")
    plot.set_xlim(-0.5, 5.4 * blocks - 0.8)
    plot.set_ylim(-3.3, 1.0)
    for t in range(blocks):
        last = t == blocks - 1
        name = "T-1" if last else str(t)
        left = 5.4 * t
        _text(plot, left, 0, f"$x_{{{name}}}$", 13, INK)
        _arrow(plot, (left + (0.55 if last else 0.3), 0), (left + 0.95, 0), BLOCK)
        plot.add_patch(Circle((left + 1.2, 0), 0.25, fill=False, edgecolor=CONTROL, linewidth=2))
        _text(plot, left + 1.2, 0, "+", 13, CONTROL)
        _arrow(plot, (left + 1.45, 0), (left + 2.0, 0), BLOCK)
        _box(plot, (left + 2.0, -0.5), (1.3, 1.0), 0.12, edgecolor=BLOCK, linewidth=2)
        _text(plot, left + 2.65, 0, f"$F_{{{name}}}$", 13, BLOCK)
        _controller(plot, left, name)
        _arrow(plot, (left + 3.3, 0), (left + (3.8 if t >= blocks - 2 else 5.0), 0), BLOCK)
        if t == blocks - 2:
            _text(plot, left + 4.07, 0, "···", 15, INK)
            _arrow(plot, (left + 4.32, 0), (left + 4.82, 0), BLOCK)
    _text(plot, 5.4 * blocks - 1.25, 0, "$x_T$", 13, INK)
    return fig


def _text(plot: Axes, x: float, y: float, text: str, size: int, colour: str) -> None:
    plot.text(x, y, text, ha="center", va="center", fontsize=size, color=colour)


def _arrow(plot: Axes, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    look = dict(arrowstyle="-|>", color=colour, linewidth=1.8, shrinkA=0, shrinkB=0)
    plot.annotate("", xy=end, xytext=start, arrowprops=look)


def _box(
    plot: Axes, corner: tuple[float, float], size: tuple[float, float], round_by: float, **look: Any
) -> None:
    style = f"round,pad=0,rounding_size={round_by}"
    plot.add_patch(FancyBboxPatch(corner, *size, boxstyle=style, fill=False, **look))


def _controller(plot: Axes, left: float, name: str) -> None:
    """Three boxes under a state, whose sum goes up into the circle."""
    dashed = dict(linewidth=1.6, linestyle="--")
    middle, right = left + 0.7, left + 1.2

    def wire(*places: tuple[float, float]) -> None:
        plot.plot(*zip(*places, strict=True), color=CONTROL, **dashed)

    wire((left, -0.3), (left, -2.6))
    for k, letter in enumerate("PID"):
        y = -1.3 - 0.65 * k
        wire((left, y), (left + 0.45, y))
        _box(plot, (left + 0.45, y - 0.24), (0.5, 0.48), 0.08, edgecolor=CONTROL, **dashed)
        _text(plot, middle, y, letter, 11, CONTROL)
        wire((left + 0.95, y), (right, y))
    wire((right, -2.6), (right, -1.0))
    _arrow(plot, (right, -1.0), (right, -0.25), CONTROL)
    place = dict(ha="left", va="center", fontsize=11, color=CONTROL)
    plot.text(left + 1.32, -0.72, f"$u_{{{name}}}$", **place)
