"""Pictures of chapter 12: what control costs, and Theorem 1 on a real model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pidbook.figures import (
    ESTIMATE,
    INK,
    LOSS,
    NOISE,
    OURS,
    PAPER,
    Table,
    page,
    page_and_plot,
    table,
)

MIDDLE = dict(ha="center", va="center")
BARE = dict(color=INK, linestyle="--", linewidth=2)  # the network without control
ARROW = dict(arrowstyle="<->", color=INK, shrinkA=0, shrinkB=0)

# --- Table 5 ------------------------------------------------------------------------------------


def table_five(rows: Sequence[Mapping]) -> Figure:
    """Times of the law and of the search, the paper's and ours; a row a model."""
    fig = page(3.6)
    left, right = fig.subplots(1, 2, sharey=True)
    places = np.arange(len(rows))
    for plot, kind in ((left, "P-D"), (right, "PMP")):
        paper = [row[f"{kind}, paper"] for row in rows]
        ours = [row[f"{kind}, ours"] for row in rows]
        low = [row[f"{kind}, low"] for row in rows]
        high = [row[f"{kind}, high"] for row in rows]
        plot.hlines(places + 0.16, low, high, color=OURS, linewidth=2)
        plot.plot(ours, places + 0.16, "o", color=OURS, markersize=7, label="ours")
        plot.plot(paper, places - 0.16, "D", color=PAPER, markersize=6.5, label="paper")
        plot.axvline(1, **BARE | {"linewidth": 1.2})
        plot.grid(axis="y", visible=False)
    counted = [row["counted"] for row in rows]
    mark = dict(color=INK, linestyle="", markersize=17, markeredgewidth=2)
    left.plot(counted, places, "|", **mark, label="counted", zorder=1)
    least = np.nanmin([1, *(row["P-D, low"] for row in rows)])
    most = np.nanmax([1.1, *(row["P-D, high"] for row in rows)])
    longest = np.nanmax([10, *_search_times(rows)])
    left.set(title="P-D, the law", xlim=(min(0.965, least - 0.01), max(1.12, most + 0.01)))
    right.set(title="PMP, the search", xlim=(0, max(10.5, 1.05 * longest)))
    left.set_xticks((1, 1.05, 1.1))
    right.set_xticks((1, *range(5, int(longest) + 1, 5)))
    left.set_yticks(places, [row["model"] for row in rows])
    left.set_ylim(len(rows) - 0.5, -0.5)
    fig.supxlabel("time, in multiples of the time without control", fontsize="medium")
    fig.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def _search_times(rows: Sequence[Mapping]) -> list[float]:
    """Times of the search, the paper's and the upper ends of ours; nan where none is known."""
    return [row[f"PMP, {kind}"] for row in rows for kind in ("paper", "high")]


def table_five_table(rows: Sequence[Mapping]) -> Table:
    """The numbers of Table 5: the paper's beside ours."""
    shown = []
    for row in rows:
        line = {"model": row["model"], "P-D: counted": row["counted"]}
        for kind in ("P-D", "PMP"):
            line[f"{kind}: paper"] = row[f"{kind}, paper"]
            line[f"{kind}: ours"] = row[f"{kind}, ours"]
            low, high = row[f"{kind}, low"], row[f"{kind}, high"]
            line[f"{kind}: 95 %"] = "not timed" if np.isnan(low) else f"{low:.2f} to {high:.2f}"
        shown.append(line)
    title = "Time with control over time without; PMP of ours makes two sweeps"
    return table(shown, title, digits={"P-D: counted": 3, "P-D: paper": 3}, folded=True)


# --- Counting -----------------------------------------------------------------------------------


def squares(groups: Mapping[str, int], law: int = 1) -> Figure:
    """Matrices of shape d x d: of a block, by their use, and of the law."""
    fig, plot = page_and_plot(2.7)
    side = 0.88
    top = len(groups) - 1
    for line, (name, count) in enumerate(groups.items()):
        for place in range(count):
            spot = (place, top - line)
            plot.add_patch(Rectangle(spot, side, side, facecolor=INK, alpha=0.4))
        plot.text(-0.15, top - line + side / 2, name, ha="right", va="center")
    for place in range(law):
        spot = (5.3 + place, top / 2)
        plot.add_patch(Rectangle(spot, side, side, facecolor=OURS))
    plot.text(4.62, (top + side) / 2, "+", fontsize=20, **MIDDLE)
    for x, name, number in ((1.94, "a block", sum(groups.values())), (5.74, "the law", law)):
        plot.text(x, top + 1.05, name, ha="center", va="bottom")
        plot.text(x, -0.12, f"{number} square{'s' * (number > 1)}", ha="center", va="top")
    plot.set(xlim=(-1.9, 6.4), ylim=(-0.55, top + 1.45), aspect="equal")
    plot.set_axis_off()
    return fig


def overhead(cells: Sequence[Mapping], names: Sequence[str]) -> Figure:
    """Extra time of the law against the share of controlled states; all states on the right."""
    fig = page(4.2)
    some, every = fig.subplots(1, 2, sharey=True, width_ratios=(5, 3))
    some.plot([0, 1], [0, 100 / 12], color=INK, linewidth=2, label="counted, for short texts")
    every.axhline(100 / 12, color=INK, linewidth=2)
    for cell in cells:
        value = 100 * (cell["ours"]["value"] - 1)
        low = 100 * (cell["ours"]["low"] - 1)
        high = 100 * (cell["ours"]["high"] - 1)
        share = cell["controlled"] / cell["depth"]
        beside = {"RoBERTa-base": -0.016, "RoBERTa-large": 0.016}.get(cell["model"], 0)
        plot = every if share == 1 else some
        x = names.index(cell["model"]) if share == 1 else share + beside
        plot.vlines(x, low, high, color=OURS, linewidth=2)
        plot.plot(x, value, "o", color=OURS, markersize=7, label="measured")
        if plot is some and cell["model"] == "DistilBERT":
            plot.annotate("DistilBERT", (x - 0.03, value + 0.3), ha="right")
        if plot is some and cell["model"] == "RoBERTa-large":
            plot.annotate("RoBERTa-large", (x + 0.03, value - 1.2))
    some.set(title="the paper's states", xlim=(0, 1), ylim=(-3.2, 12.2))
    some.set(ylabel="extra time, %", xlabel="share of the states controlled")
    some.set_xticks((0, 0.25, 0.5, 0.75, 1), ("0", "¼", "½", "¾", "1"))
    every.set(title="all states", xlim=(-0.6, len(names) - 0.4))
    every.set_xticks(range(len(names)), names, rotation=90)
    for plot in (some, every):
        plot.axhline(0, color=INK, linewidth=0.8)
    handles, labels = some.get_legend_handles_labels()
    fig.legend(handles[:2], labels[:2], loc="outside upper center", ncols=2)
    return fig


def overhead_table(cells: Sequence[Mapping]) -> Table:
    """Counted and measured times of all recorded cases."""
    rows = []
    for cell in cells:
        states = f"{cell['controlled']}/{cell['depth']}"
        row = {"model": cell["model"], "states": states, "texts": cell["batch"]}
        row |= {"counted": cell["bound"]}
        for key, name in (("ours", "P-D"), ("naive", "P-D, naive"), ("thin", "P, thin")):
            ends = f"{cell[key]['low']:.3f} to {cell[key]['high']:.3f}"
            row |= {name: cell[key]["value"], f"{name}, 95 %": ends}
        rows.append(row)
    return table(rows, "Time with the law over time without", folded=True)


# --- Table 6 ------------------------------------------------------------------------------------

LAYERS = {6: "o", 12: "^", 24: "s"}


def readings(
    paper: Mapping[int, np.ndarray], ours: Mapping[str, Mapping[int, np.ndarray]]
) -> Figure:
    """Differences of predicted and true error: the paper's, and ours by reading; layers to (4,)."""
    fig, plot = page_and_plot(4.6, xscale="log", xlim=(0.4, 10), ylim=(len(ours) + 0.7, -0.5))
    _marks(plot, 0, paper, PAPER)
    for place, by_layers in enumerate(ours.values()):
        _marks(plot, place + 1.2, by_layers, OURS)
    plot.axhline(0.6, color=INK, linewidth=1)
    heights = [0, *np.arange(len(ours)) + 1.2]
    plot.set_yticks(heights, ["the paper", *(name.replace(", ", ",\n") for name in ours)])
    plot.set_xticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
    plot.minorticks_off()
    plot.grid(axis="y", visible=False)
    for layers, mark in LAYERS.items():
        plot.plot([], [], mark, color=INK, label=f"{layers} layers", markersize=8)
    fig.legend(loc="outside upper center", ncols=3)
    plot.set_xlabel("difference of predicted and true error")
    return fig


def _marks(plot: Axes, y: float, by_layers: Mapping[int, np.ndarray], colour: str) -> None:
    """The mean of some attacks, and a line from the least to the greatest, a mark a depth."""
    for place, (layers, values) in enumerate(by_layers.items()):
        height = y + 0.22 * (place - (len(by_layers) - 1) / 2)
        plot.plot([min(values), max(values)], [height] * 2, color=colour, linewidth=2, alpha=0.5)
        plot.plot(np.mean(values), height, LAYERS[layers], color=colour, markersize=8)


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
    text = f"{end / foretold:.1f} times\n({times.min():.1f} to {times.max():.1f})"
    plot.text(last + 0.45, (end + foretold) / 2, text, va="center")
    bold = dict(weight="bold", ha="right", va="center")
    plot.text(last / 2 + 0.2, 5.5, "with P control", color=OURS, **bold)
    plot.text(last / 2 + 0.2, 4.6, "dashed: no control", color=INK, **bold)
    plot.text(last, foretold - 0.6, "Theorem 1", color=PAPER, **bold)
    plot.set(xticks=states, xlim=(-0.15, last + 1.75), ylim=(0, 1.02 * controlled.max()))
    plot.set(xlabel="state (after so many blocks)", ylabel="error of the states, per token")
    plot.grid(axis="x", visible=False)
    return fig


def profile_table(profiles: Mapping[str, Mapping[str, np.ndarray]], length: np.ndarray) -> Table:
    """Errors by attack and kind, (T + 1,) each, and the length of a clean state."""
    rows = []
    for attack, kinds in profiles.items():
        for kind, values in kinds.items():
            rows.append({"attack": attack, "error": kind} | _by_state(values))
    rows.append({"attack": "clean", "error": "length of a state"} | _by_state(length))
    return table(rows, "Error per token, and the length of a clean state", 2, folded=True)


def _by_state(values: Sequence[float]) -> dict[str, float]:
    return {f"state {t}": float(value) for t, value in enumerate(values)}


def change(groups: Mapping[str, Sequence[Mapping]]) -> Figure:
    """Change of the error by control, a group a set of texts: measured, and by both formulas."""
    fig, plot = page_and_plot(4.4)
    for place, rows in enumerate(groups.values()):
        by_theorem = [row["Theorem 1"] for row in rows]
        low = min(by_theorem)
        box = Rectangle((low, place - 0.33), max(by_theorem) - low, 0.66)
        box.set(facecolor=PAPER, alpha=0.45)
        plot.add_patch(box)
        for line, row in enumerate(rows):
            y = place - 0.21 + 0.14 * line
            if row["low"] is not None:
                ends = [row["low"], row["high"]]
                plot.plot(ends, [y, y], color=OURS, linewidth=2, alpha=0.6)
            hollow = dict(fillstyle="none", markersize=10, markeredgewidth=1.6)
            plot.plot(row["general formula"], y, "D", color=PAPER, **hollow)
            plot.plot(row["measured"], y, "o", color=OURS, markersize=5.5)
            if row["attack"] == "A2T" and place:
                plot.text(row["measured"] + 0.4, y, "A2T", color=OURS, va="center")
    bold = dict(weight="bold", va="center")
    plot.text(-7.6, 0.47, "Theorem 1", color=PAPER, **bold)
    plot.text(0.3, 0.47, "with the clean part", color=PAPER, **bold)
    plot.text(4.2, 0, "measured,\nfour attacks", color=OURS, **bold)
    plot.axvline(0, color=INK, linewidth=1)
    plot.set_yticks(range(len(groups)), groups)
    plot.set(ylim=(len(groups) - 0.5, -0.5), xlim=(-8.5, 10.2))
    plot.set_xlabel("change of the error by control, %")
    plot.grid(axis="y", visible=False)
    return fig


def change_table(groups: Mapping[str, Sequence[Mapping]]) -> Table:
    """The changes, in percent, a row an attack."""
    rows = []
    for name, members in groups.items():
        for row in members:
            rows.append({"texts": name.replace("\n", " ")} | dict(row))
    return table(rows, "Change of the error by P control, in %", 1, folded=True)


def growth(
    error: np.ndarray, hundredth: np.ndarray, random: np.ndarray, share: str = "a hundredth"
) -> Figure:
    """Times as long after each block: (attacks, T) of the error and of a share, (T,) random."""
    fig, plot = page_and_plot(4.2)
    blocks = range(error.shape[1])
    last = len(blocks) - 1
    plot.axhline(1, color=PAPER, linewidth=2)
    plot.plot(random, "s-", color=NOISE)
    for values, mark, colour in ((hundredth, "^-", LOSS), (error, "--", INK)):
        plot.plot(values.mean(0), mark, color=colour, linewidth=2.2)
        band = (values.min(0), values.max(0))
        plot.fill_between(blocks, *band, color=colour, alpha=0.2, linewidth=0)
    bold = dict(weight="bold", va="center")
    plot.text(last + 0.2, error[:, -1].mean(), "the error of\nthe attacks", color=INK, **bold)
    plot.text(last + 0.2, 1.04, "Theorem 1", color=PAPER, **bold)
    plot.text(last + 0.2, hundredth[:, -1].mean(), f"{share}\nof it", color=LOSS, **bold)
    plot.text(last + 0.2, random[-1], "a random\nvector", color=NOISE, **bold)
    plot.set(xlabel="block", ylabel="times as long", xticks=blocks, ylim=(0.6, 1.65))
    plot.set_xlim(-0.2, last + 1.75)
    return fig


def growth_table(columns: Mapping[str, Sequence[float]]) -> Table:
    """All columns, a row a block."""
    rows = []
    for block, values in enumerate(zip(*columns.values(), strict=True)):
        named = zip(columns, values, strict=True)
        rows.append({"block": block} | {name: float(value) for name, value in named})
    return table(rows, "Times as long, by block; shares of the subspaces", 2, folded=True)


# --- Answers that come back ---------------------------------------------------------------------


def returned(
    panels: Mapping[str, tuple[np.ndarray, np.ndarray]], titles: Mapping[str, str]
) -> Figure:
    """Distance from the clean states, a panel a control: (T + 1,) without control, and with."""
    fig = page(4.2)
    looks = {"P-D": (OURS, "o-"), "trained estimate": (ESTIMATE, "s-")}
    plots = fig.subplots(1, len(panels), sharey=True)
    for plot, (name, (bare, held)) in zip(plots, panels.items(), strict=True):
        colour, mark = looks[name]
        states = range(len(bare))
        shade = dict(alpha=0.3, interpolate=True, linewidth=0)
        plot.fill_between(states, held, bare, held > bare, color=LOSS, **shade)
        plot.fill_between(states, held, bare, held <= bare, color=colour, **shade)
        plot.plot(bare, **BARE)
        plot.plot(held, mark, color=colour, markersize=5, linewidth=2)
        plot.text(5.0, 97, "no control", color=INK, ha="right")
        _leader(plot, "farther", (3, (bare[3] + held[3]) / 2), (3.4, 62), LOSS)
        _leader(plot, "nearer", (5.75, bare[-1] * 0.8), (4.6, 79), colour)
        plot.set(xticks=states, ylim=(0, 118), xlim=(-0.3, len(bare) - 0.6))
        plot.set_title(titles[name], color=colour)
    plots[0].set_ylabel("distance from the clean states, %")
    fig.supxlabel("state (after so many blocks)", fontsize="medium")
    return fig


def _leader(plot: Axes, word: str, spot: tuple, place: tuple, colour: str) -> None:
    """A word with a thin line to the spot that it names."""
    line = dict(arrowstyle="-", color=colour)
    plot.annotate(word, spot, place, arrowprops=line, color=colour, weight="bold", ha="right")
