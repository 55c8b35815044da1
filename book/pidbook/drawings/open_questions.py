"""Pictures of chapter 16, six open questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pidbook.figures import (
    ATTACKER,
    ESTIMATE,
    INK,
    LOSS,
    NOISE,
    OURS,
    PAPER,
    Table,
    page,
    page_and_plot,
    signed,
    table,
    with_interval,
)

LEVEL = dict(color=INK, linewidth=0.9)


def six(pairs: pd.DataFrame) -> Figure:
    """Six panels of two bars: an idea of the paper, and a plain rival; longer is better.

    Columns question, measured, idea, rival, of_idea, of_rival, gain, low, high, digits.
    """
    fig = page(7.6)
    for panel, row in zip(fig.subplots(len(pairs), 1), pairs.itertuples(), strict=True):
        longest = max(row.of_idea, row.of_rival)
        for y, (value, colour) in enumerate(((row.of_idea, OURS), (row.of_rival, INK))):
            panel.barh(y, value / longest, 0.7, color=colour, alpha=0.8 if y == 0 else 0.45)
            text = f"{value:.{row.digits}f}"
            panel.text(value / longest + 0.015, y, text, va="center", color=colour, fontsize=11.5)
        lead = with_interval(row.gain, row.low, row.high, row.digits)
        lead = lead if row.gain else "no answer turns"
        panel.text(1.18, 0.5, lead, va="center", fontsize=11)
        panel.set_yticks((0, 1), (row.idea, row.rival), fontsize=11)
        panel.get_yticklabels()[0].set_color(OURS)
        panel.set(xlim=(0, 1.62), ylim=(1.5, -0.5), xticks=())
        title = panel.set_title(row.question, loc="left", fontsize=11.5, weight="bold")
        look = dict(xycoords=title, textcoords="offset points", va="bottom", fontsize=10.5)
        panel.annotate(row.measured, (1, 0), (8, 0), annotation_clip=False, **look)
        panel.spines["bottom"].set_visible(False)
        panel.tick_params(axis="y", length=0)
        panel.grid(visible=False)
    return fig


def cheap_control(prices: Sequence[float], shares: Mapping[str, Sequence[float]]) -> Figure:
    """Share of the guess that P removes, by price, with the gain of two kinds of blocks."""
    fig, plot = page_and_plot(3.7, xlabel="price c of a push", ylabel="share removed")
    looks = {"orthogonal blocks": (OURS, "o", 11, "none"), "real blocks": (INK, "s", 5, INK)}
    for name, share in shares.items():
        colour, mark, size, face = looks[name]
        how = dict(color=colour, linewidth=2, markersize=size, markerfacecolor=face)
        plot.plot(prices, share, f"{mark}-", **how)
        text = f"{name}: {share[-1]:.2f}"
        plot.text(1.7 * prices[-1], share[-1], text, color=colour, va="center")
    plot.axvline(prices[0], linestyle="--", **LEVEL)
    plot.text(1.2 * prices[0], 0.08, "the published price", va="center")
    plot.set(xscale="log", xlim=(6e-4, 1500), ylim=(0, 1.08))
    plot.set_xticks(prices, [f"{price:g}" for price in prices])
    plot.minorticks_off()
    plot.spines["bottom"].set_bounds(6e-4, prices[-1])
    plot.xaxis.set_label_coords(0.33, -0.13)
    plot.grid(visible=False)
    return fig


GAINS = {"P-D": OURS, "searched, as strong": ESTIMATE, "searched, any strength": ESTIMATE}


def searches(gains: pd.DataFrame) -> Figure:
    """Points over no control on some sets, a bar a law; columns set, law, gain, low, high."""
    fig = page(5.0)
    groups = gains.groupby("set", sort=False)
    panels = fig.subplots(groups.ngroups, 1, sharex=True)
    for panel, (name, rows) in zip(panels, groups, strict=True):
        for y, row in enumerate(rows.itertuples()):
            colour = GAINS[row.law]
            panel.barh(y, row.gain, 0.7, color=colour, alpha=0.75)
            panel.plot((row.low, row.high), (y, y), **LEVEL)
            panel.text(40, y, signed(row.gain), color=colour, va="center")
        panel.axvline(0, **LEVEL)
        panel.set_yticks(range(len(rows)), rows["law"])
        for label, law in zip(panel.get_yticklabels(), rows["law"], strict=True):
            label.set_color(GAINS[law])
        panel.set(ylim=(len(rows) - 0.5, -0.5), xlim=(-29, 47), xticks=(-20, 0, 20))
        panel.set_title(name, loc="left", fontsize=11.5, weight="bold")
        panel.grid(visible=False)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
    panels[-1].set_xlabel("points over no control (right is better)")
    return fig


ATTACKERS = {
    "by the paper’s loss": (OURS, "-"),
    "by the margin": (ATTACKER, "-"),
    "random words": (NOISE, "--"),
}


def course(courses: Mapping[str, np.ndarray], held: int, n: int) -> Figure:
    """Rows still right after so many questions, a curve (budget + 1,) an attacker."""
    fig, plot = page_and_plot(4.2, xlabel="questions asked")
    plot.set_ylabel(f"rows still right, of {n}\n(fewer: a stronger attack)")
    last = len(next(iter(courses.values()))) - 1
    plot.fill_between([0, last], held, color=INK, alpha=0.18, linewidth=0)
    plot.text(last / 2, held / 2, f"{held} rows that no words turn", ha="center", va="center")
    place = np.inf
    for name, left in sorted(courses.items(), key=lambda item: -item[1][-1]):
        colour, line = ATTACKERS[name]
        plot.plot(left, color=colour, linewidth=2.4, linestyle=line)
        place = min(left[-1], place - 10)
        plot.text(last + 1, place, f"{left[-1]} {name}", color=colour, va="center")
    start = next(iter(courses.values()))[0]
    plot.text(2, start + 2, f"{start} right at first", va="bottom")
    plot.set(xlim=(0, 1.62 * last), ylim=(0, 178), xticks=range(0, last + 1, 12))
    plot.spines["bottom"].set_bounds(0, last)
    plot.xaxis.set_label_coords(0.31, -0.11)
    plot.grid(visible=False)
    return fig


def swaps(rise: np.ndarray, turns: np.ndarray) -> Figure:
    """Rise of the running loss by each swap of one word: those that turn the answer, and not."""
    fig, plot = page_and_plot(2.9, xlabel="what the swap adds to the paper's loss")
    rng = np.random.default_rng(0)
    for y, (some, colour, name) in enumerate(((turns, LOSS, "turn"), (~turns, INK, "do not"))):
        height = y + rng.uniform(-0.3, 0.3, some.sum())
        face = colour if name == "turn" else "none"
        plot.plot(rise[some], height, "o", color=colour, markerfacecolor=face, markersize=5)
    up = rise > 0
    named = (
        f"{turns.sum()} swaps\nturn the answer:\n{(up & turns).sum()} raise the loss",
        f"{(~turns).sum()} swaps\ndo not:\n{(up & ~turns).sum()} raise the loss",
    )
    plot.set_yticks((0, 1), named)
    plot.get_yticklabels()[0].set_color(LOSS)
    plot.axvline(0, zorder=0, **LEVEL)
    plot.set(ylim=(1.5, -0.5), xticks=(0, 5, 10, 15))
    plot.grid(visible=False)
    plot.tick_params(axis="y", length=0)
    return fig


RIVALS = {"fine-tuning": INK, "estimate": ESTIMATE, "P-D": OURS}


def strengths(gains: pd.DataFrame, right: Sequence[float]) -> Figure:
    """Points over no control by strength; columns control, strength, gain, low, high.

    right: right answers without control at each strength, in %.
    """
    fig, plot = page_and_plot(4.0, ylabel="points over no control")
    last = len(right) - 1
    for name, colour in RIVALS.items():
        rows = gains[gains["control"] == name]
        ends = [rows["gain"] - rows["low"], rows["high"] - rows["gain"]]
        plot.errorbar(rows["strength"], rows["gain"], yerr=ends, color=colour, marker="o")
        end = rows["gain"].iloc[-1]
        plot.text(last + 0.2, end, f"{name} {signed(end)}", color=colour, va="center")
    plot.plot((-0.2, last + 0.1), (0, 0), "--", **LEVEL)
    plot.text(last + 0.2, 0, "no control", va="center")
    names = ["clean", *map(str, range(1, last)), f"{last}"]
    ticks = [f"{name}\n{v:.0f} %" for name, v in zip(names, right, strict=True)]
    plot.set_xticks(range(last + 1), ticks)
    plot.set(xlim=(-0.25, last + 1.7), ylim=(-4.5, 18.5), yticks=(0, 5, 10, 15))
    plot.spines["bottom"].set_bounds(-0.25, last + 0.1)
    plot.set_xlabel("strength of the corruption; beneath: right without control", x=0.4)
    plot.grid(visible=False)
    return fig


def off_subspace(shares: Mapping[str, np.ndarray]) -> Figure:
    """Share of a change's energy off the subspace, in %, by state: random, and corruption."""
    fig, plot = page_and_plot(3.4, ylabel="share that P can remove, %")
    random = shares["random change"]
    largest = np.max([v for name, v in shares.items() if name != "random change"], axis=0)
    x = np.arange(len(random))
    for side, values, colour in ((-0.2, random, INK), (0.2, largest, LOSS)):
        plot.bar(x + side, values, 0.4, color=colour, alpha=0.6)
        for at, value in zip(x, values, strict=True):
            plot.text(at + side, value + 1, f"{value + 1e-4:.0f}", color=colour, ha="center")
    plot.text(-0.4, 75, "a random change")
    plot.text(5.4, 75, "corruption, the worst of six", color=LOSS, ha="right")
    plot.set_xticks(x, [f"$x_{t}$" for t in x])
    plot.set(xlabel="state before each block", ylim=(0, 82), yticks=(0, 25, 50))
    plot.grid(visible=False)
    return fig


def off_subspace_table(shares: Mapping[str, Mapping[str, np.ndarray]]) -> Table:
    """The same for each network, every corruption a row."""
    rows = []
    for network, of in shares.items():
        for name, values in of.items():
            row = {"": f"{network}, {name}"}
            # random shares are sixteenths: a tie such as 6.25 rounds alike on every processor
            row |= {f"x{t}": float(v) + 1e-4 for t, v in enumerate(values)}
            rows.append(row)
    return table(rows, "Share of a change off the subspace, %", digits=1, folded=True)


LAWS = {"word by word": OURS, "if all agree": ESTIMATE}


def persons(moves: pd.DataFrame, chances: pd.Series) -> Figure:
    """Two words for persons along two directions, before a law and after it; a panel a law.

    moves: columns law, word, before, after (pairs of floats). chances: chance of
    contradiction in %, of each law.
    """
    fig = page(3.2)
    for plot, (law, colour) in zip(fig.subplots(1, 2, sharey=True), LAWS.items(), strict=True):
        for row in moves[moves["law"] == law].itertuples():
            before, after = np.array(row.before), np.array(row.after)
            plot.plot(*before, "o", color=INK, markersize=9, markerfacecolor="none")
            if np.linalg.norm(after - before) > 1:
                arrow = dict(arrowstyle="->", color=colour, linewidth=2, shrinkA=7, shrinkB=7)
                plot.annotate("", after, before, arrowprops=arrow)
            plot.plot(*after, "o", color=colour, markersize=9)
            plot.text(before[0], before[1] + 0.9, row.word, ha="center")
        plot.set_title(law, color=colour, weight="bold", fontsize=12)
        text = f"contradiction: {chances[law]:.0f} %"
        plot.text(0, -3.6, text, ha="center", color=colour, fontsize=12)
        plot.set(xlim=(-8.5, 8.5), ylim=(-4.6, 4), xticks=(), yticks=())
        plot.set_xlabel("first direction")
        plot.grid(visible=False)
    fig.axes[0].set_ylabel("second direction")
    return fig


def two_tests(tests: pd.DataFrame) -> Figure:
    """Two tests in a plane; rows no control, word by word, if all agree, plain rule.

    Columns notices (%), change (points).
    """
    fig, plot = page_and_plot(4.2)
    looks = {
        "no control": (INK, "no control", (-14, 0), "right"),
        "word by word": (OURS, "word by word", (14, 0), "left"),
        "if all agree": (ESTIMATE, "if all agree", (-14, 6), "right"),
        "plain rule": (INK, "a plain rule", (-14, 0), "right"),
    }
    for name, (colour, text, shift, side) in looks.items():
        at = tuple(tests.loc[name])
        plot.plot(*at, "o", color=colour, markersize=12, clip_on=False)
        how = dict(textcoords="offset points", color=colour, ha=side, va="center", fontsize=12)
        plot.annotate(text, at, shift, **how)
    corner = dict(arrowstyle="->", color=INK, linewidth=1.5)
    plot.annotate("", (70, 0.7), (50, 1.2), arrowprops=corner)
    plot.text(49, 1.27, "better", ha="right", va="center")
    plot.set(xlim=(0, 102), ylim=(-0.2, 2.55), yticks=(0, 1, 2))
    plot.set_xlabel("one person swapped: how many answers notice, %")
    plot.set_ylabel("all persons swapped:\nthe answer moves, points")
    plot.grid(visible=False)
    return fig


STEERINGS = {  # colour, and where the name stands from the end of the line
    "addition": (PAPER, (8, 8)),
    "LQR": (LOSS, (8, -8)),
    "PID over layers": (ATTACKER, (-2, -48)),
    "half-space": (ESTIMATE, (8, 2)),
    "the paper’s feedback": (OURS, (8, 2)),
}


def steerings(gains: pd.DataFrame) -> Figure:
    """Log-odds gained over harm on other text, a line a law; columns law, gain, loss."""
    xlabel = "harm: loss added on other text, nats a token"
    fig, plot = page_and_plot(4.4, xlabel=xlabel, ylabel="log-odds gained for the good mood")
    for name, (colour, shift) in STEERINGS.items():
        rows = gains[gains["law"] == name].sort_values("loss")
        plot.plot(rows["loss"], rows["gain"], "o-", color=colour, markersize=5)
        end = tuple(rows.iloc[-1][["loss", "gain"]])
        look = dict(color=colour, va="center", textcoords="offset points")
        if shift[1] < -20:
            look["arrowprops"] = dict(arrowstyle="-", color=colour)
        plot.annotate(name, end, shift, **look)
    plot.axhline(0, zorder=0, **LEVEL)
    plot.set(xlim=(-0.03, 1.2), ylim=(-0.4, 10.8), xticks=(0, 0.5, 1))
    plot.grid(visible=False)
    return fig
