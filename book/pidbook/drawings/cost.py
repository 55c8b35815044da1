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
    OURS,
    PAPER,
    Table,
    page,
    page_and_plot,
    table,
)

MIDDLE = dict(ha="center", va="center")
BARE = dict(color=INK, linestyle="--", linewidth=2)  # the bare model
TIMED = {"P-D": "P-D control", "PMP": "PMP"}
ARROW = dict(arrowstyle="<->", color=INK, shrinkA=0, shrinkB=0)

# --- Table 5 ------------------------------------------------------------------------------------


def table_five(rows: Sequence[Mapping]) -> Figure:
    """Times of P-D control and of PMP, the paper's and ours; a row a model."""
    fig = page(3.3)
    places = np.arange(len(rows))
    plots = fig.subplots(1, 2, sharey=True)
    for plot, (kind, name) in zip(plots, TIMED.items(), strict=True):
        paper = [row[f"{kind}, paper"] for row in rows]
        ours = [row[f"{kind}, ours"] for row in rows]
        plot.plot(paper, places - 0.16, "D", color=PAPER, markersize=6.5, label="the paper")
        plot.plot(ours, places + 0.16, "o", color=OURS, markersize=7, label="ours")
        ends = ([row[f"{kind}, {end}"] for row in rows] for end in ("low", "high"))
        plot.hlines(places + 0.16, *ends, color=OURS, linewidth=2, alpha=0.5)
        plot.axvline(1, zorder=0, **BARE | {"linewidth": 1.2})
        plot.set_title(name)
        plot.grid(visible=False)
    plots[0].set(xlim=(0.965, 1.11), xticks=(1, 1.05, 1.1))
    longest = np.nanmax(
        [10, *(row[f"PMP, {whose}"] for row in rows for whose in ("paper", "ours"))]
    )
    plots[1].set(xlim=(0, 1.05 * longest), ylim=(len(rows) - 0.5, -0.5))
    plots[1].set_xticks((1, *range(5, int(longest) + 1, 5)))
    plots[0].set_yticks(places, [row["model"] for row in rows])
    fig.supxlabel("time, as a multiple of the bare model's", fontsize="medium")
    handles, labels = plots[0].get_legend_handles_labels()
    fig.legend(handles[:2], labels[:2], loc="outside upper center", ncols=2)
    return fig


def table_five_table(rows: Sequence[Mapping]) -> Table:
    """The numbers of Table 5: the paper's beside ours."""
    shown = []
    for row in rows:
        line = {"model": row["model"], "P-D: counted": row["counted"]}
        for kind in ("P-D", "PMP"):
            line[f"{kind}: paper"] = row[f"{kind}, paper"]
            value, low, high = (row[f"{kind}, {of}"] for of in ("ours", "low", "high"))
            timed = not np.isnan(value)
            line[f"{kind}: ours"] = value if timed else None
            line[f"{kind}: 95 %"] = f"{low:.2f} to {high:.2f}" if timed else "not timed"
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


def overhead(cells: Sequence[Mapping], names: Sequence[str]) -> Figure:
    """Extra time of P-D control against the share of controlled states; all states on the right."""
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
    return table(rows, "Time with control over that of the bare model", folded=True)


# --- Table 6 ------------------------------------------------------------------------------------


def readings(paper: Sequence[float], ours: Mapping[str, Sequence[float]]) -> Figure:
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
    plot.set_xlabel("difference of predicted and true error")
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
    text = f"{end / foretold:.1f} times\n({times.min():.1f} to {times.max():.1f})"
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


def change(rows: Sequence[Mapping]) -> Figure:
    """Change of the error by P control, a row an attack: by two formulas, and measured."""
    fig, plot = page_and_plot(3.2)
    for y, row in enumerate(rows):
        plot.plot([row["low"], row["high"]], [y + 0.13] * 2, color=OURS, linewidth=2, alpha=0.5)
        plot.plot(row["measured"], y + 0.13, "o", color=OURS, markersize=8)
        plot.plot(
            row["general formula"], y - 0.17, "D", color=PAPER, markersize=7, fillstyle="none"
        )
        plot.plot(row["Theorem 1"], y - 0.02, "D", color=PAPER, markersize=8)
    bold = dict(weight="bold", ha="center", va="center")
    plot.text(np.mean([row["Theorem 1"] for row in rows]), -0.85, "Theorem 1", color=PAPER, **bold)
    plot.text(0, -0.85, "with the clean part", color=PAPER, **bold)
    plot.text(3.4, 0.13, "measured", color=OURS, **bold)
    plot.plot([0, 0], [-0.5, len(rows)], color=INK, linewidth=1, zorder=0)
    plot.set_yticks(range(len(rows)), [row["attack"] for row in rows])
    plot.set(ylim=(len(rows) - 0.5, -1.2), xticks=(-6, -4, -2, 0, 2, 4))
    low, high = (row["low"] for row in rows), (row["high"] for row in rows)
    plot.set(xlim=(min(-8.5, *low), max(5.5, *high)))
    plot.grid(visible=False)
    plot.tick_params(axis="y", length=0)
    plot.set_xlabel("change of the error by P control, %")
    return fig


def change_table(groups: Mapping[str, Sequence[Mapping]]) -> Table:
    """The changes, in percent, a row an attack."""
    rows = []
    for name, members in groups.items():
        for row in members:
            rows.append({"texts": name} | dict(row))
    return table(rows, "Change of the error by P control, in %", 1, folded=True)


def growth(error: np.ndarray, hundredth: np.ndarray, share: str = "a hundredth") -> Figure:
    """Times as long after each block, (attacks, T): the error, and a share of it."""
    fig, plot = page_and_plot(4.0)
    blocks = range(error.shape[1])
    last = len(blocks) - 1
    plot.axhline(1, color=PAPER, linewidth=2)
    for values, mark, colour in ((hundredth, "^-", LOSS), (error, "o-", INK)):
        plot.plot(values.mean(0), mark, color=colour, linewidth=2.2)
        band = (values.min(0), values.max(0))
        plot.fill_between(blocks, *band, color=colour, alpha=0.2, linewidth=0)
    bold = dict(weight="bold", va="center")
    plot.text(last + 0.2, error[:, -1].mean(), "the error", color=INK, **bold)
    plot.text(last + 0.2, 1.02, "Theorem 1", color=PAPER, **bold)
    plot.text(last + 0.2, hundredth[:, -1].mean(), f"{share}\nof it", color=LOSS, **bold)
    plot.set(xlabel="block", ylabel="times as long", xticks=blocks)
    both = np.array([error, hundredth])
    plot.set_ylim(min(0.6, both.min()), max(1.65, both.max()))
    plot.set_xlim(-0.2, last + 1.6)
    plot.grid(visible=False)
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
    """Distance from the clean states, a panel a control: (T + 1,) bare, and controlled."""
    fig = page(4.2)
    looks = {"P-D": (OURS, "o-"), "trained push": (ESTIMATE, "s-")}
    plots = fig.subplots(1, len(panels), sharey=True)
    for plot, (name, (bare, held)) in zip(plots, panels.items(), strict=True):
        colour, mark = looks.get(name, (OURS, "o-"))
        states = range(len(bare))
        shade = dict(alpha=0.3, interpolate=True, linewidth=0)
        plot.fill_between(states, held, bare, held > bare, color=LOSS, **shade)
        plot.fill_between(states, held, bare, held <= bare, color=colour, **shade)
        plot.plot(bare, **BARE)
        plot.plot(held, mark, color=colour, markersize=5, linewidth=2)
        _leader(plot, "bare model", (5.8, bare[-2:] @ (0.2, 0.8)), (4.8, 97), INK)
        _leader(plot, "farther", (3, (bare[3] + held[3]) / 2), (3.4, 62), LOSS)
        _leader(plot, "nearer", (5.75, bare[-1] * 0.8), (4.6, 79), colour)
        plot.set(xticks=states, ylim=(0, max(118, *bare, *held)), xlim=(-0.3, len(bare) - 0.6))
        plot.set_title(titles[name], color=colour)
    plots[0].set_ylabel("distance from the clean states, %")
    fig.supxlabel("state (after so many blocks)", fontsize="medium")
    return fig


def _leader(plot: Axes, word: str, spot: tuple, place: tuple, colour: str) -> None:
    """A word with a thin line to the spot that it names."""
    line = dict(arrowstyle="-", color=colour)
    plot.annotate(word, spot, place, arrowprops=line, color=colour, weight="bold", ha="right")
