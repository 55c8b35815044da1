"""Pictures of chapter 12: Theorem 1 on a real model, and what control and search cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pidbook.figures import (
    ESTIMATE,
    INK,
    LOSS,
    OURS,
    PAPER,
    Table,
    name_ends,
    page,
    page_and_plot,
    signed,
    table,
)
from pidbook.figures.limits import reach

MIDDLE = dict(ha="center", va="center")
BARE = dict(color=INK, linestyle="--", linewidth=2)  # the bare model
TIMED = {"P-D": "P-D control", "PMP": "PMP"}
ARROW = dict(arrowstyle="<->", color=INK, shrinkA=0, shrinkB=0)

# --- Table 5 ------------------------------------------------------------------------------------


def table_five(rows: Sequence[Mapping]) -> Figure:
    """Times of P-D control and of PMP, the paper's and ours; a row a model."""
    fig = page(3.6)
    places = np.arange(len(rows))
    plots = fig.subplots(1, 2, sharey=True)
    for plot, (kind, name) in zip(plots, TIMED.items(), strict=True):
        paper = [row[f"{kind}, paper"] for row in rows]
        ours = [row[f"{kind}, ours"] for row in rows]
        plot.plot(paper, places - 0.16, "D", color=PAPER, markersize=6.5, label="the paper")
        plot.plot(ours, places + 0.16, "o", color=OURS, markersize=7, label="ours")
        if kind == "P-D":
            counted = [row["counted"] for row in rows]
            plot.plot(counted, places, "|", color=INK, markersize=22, label="counted", zorder=1)
        ends = ([row[f"{kind}, {end}"] for row in rows] for end in ("low", "high"))
        plot.hlines(places + 0.16, *ends, color=OURS, linewidth=2, alpha=0.5)
        plot.axvline(1, zorder=0, **BARE | {"linewidth": 1.2})
        plot.set_title(name)
        plot.grid(visible=False)
    plots[0].set(xlim=(0.965, 1.11), xticks=(1, 1.05, 1.1))
    longest = max(row[f"PMP, {whose}"] for row in rows for whose in ("paper", "ours"))
    plots[1].set(xlim=(0, 1.1 * longest), ylim=(len(rows) - 0.5, -0.5))
    plots[1].set_xticks((1, *range(5, int(longest) + 2, 5)))
    names = [f"{row['model']}\n{row['states']} states" for row in rows]
    plots[0].set_yticks(places, names)
    fig.supxlabel("time, as a multiple of the bare model's", fontsize="medium")
    handles, labels = plots[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=3)
    return fig


def table_five_table(rows: Sequence[Mapping]) -> Table:
    """The numbers of Table 5: the paper's beside ours."""
    shown = []
    for row in rows:
        line = {"model": row["model"], "states": row["states"], "P-D: counted": row["counted"]}
        for kind in ("P-D", "PMP"):
            line[f"{kind}: paper"] = row[f"{kind}, paper"]
            line[f"{kind}: ours"] = row[f"{kind}, ours"]
            line[f"{kind}: 95 %"] = f"{row[f'{kind}, low']:.2f} to {row[f'{kind}, high']:.2f}"
        shown.append(line)
    title = "Time over that of the bare model; our PMP makes two sweeps"
    return table(shown, title, digits={"P-D: counted": 3, "P-D: paper": 3}, folded=True)


# --- Counting -----------------------------------------------------------------------------------


def squares(groups: Mapping[str, int], control: int = 1) -> Figure:
    """Matrices of shape d x d: of a block, by their use, and of the control."""
    fig, plot = page_and_plot(2.7)
    side = 0.88
    top = len(groups) - 1
    for line, (name, count) in enumerate(groups.items()):
        for place in range(count):
            spot = (place, top - line)
            plot.add_patch(Rectangle(spot, side, side, facecolor=INK, alpha=0.4))
        plot.text(-0.15, top - line + side / 2, name, ha="right", va="center")
    for place in range(control):
        spot = (5.3 + place, top / 2)
        plot.add_patch(Rectangle(spot, side, side, facecolor=OURS))
    plot.text(4.62, (top + side) / 2, "+", fontsize=20, **MIDDLE)
    for x, name, number in (
        (1.94, "a block", sum(groups.values())),
        (5.74, "the control", control),
    ):
        plot.text(x, top + 1.05, name, ha="center", va="bottom")
        plot.text(x, -0.12, f"{number} square{'s' * (number > 1)}", ha="center", va="top")
    plot.set(xlim=(-1.9, 6.4), ylim=(-0.55, top + 1.45), aspect="equal")
    plot.set_axis_off()
    return fig


def sweeps(cost_left: Sequence[float], name: str) -> Figure:
    """Cost of that name that is left after each sweep, in percent."""
    fig, plot = page_and_plot(3.4)
    plot.plot(cost_left, "o-", color=OURS, markersize=4, linewidth=2)
    middle = len(cost_left) // 2
    plot.text(middle, cost_left[middle] + 6, f"{name} cost", color=OURS, weight="bold")
    plot.axvline(2, **BARE | {"linewidth": 1.2})
    plot.text(2.2, 20, "as timed above", color=INK)
    plot.set(xlabel="sweeps", ylabel="cost that is left, %", ylim=(0, 113), xlim=(-0.5, None))
    return fig


def sweeps_table(cost_left: Mapping[str, Sequence[float]]) -> Table:
    """The same, where a cost has so many sweeps."""
    rows = []
    longest = max(map(len, cost_left.values()))
    counts = [count for count in (1, 2, 5, 10, 20, 30) if count < longest]
    for name, values in cost_left.items():
        row = {"cost": name, "sweeps": len(values) - 1}
        for count in counts:
            row[f"after {count}"] = float(values[count]) if count < len(values) else None
        rows.append(row)
    return table(rows, "Cost that is left, %", 1, folded=True)


def recorded_table(cells: Sequence[Mapping]) -> Table:
    """Counted and measured times of all recorded cases."""
    rows = []
    for cell in cells:
        states = f"{cell['controlled']}/{cell['depth']}"
        row = {"model": cell["model"], "states": states, "texts": cell["batch"]}
        row |= {"counted": cell["bound"]}
        for key, name in (("ours", "P-D"), ("thin", "P, narrow")):
            ends = f"{cell[key]['low']:.3f} to {cell[key]['high']:.3f}"
            row |= {name: cell[key]["value"], f"{name}, 95 %": ends}
        rows.append(row)
    return table(rows, "Time with control over that of the bare model", folded=False)


# --- Table 4: formula or search -----------------------------------------------------------------

WIDTH = 5.4  # inches: then letters of 9.5 points can be read on a telephone
SMALL = 9.5  # points, the smallest letters
WORDS = 10.5  # points, of titles and axes
THIN = BARE | dict(linewidth=1.2, zorder=0)
STYLES = {"formula": "o-", "formula × 0.72": "o:", "PMP": "D--"}
ROWS = {  # columns: titles and the ends of their axes
    "clean": ("accuracy on clean text, %", (30, 98)),
    "attacked": ("accuracy under attack, %", (14, 59)),
}


def by_threshold(cells: pd.DataFrame) -> Figure:
    """Accuracy against the threshold, a model a column, a control a line, the bare model one across.

    cells: a row a threshold, index (model, control, threshold), columns clean and attacked, a row
    of panels each. A line is called as its control; "no control" is the bare model.
    """
    models = list(cells.index.unique("model"))
    fig = Figure(figsize=(WIDTH, 5.6), layout="constrained")
    plots = fig.subplots(len(ROWS), len(models), sharex=True, sharey="row", squeeze=False)
    for column, model in enumerate(models):
        colour = OURS if "ours" in model else PAPER
        of_model = cells.loc[model]
        controls = list(of_model.index.unique("control").drop("no control"))
        kinds = [control.split(",")[0] for control in controls]  # "PMP, running cost"
        least = 0.135 if len(set(kinds)) == len(kinds) else 0.18  # names of two lines need more
        for plot, (key, (title, limits)) in zip(plots[:, column], ROWS.items(), strict=True):
            for control, kind in zip(controls, kinds, strict=True):
                line = of_model.loc[control, key]
                name = kind if kinds.count(kind) == 1 else control
                name = name.replace(" ×", "\n×").replace(", ", ",\n").replace(" cost", "")
                plot.plot(line, STYLES[kind], color=colour, markersize=5, label=name)
            plot.set_ylim(reach(limits, cells[key]))
            name_ends(plot, least)
            bare = of_model.loc["no control", key].iloc[0]
            plot.axhline(bare, **THIN)
            above = key == "clean"
            words = dict(color=INK, fontsize=SMALL, va="bottom" if above else "top")
            plot.text(99, bare + (0.8 if above else -0.8), "bare model", **words)
            plot.grid(visible=False)
            if column == 0:
                plot.set_ylabel(title, fontsize=WORDS)
        plots[0, column].set_title(model.replace(", ", ",\n"), fontsize=WORDS, color=colour)
    thresholds = sorted(cells.index.unique("threshold"))
    plots[0, 0].set(xlim=(thresholds[-1] + 0.7, thresholds[0] - 0.7), xticks=thresholds)
    fig.supxlabel("threshold, %: subspaces shrink →", fontsize=WORDS)
    return fig


def equal_clean(pairs: pd.DataFrame) -> Figure:
    """Accuracy under attack of PMP and a formula that are equal on clean text, such a pair a row.

    pairs: columns clean, formula and attacked (of PMP), in %, gain (PMP less formula), low and high
    in points, threshold and c of PMP, its_threshold and its_c of the formula.
    """
    fig = Figure(figsize=(WIDTH, 1.1 + 0.75 * len(pairs)), layout="constrained")
    plot = fig.subplots()
    words = dict(color=OURS, fontsize=SMALL, va="center", textcoords="offset points")
    for y, row in enumerate(pairs.itertuples()):
        line = dict(arrowstyle="-", color=OURS, linewidth=1.2, shrinkA=5, shrinkB=5)
        plot.annotate("", (row.formula, y), (row.attacked, y), arrowprops=line)
        ends = [
            (row.attacked, "D", OURS, f"PMP\n{row.threshold} %, c = {row.c}"),
            (row.formula, "o", OURS, f"formula\n{row.its_threshold} %, c = {row.its_c}"),
        ]
        for (x, marker, fill, name), side in zip(sorted(ends), (-1, 1), strict=True):
            style = dict(color=OURS, markerfacecolor=fill, markersize=7, markeredgewidth=1.5)
            plot.plot(x, y, marker, **style)
            beside = "right" if side < 0 else "left"
            plot.annotate(name, (x, y), (8 * side, 0), ha=beside, **words)
        number = f"{signed(row.gain)}\n[{signed(row.low)}, {signed(row.high)}]"
        look = dict(xycoords=("axes fraction", "data"), ha="left", annotation_clip=False)
        plot.annotate(number, (1, y), (8, 0), **(words | look | dict(color=INK)))
    look = dict(xycoords="axes fraction", fontsize=WORDS, va="bottom")
    for x, side, title in ((0, "right", "right on\nclean text"), (1, "left", "PMP less\nformula")):
        shift = dict(xytext=(8 if x else -2, 2), textcoords="offset points")
        plot.annotate(title, (x, 1), ha=side, annotation_clip=False, **look, **shift)
    both = pairs[["formula", "attacked"]].to_numpy()
    span = both.max() - both.min()  # a share of it is room for the words
    limits = both.min() - 0.75 * span, both.max() + 0.9 * span
    plot.set(xlim=limits, ylim=(len(pairs) - 0.5, -0.5))
    plot.set_yticks(range(len(pairs)), [f"{x:.1f} %" for x in pairs["clean"]], fontsize=WORDS)
    plot.tick_params(axis="y", length=0)
    plot.grid(axis="y", visible=False)
    plot.set_xlabel("accuracy under attack, %: to the right is better", fontsize=WORDS)
    return fig


# --- Table 6 ------------------------------------------------------------------------------------


def readings(paper: Sequence[float], ours: Mapping[str, Sequence[float]], layers: int) -> Figure:
    """Differences of predicted and true error by attack, (4,): the paper's, and ours by reading."""
    fig, plot = page_and_plot(3.4)
    names = ["the paper", *ours]
    for y, values in enumerate((paper, *ours.values())):
        colour = OURS if y else PAPER
        plot.plot([min(values), max(values)], [y, y], color=colour, linewidth=2, alpha=0.5)
        plot.plot(np.mean(values), y, "o" if y else "D", color=colour, markersize=8)
        plot.text(max(values) + 0.2, y, f"{np.mean(values):.1f}", color=colour, va="center")
    plot.axvspan(min(paper), max(paper), color=PAPER, alpha=0.12, linewidth=0)
    plot.set_yticks(range(len(names)), names)
    longest = np.max([paper, *ours.values()])
    plot.set(xlim=(0, 1.12 * longest), ylim=(len(names) - 0.5, -0.5))
    plot.grid(visible=False)
    plot.tick_params(axis="y", length=0)
    plot.set_xlabel(f"difference of predicted and true error, {layers} layers")
    return fig


def readings_table(
    attacks: Sequence[str],
    paper: Mapping[int, np.ndarray],
    ours: Mapping[str, Mapping[int, np.ndarray]],
) -> Table:
    """Table 6: the paper's rows, then ours by reading; a column an attack."""
    rows = []
    for layers, values in paper.items():
        rows.append({"error": "the paper", "layers": layers} | _by_attack(attacks, values))
    for name, by_layers in ours.items():
        for layers, values in by_layers.items():
            rows.append({"error": name, "layers": layers} | _by_attack(attacks, values))
    title = "Difference of predicted and true error: Table 6, and four readings of ours"
    return table(rows, title, digits=2, folded=True)


def _by_attack(attacks: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    return {attack: float(value) for attack, value in zip(attacks, values, strict=True)}


# --- The error from block to block --------------------------------------------------------------


def profile(theorem: np.ndarray, controlled: np.ndarray, free: np.ndarray) -> Figure:
    """Error by state, (attacks, T + 1) each: mean, and from the least to the greatest."""
    fig, plot = page_and_plot(4.2)
    states = range(theorem.shape[1])
    last = len(states) - 1
    for values, colour, mark in ((theorem, PAPER, "-"), (controlled, OURS, "o-")):
        plot.plot(states, values.mean(0), mark, color=colour, linewidth=2.2)
        band = (values.min(0), values.max(0))
        plot.fill_between(states, *band, color=colour, alpha=0.2, linewidth=0)
    plot.plot(states, free.mean(0), **BARE)
    end = controlled[:, -1].mean()
    foretold = theorem[:, -1].mean()
    times = controlled[:, -1] / theorem[:, -1]
    plot.annotate("", (last + 0.3, end), (last + 0.3, foretold), arrowprops=ARROW)
    text = f"{end / foretold:.1f} times\nby attack:\n{times.min():.1f} to {times.max():.1f}"
    plot.text(last + 0.45, (end + foretold) / 2, text, va="center")
    bold = dict(weight="bold", ha="right", va="center")
    near = (last - 1, controlled[:, -2].mean())
    _leader(plot, "with P control", near, (last - 0.1, 0.45 * controlled.max()), OURS)
    near = (last - 0.5, free[:, -2:].mean())
    _leader(plot, "bare model, dashed", near, (last - 2.3, 0.9 * controlled.max()), INK)
    plot.text(last, foretold - 0.6, "Theorem 1", color=PAPER, **bold)
    plot.set(xticks=states, xlim=(-0.15, last + 1.75), ylim=(0, 1.02 * controlled.max()))
    plot.set(xlabel="state (after so many blocks)", ylabel="error of the states, per token")
    plot.grid(axis="x", visible=False)
    return fig


def profile_table(
    attacks: Sequence[str], errors: Mapping[str, np.ndarray], length: np.ndarray
) -> Table:
    """Errors by kind, (attacks, T + 1) each, and the length of a clean state, (T + 1,)."""
    rows = []
    for place, attack in enumerate(attacks):
        for kind, values in errors.items():
            rows.append({"attack": attack, "error": kind} | _by_state(values[place]))
    rows.append({"attack": "clean", "error": "length of a state"} | _by_state(length))
    return table(rows, "Error per token, and the length of a clean state", 2, folded=True)


def _by_state(values: Sequence[float]) -> dict[str, float]:
    return {f"state {t}": float(value) for t, value in enumerate(values)}


def through(error: np.ndarray, small: np.ndarray, share: str) -> Figure:
    """Length by state over that at the start, (attacks, T + 1): the error, and a share of it."""
    fig, plot = page_and_plot(4.0)
    states = range(error.shape[1])
    last = len(states) - 1
    bold = dict(weight="bold", va="center")
    plot.plot([0, last], [1, 1], color=PAPER, linewidth=2)
    plot.text(last + 0.2, 1, "Theorem 1", color=PAPER, **bold)
    looks = ((error, "o-", INK, "the error"), (small, "^-", LOSS, f"{share}\nof the error"))
    for values, mark, colour, name in looks:
        plot.plot(states, values.mean(0), mark, color=colour, linewidth=2.2)
        band = (values.min(0), values.max(0))
        plot.fill_between(states, *band, color=colour, alpha=0.2, linewidth=0)
        end = values[:, -1].mean()
        place = 0.7 if abs(end - 1) < 0.3 else end  # clear of the name of the theorem
        plot.text(last + 0.2, place, name, color=colour, **bold)
    plot.set(xlabel="state (after so many blocks)", xticks=states, xlim=(-0.2, last + 1.9))
    plot.set(ylabel="length, 1 at the start", ylim=(0, 1.05 * max(error.max(), small.max())))
    plot.grid(visible=False)
    return fig


def through_table(
    attacks: Sequence[str], error: np.ndarray, small: np.ndarray, share: str
) -> Table:
    """Lengths over those at the start, (attacks, T + 1) each."""
    rows = []
    for name, values in (("the error", error), (share, small)):
        for attack, line in zip(attacks, values, strict=True):
            rows.append({"attack": attack, "length of": name} | _by_state(line))
    return table(rows, "Length, as a multiple of that at the start", 2, folded=True)


# --- Answers that come back ---------------------------------------------------------------------


def returned(panels: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """Distance from the clean states, (T + 1,) by kind of model; a panel an outcome."""
    fig = page(4.4)
    plots = fig.subplots(1, len(panels), sharey=True)
    highest = 1.05 * np.nanmax([list(lines.values()) for lines in panels.values()])
    for plot, (title, lines) in zip(plots, panels.items(), strict=True):
        bare, held = lines["bare model"], lines["P-D control"]
        states = range(len(bare))
        shade = dict(alpha=0.3, interpolate=True, linewidth=0)
        plot.fill_between(states, held, bare, held > bare, color=LOSS, **shade)
        plot.fill_between(states, held, bare, held <= bare, color=OURS, **shade)
        plot.plot(bare, **BARE)
        plot.plot(held, "o-", color=OURS, markersize=5, linewidth=2)
        both = lines["both under control"]
        plot.plot(both, ":", color=ESTIMATE, linewidth=2.4)
        plot.set(xticks=states, ylim=(0, highest), xlim=(-0.3, len(bare) - 0.6))
        plot.set_title(title)
        middle, end = len(bare) // 2, len(bare) - 1
        _leader(plot, "farther", (middle, (bare[middle] + held[middle]) / 2), (2.6, 62), LOSS)
        _leader(plot, "bare model", (end - 0.3, bare[-2:] @ (0.3, 0.7)), (4.6, 95), INK)
        _leader(plot, "P-D control", (1, held[1]), (3.4, 3), OURS)
        _leader(plot, "both under control", (4, both[4]), (6.3, 14), ESTIMATE)
        if held[end] < 0.9 * bare[end]:
            _leader(plot, "nearer", (end - 0.2, 0.8 * bare[end]), (4.6, 79), OURS)
    plots[0].set_ylabel("distance from the clean states, %")
    fig.supxlabel("state (after so many blocks)", fontsize="medium")
    return fig


def returned_table(panels: Mapping[str, Mapping[str, np.ndarray]]) -> Table:
    """Distances by outcome and kind of model."""
    rows = []
    for outcome, lines in panels.items():
        for kind, values in lines.items():
            rows.append({"answer": outcome, "states": kind} | _by_state(values))
    return table(rows, "Distance from the clean states, % of their length", 0, folded=True)


def _leader(plot: Axes, word: str, spot: tuple, place: tuple, colour: str) -> None:
    """A word with a thin line to the spot that it names."""
    line = dict(arrowstyle="-", color=colour)
    plot.annotate(word, spot, place, arrowprops=line, color=colour, weight="bold", ha="right")
