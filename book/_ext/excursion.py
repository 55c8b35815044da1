"""A state that leaves its clean subspace, and the control that brings it back."""

from __future__ import annotations

from itertools import accumulate
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from pidlib.figures.slider import slider
from pidlib.theory import alphas, rotating_system, simulate

BLOCKS, STRUCK, SEED = 12, 2, 0
COSTS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
DISTURBANCES = (0.0, 0.1, 0.2, 0.3)
START = (1.0, 0.1)
PRINTED = (None, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
LINES = ("with control", "without control", "the clean subspace")


class Excursion(NamedTuple):
    """How far a state was outside its subspace, block by block."""

    outside: np.ndarray  # (T + 1,) signed distance of x_t, before the control of block t
    kept: np.ndarray  # (T,) the same of x_t + u_t, after the control
    spent: float  # sum over the blocks of the size of u_t, squared


def excursion(cost: float | None, disturbance: float = 0.0) -> Excursion:
    """Throw a state off its subspace and let the control bring it back.

    The network has twelve orthogonal blocks. A clean state has three numbers and lies in
    a plane that the blocks turn. The state that enters block 2 is moved by 1 away from
    its plane; those after it are moved by random disturbances.

    The cost is the price c of a control, None for no control; disturbance is the standard deviation
    of the later disturbances, which are the same for each cost. ValueError if one of them is negative.

    >>> excursion(None).outside.round(3)[2:6]
    array([1., 1., 1., 1.])
    >>> excursion(1.0).outside.round(3)[2:6]
    array([1.   , 0.382, 0.146, 0.056])

    Source: Eq. (1), Proposition 2; equation eq-intro-law.
    """
    if not disturbance >= 0:
        raise ValueError(f"the disturbance is {disturbance}; it cannot be negative")
    system = rotating_system(d=3, r=2, T=BLOCKS, seed=SEED)
    first = np.linalg.svd(system.bases[0])[0][:, -1]  # carried along: its sign never jumps
    normal = np.array([*accumulate(system.thetas, lambda v, theta: theta @ v, initial=first)])
    w = disturbance * np.random.default_rng(SEED).standard_normal((BLOCKS + 1, 3))
    w[:STRUCK] = 0.0
    w[STRUCK] = normal[STRUCK]
    shares = np.zeros(BLOCKS) if cost is None else 1.0 - alphas(BLOCKS, cost)
    gains = shares[:, None, None] * system.complements[:-1]
    # each block adds a disturbance of its own to every state
    disturbed = SimpleNamespace(T=BLOCKS, d=3, layer=lambda t, v: system.layer(t, v) + w[t + 1])
    run = simulate(disturbed, system.bases[0] @ (1.0, 0.5), gains)
    outside = np.einsum("td,td->t", normal, run.states)
    kept = np.einsum("td,td->t", normal[:-1], run.states[:-1] + run.controls)
    return Excursion(outside, kept, float((run.controls**2).sum()))


def excursion_figure() -> go.Figure:
    """Draw the excursion for every cost and every size of the later disturbances.

    >>> [len(dial.steps) for dial in excursion_figure().layout.sliders]
    [9, 4]
    """
    frames, blocks = {}, np.arange(BLOCKS + 1)
    for cost in COSTS:
        for disturbance in DISTURBANCES:
            bare, held = excursion(None, disturbance), excursion(cost, disturbance)
            shown = (_path(held), _path(bare), [[0, BLOCKS], [0.0, 0.0]])
            frames[f"{cost:g}", f"{disturbance:g}"] = dict(zip(LINES, shown, strict=True))
    return slider(
        blocks,
        frames,
        name=("price c", "later disturbances"),
        xlabel="t: the state before block t; 12 is the output",
        ylabel="signed distance from the subspace",
        start=tuple(f"{value:g}" for value in START),
    )


def excursion_rows() -> list[dict[str, str]]:
    """Tell the figure in numbers: some of its costs, at the disturbances that it shows first.

    >>> excursion_rows()[0]["price c"]
    'no control'
    """
    runs = {cost: excursion(cost, START[1]) for cost in PRINTED}
    return [
        {
            "price c": "no control" if cost is None else f"{cost:g}",
            f"left at block {STRUCK}": f"{run.kept[STRUCK]:.3f}",
            "outside at the end": f"{abs(run.outside[-1]):.3f}",
            "control spent": f"{run.spent:.3f}",
        }
        for cost, run in runs.items()
    ]


def _path(run: Excursion) -> list[np.ndarray]:
    """A run as a line of vertical steps: a control before each block, a disturbance in its middle."""
    across = np.add.outer(np.arange(BLOCKS), [0, 0, 0.5, 0.5])
    up = np.column_stack([run.outside[:-1], run.kept, run.kept, run.outside[1:]])
    return [np.append(across, BLOCKS), np.append(up, run.outside[-1])]
