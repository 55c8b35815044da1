"""Pictures of chapter 8: how many directions states fill, and what a control takes from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pidbook.figures import (
    INK,
    LOSS,
    OURS,
    PALETTE,
    PAPER,
    Table,
    name_ends,
    page,
    page_and_plot,
    table,
)

LOOKS = {  # of the states, their running sums and their changes: no colours that trials use
    "P": dict(color=PALETTE[2], marker="o", linestyle="-"),
    "I": dict(color=INK, marker="s", linestyle=":"),
    "D": dict(color=LOSS, marker="^", linestyle="--"),
}
DASHES = ("-", "--", "-.", ":")
SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"


def state_name(t: int) -> str:
    """A state's name in a table, such as x₀."""
    return "x" + "".join(SUBSCRIPTS[int(digit)] for digit in str(t))


def _states(plot: Axes, count: int) -> None:
    """Name the states x_0, x_1, ... beneath a plot."""
    plot.set_xticks(range(count), [f"$x_{t}$" for t in range(count)], fontsize=14)
    plot.set_xlim(-0.35, count - 0.65)
    plot.grid(axis="x", visible=False)


# --- How many directions ------------------------------------------------------------------------


def spectra(
    held: np.ndarray, ranks: Sequence[int], threshold: float, shown: Sequence[int]
) -> Figure:
    """Squared length left outside by directions kept; held (T + 1, d), ranks (T + 1,) at the threshold."""
    states, width = held.shape
    for t in shown:
        if t not in range(states):
            raise ValueError(f"there is no state {t!r} to draw; choose from 0 to {states - 1}")
    left = 100 * (1 - threshold)
    lowest = min(0.12, 0.12 * left)
    fig, plot = page_and_plot(4.0, xlim=(0, width), ylim=(lowest, 100), yscale="log")
    plot.axvspan(0, width / 2, color=INK, alpha=0.1, linewidth=0)
    plot.text(width / 4, 70, "less than half", color=INK, ha="center", va="center")
    plot.text(3 * width / 4, 70, "more than half", color=INK, ha="center", va="center")
    plot.axhline(left, color=INK, linewidth=1.2)
    words = f"{100 * threshold:g} % held, {left:g} % left"
    # the curves leave room beneath a low level at the left, above another at the right
    low = left < 5
    if low:
        plot.text(5, left * 0.83, words, color=INK, va="top")
    else:
        plot.text(width - 5, left * 1.1, words, color=INK, ha="right", va="bottom")
    thin = 0.2 * (100 - left)  # directions of a subspace of 20, all filled alike
    ring = dict(markersize=9, markerfacecolor="none", markeredgewidth=1.8)
    plot.plot(thin, left, "o", color=INK, **ring)
    plot.text(8, 1.5 * left if low else 0.6 * left, "thin: 20 directions", color=INK, va="center")
    colour = PALETTE[2]
    for k, t in enumerate(shown):
        dash = DASHES[k % len(DASHES)]
        line = 100 * (1 - held[t, :-1])
        plot.plot(range(1, width), line, dash, color=colour, linewidth=2.4)
        plot.text(24, line[21], f"$x_{t}$", color=colour, va="bottom", fontsize=12.5)
    _names_of_dots(plot, {t: int(ranks[t]) for t in shown}, left, colour)
    plot.set(xlabel=f"directions kept, of {width}", ylabel="squared length left outside, %")
    plot.set_yticks([0.2, 1, 10, 100], ["0.2", "1", "10", "100"])
    return fig


def _names_of_dots(plot: Axes, ranks: Mapping[int, int], height: float, colour: str) -> None:
    """A dot at each rank, with the state and the rank: the highest above, the others below."""
    ordered = sorted(ranks, key=lambda t: ranks[t])
    steps = {t: (-34 + 14 * k, -20 - 30 * k) for k, t in enumerate(ordered[:-1])}
    for t, (_, down) in steps.items():  # a dot far at the left has its name at its right
        if ranks[t] < plot.get_xlim()[1] / 4:
            steps[t] = (6, down - 20)
    steps[ordered[-1]] = (28, 26)
    for t, step in steps.items():
        plot.plot(ranks[t], height, "o", color=colour, markersize=9)
        plot.annotate(
            f"$x_{t}$: {ranks[t]}",
            (ranks[t], height),
            xytext=step,
            textcoords="offset points",
            ha="left" if step[0] > 0 else "right",
            va="center",
            color=colour,
            fontsize=14,
            arrowprops=dict(arrowstyle="-", color=colour, linewidth=1),
        )


def spectra_table(held: np.ndarray, ranks: Sequence[int], threshold: float) -> Table:
    """Share of the squared length by directions kept, and the rank, a state a row."""
    rows = []
    for t, line in enumerate(held):
        shares = {f"first {k}": line[k - 1] for k in (1, 10, 50, 100, 200, 300)}
        row = {"state": state_name(t)} | shares
        rows.append(row | {f"{100 * threshold:g} % at": int(ranks[t])})
    return table(
        rows, "Share of the squared length held, by directions kept", digits=2, folded=True
    )


def shapes_table(shapes: Sequence[tuple[int, ...]], lengths: Sequence[float]) -> Table:
    """Shape and mean length of the states of a batch, a state a row."""
    rows = []
    for t, (shape, length) in enumerate(zip(shapes, lengths, strict=True)):
        row = {"state": state_name(t), "rows, positions, width": str(shape)}
        rows.append(row | {"mean length": length})
    return table(rows, f"States of {shapes[0][0]} pairs", digits=1, folded=True)


# --- The paper's Table 7 ------------------------------------------------------------------------

Terms = Mapping[str, Mapping[str, Sequence[float]]]  # model, then term, to a number a state


def ranks_beside(shares: Terms, held: str) -> Figure:
    """Ranks in % of the width, a panel a model and a line a term; what is printed is shaded.

    held: the share at which ours are taken; the paper's is 99 %.
    """
    fig = page(4.0)
    panels = fig.subplots(1, len(shares), sharey=True)
    for panel, (model, terms) in zip(panels, shares.items(), strict=True):
        for name, line in terms.items():
            panel.plot(line, markersize=6, linewidth=2, label=name, **LOOKS[name])
        title = model.replace(", ", ",\n")
        title = title if "paper" in model or held == "99 %" else f"{title}, {held}"
        panel.set_title(title, fontsize=12, weight="bold")
        if "paper" in model:
            panel.axvspan(-1, len(terms["P"]), color=PAPER, alpha=0.14, linewidth=0)
        _states(panel, len(terms["P"]))
        panel.set_xticks([0, 2, 4], ["$x_0$", "$x_2$", "$x_4$"])
    panels[0].set(ylim=(0, 100), ylabel="rank, % of the width")
    handles, names = panels[-1].get_legend_handles_labels()
    said = {"P": "states (P)", "I": "sums (I)", "D": "changes (D)"}
    names = [said[name] for name in names]
    fig.legend(handles, names, loc="outside upper center", ncols=3)
    return fig


def table_seven(shares: Terms, errors: Terms, held: str) -> tuple[Table, Table]:
    """The same ranks, and the lengths outside the subspaces; a term of a model a row."""
    at = "the paper's 99 %" if held == "99 %" else f"99 % (paper) and {held} (ours)"
    ranks = f"Table 7, ranks at {at}, in % of the width"
    lengths = "Table 7, embedding errors: lengths outside the subspaces"
    return (
        table(_by_state(shares), ranks, digits=0, folded=True),
        table(_by_state(errors), lengths, digits=2, folded=True),
    )


def _by_state(numbers: Terms) -> list[dict]:
    """A row for each term of each model, a column a state."""
    rows = []
    for model, terms in numbers.items():
        for name, line in terms.items():
            row = {"model": model, "term": name}
            rows.append(row | {state_name(t): float(number) for t, number in enumerate(line)})
    return rows


# --- What the control takes from clean text ----------------------------------------------------


def clean_lengths(states: np.ndarray, changes: np.ndarray, push: np.ndarray) -> Figure:
    """Lengths in % of a clean state's, (T,) each: outside P, outside D, the push."""
    fig = page(4.2)
    top = 1.08 * max(line.max() for line in (states, changes, push))
    plot = fig.add_subplot(ylim=(0, top), ylabel="length, % of the state's")
    plot.plot(changes, markersize=9, linewidth=2.2, label="outside D", **LOOKS["D"])
    plot.plot(push, "-D", color=OURS, markersize=7, linewidth=2.2, label="push")
    plot.plot(states, markersize=5, linewidth=2.2, label="outside P", **LOOKS["P"])
    _states(plot, len(states))
    name_ends(plot, least=0.07)
    return fig


def clean_lengths_table(
    states: np.ndarray, changes: np.ndarray, push: np.ndarray, random: np.ndarray
) -> Table:
    """The same lengths, that outside a random subspace of D's size, and shares of squared length."""
    rows = []
    for t in range(len(states)):
        row = {"state": state_name(t), "outside P, %": states[t], "outside D, %": changes[t]}
        row |= {"random, %": random[t], "push, %": push[t]}
        row |= {"bias P, %": states[t] ** 2 / 100, "bias D, %": changes[t] ** 2 / 100}
        rows.append(row)
    title = "Lengths in % of a clean state's, and clean bias in % of its squared length"
    return table(rows, title, digits=1, folded=True)


# --- A broken word ------------------------------------------------------------------------------


def typing_error(intact: np.ndarray, broken: np.ndarray, rest: np.ndarray, control: str) -> Figure:
    """Length of a control's push in % of the state's, (T,) each: the word, and the rest."""
    top = 1.15 * max(line.max() for line in (intact, broken, rest))
    ylabel = f"push of {control}, % of the state's length"
    fig, plot = page_and_plot(4.1, ylim=(0, top), ylabel=ylabel)
    plot.fill_between(range(len(broken)), intact, broken, color=OURS, alpha=0.13, linewidth=0)
    plot.plot(broken, "-D", color=OURS, markersize=8, label="broken word")
    hollow = dict(markerfacecolor="none", markeredgewidth=1.8)
    plot.plot(intact, "-D", color=OURS, markersize=8, label="intact word", **hollow)
    plot.plot(rest, "--", color=INK, linewidth=2, label="the rest")
    for t, times in enumerate(broken / intact):
        side = "left" if t < 2 else "center"  # clear of the axis and of the line
        plot.text(t, broken[t] + 0.05 * top, f"{times:.1f}×", ha=side, va="center", color=INK)
    _states(plot, len(broken))
    name_ends(plot, least=0.07)
    return fig


def typing_error_table(lengths: Mapping[tuple[str, str], Mapping[str, np.ndarray]]) -> Table:
    """(tokens, projection) to lengths of the intact and the broken text, (T,), in % of the state's."""
    rows = []
    for (tokens, name), of in lengths.items():
        for text, line in (of | {"ratio": of["broken"] / of["intact"]}).items():
            row = {"tokens": tokens, "outside": name, "text": text}
            rows.append(row | {state_name(t): float(number) for t, number in enumerate(line)})
    title = "Length outside, in % of the state's, without and with a typing error"
    return table(rows, title, digits=2, folded=True)
