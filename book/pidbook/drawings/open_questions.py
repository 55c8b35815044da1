"""Pictures of chapter 16, six open questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
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

MIDDLE = dict(ha="center", va="center")
LEVEL = dict(color=INK, linewidth=0.9)


def _interval(
    plot: Axes, y: float, row: pd.Series, colour: str, mark: str = "o", size: float = 7
) -> None:
    """A gain with its interval; hollow where the interval includes 0."""
    shown = row["low"] > 1e-9 or row["high"] < -1e-9
    plot.plot([row["low"], row["high"]], [y, y], color=colour, linewidth=2)
    face = colour if shown else "none"
    plot.plot(row["gain"], y, mark, color=colour, markerfacecolor=face, markersize=size)


# --- Six verdicts -------------------------------------------------------------------------------


FURTHEST = -5  # half-widths; what lies further left is an arrow with its number


def verdict(row: pd.Series) -> str:
    """A word for a difference with its interval."""
    if row["high"] < 0:
        return "behind"
    if row["low"] > 0:
        return "ahead"
    return "no answer turns" if row["gain"] == 0 else "open"


def verdicts(differences: pd.DataFrame) -> Figure:
    """Each difference from a rival in units of half its own interval; more is better.

    differences: columns question, rival, unit, gain, low, high, digits.
    """
    fig, plot = page_and_plot(6.0, xlabel="difference over half its interval")
    for y, (_, row) in enumerate(differences.iterrows()):
        half = (row["high"] - row["low"]) / 2
        drawn = row.copy()
        drawn[["gain", "low", "high"]] = row[["gain", "low", "high"]] / half
        if drawn["gain"] > FURTHEST:
            _interval(plot, y, drawn, OURS)
        else:
            plot.plot(FURTHEST, y, "<", color=OURS, markersize=9)
            plot.text(FURTHEST + 0.9, y, signed(drawn["gain"], 0), color=OURS, va="center")
        numbers = with_interval(row["gain"], row["low"], row["high"], row["digits"])
        plot.text(6.2, y - 0.17, f"{verdict(row)} ({row['unit']})", va="center")
        plot.text(6.2, y + 0.19, numbers, va="center")
    plot.axvspan(-1, 1, color=INK, alpha=0.1, lw=0)  # not shown
    plot.axvline(0, zorder=0, **LEVEL)
    names = differences["question"] + "\nover " + differences["rival"]
    plot.set_yticks(range(len(names)), names)
    plot.set(ylim=(len(names) - 0.5, -0.6), xlim=(FURTHEST - 0.6, 22), xticks=(-4, -2, 0, 2, 4))
    plot.spines["bottom"].set_bounds(FURTHEST - 0.6, 5.8)
    plot.xaxis.set_label_coords(0.25, -0.06)
    plot.grid(axis="y", visible=False)
    return fig


# --- Riccati with the real blocks ---------------------------------------------------------------


def cheap_control(
    prices: Sequence[float], shares: Mapping[str, Sequence[float]], changes: pd.DataFrame
) -> Figure:
    """Left: share of the guess that P removes, by price, for two kinds of blocks.

    Right: what real blocks change in right answers; columns law, set, gain, low, high.
    """
    fig = page(4.3)
    left, right = fig.subplots(1, 2, width_ratios=(6, 5))
    looks = {"orthogonal blocks": (OURS, "o", 11, "none"), "real blocks": (INK, "s", 5, INK)}
    for name, share in shares.items():
        colour, mark, size, face = looks[name]
        how = dict(color=colour, linewidth=2, markersize=size, markerfacecolor=face)
        left.plot(prices, share, f"{mark}-", **how)
        for price, value in zip(prices[3:], share[3:], strict=True):
            above = name.startswith("orthogonal")
            place = (7, 5) if above else (-5, -12)
            how = dict(textcoords="offset points", color=colour, ha="left" if above else "right")
            left.annotate(f"{value:.2f}", (price, value), place, **how)
    left.axvline(prices[0], linestyle="--", **LEVEL)
    left.text(1.25 * prices[0], 0.06, "published price", va="center")
    left.text(0.55, 0.84, "orthogonal\nblocks", color=OURS, va="center")
    left.text(0.9, 0.33, "real\nblocks", color=INK, ha="right", va="center")
    left.set(xscale="log", xlim=(6e-4, 90), ylim=(0, 1.08))
    left.set_xticks(prices, [f"{p:g}" if k % 2 == 0 else "" for k, p in enumerate(prices)])
    left.set(xlabel="price c", ylabel="share of the guess removed")
    _changes(right, changes)
    return fig


def _changes(plot: Axes, changes: pd.DataFrame) -> None:
    """Real blocks less orthogonal ones: two sets under each law, the first a disc."""
    laws = list(dict.fromkeys(changes["law"]))
    sets = list(dict.fromkeys(changes["set"]))
    for _, row in changes.iterrows():
        place = sets.index(row["set"])
        y = laws.index(row["law"]) + 0.36 * (place - 0.5)
        _interval(plot, y, row, INK, "s" if place else "o", 6.5)
        text = f"{row['set']} {signed(row['gain'])}"
        plot.text(13, y, text, va="center", fontsize=9.5)
    plot.axvline(0, zorder=0, **LEVEL)
    plot.set_yticks(range(len(laws)), laws)
    plot.set(ylim=(len(laws) - 0.5, -0.5), xlim=(-12, 37), xticks=(-10, 0, 10))
    plot.spines["bottom"].set_bounds(-12, 12)
    plot.set_xlabel("points, real blocks\nless orthogonal", x=0.27)
    plot.grid(visible=False)


# --- Gains found by search ----------------------------------------------------------------------


def searches(gaps: pd.DataFrame) -> Figure:
    """Divergence over no control, a law a row; columns law, by, gain, low, high."""
    fig, plot = page_and_plot(4.4, xlabel="divergence × 100, over no control (less is better)")
    for y, (_, row) in enumerate(gaps.iterrows()):
        colour = ESTIMATE if row["by"] == "search" else OURS
        _interval(plot, y, row, colour)
        plot.text(17, y, signed(row["gain"]), color=colour, ha="right", va="center")
    plot.axvline(0, zorder=0, **LEVEL)
    plot.set_yticks(range(len(gaps)), gaps["law"])
    for label, by in zip(plot.get_yticklabels(), gaps["by"], strict=True):
        label.set_color(ESTIMATE if by == "search" else OURS)
    plot.set(ylim=(len(gaps) - 0.5, -0.6), xlim=(-4.5, 17.2), xticks=(0, 5, 10))
    plot.grid(axis="y", visible=False)
    return fig


# --- An attack by optimal control ---------------------------------------------------------------

ATTACKERS = {
    "loss search": (OURS, "-"),
    "margin search": (ATTACKER, "-"),
    "random words": (NOISE, "--"),
}


def course(courses: Mapping[str, np.ndarray], held: int, n: int) -> Figure:
    """Rows still right after so many questions, a curve (budget + 1,) an attacker."""
    fig, plot = page_and_plot(4.2, xlabel="questions asked", ylabel=f"rows still right, of {n}")
    last = len(next(iter(courses.values()))) - 1
    plot.fill_between([0, last], held, color=INK, alpha=0.18, linewidth=0)
    plot.text(last / 2, held / 2, f"{held} rows that no words turn", **MIDDLE)
    ends = []
    for name, left in courses.items():
        colour, line = ATTACKERS[name]
        plot.plot(left, color=colour, linewidth=2.4, linestyle=line)
        ends.append((left[-1], name, colour))
    place = np.inf
    for end, name, colour in sorted(ends, reverse=True):
        place = min(end, place - 9)
        plot.text(last + 1, place, f"{name}: {end}", color=colour, va="center")
    start = next(iter(courses.values()))[0]
    plot.text(2, start + 2, f"{start} right at first", va="bottom")
    plot.set(xlim=(0, 1.5 * last), ylim=(0, 178), xticks=range(0, last + 1, 12))
    plot.spines["bottom"].set_bounds(0, last)
    plot.xaxis.set_label_coords(1 / 3, -0.11)
    plot.grid(visible=False)
    return fig


def swaps(rise: np.ndarray, margin: np.ndarray, named: Mapping[str, int]) -> Figure:
    """Each swap of one word: rise of the loss, and the margin after it; some named by word."""
    fig, plot = page_and_plot(4.4, xlabel="rise of the running loss by the swap")
    plot.set_ylabel("margin after the swap")
    turned = margin <= 0
    hollow = dict(markerfacecolor="none", markeredgewidth=0.8, markersize=5)
    plot.plot(rise[~turned], margin[~turned], "o", color=INK, **hollow)
    plot.plot(rise[turned], margin[turned], "D", color=LOSS, markersize=4)
    plot.axhline(0, color=INK, linewidth=1.2)
    plot.axvline(0, color=INK, linewidth=1.2)
    up = rise > 0
    plot.text(0.6, 10.6, f"{(up & ~turned).sum()} raise the loss,\nanswer stays", va="top")
    text = f"{(up & turned).sum()} raise the loss,\nanswer turns"
    plot.text(0.6, -9.5, text, color=LOSS, va="bottom")
    plot.text(-6.8, 10.6, f"{(~up & ~turned).sum()} lower it,\nanswer stays", va="top")
    text = f"{(~up & turned).sum()} lower it,\nanswer turns"
    plot.text(-6.8, -9.5, text, color=LOSS, va="bottom")
    for height, (word, k) in zip((-3.2, 1.6), named.items(), strict=True):
        arrow = {"arrowstyle": "-", "color": INK}
        text = f"{word} {signed(rise[k])}"
        plot.annotate(text, (rise[k], margin[k]), (-6.8, height), va="center", arrowprops=arrow)
    plot.set(xlim=(-7, 19.5), ylim=(-9.8, 11), yticks=(-5, 0, 5))
    plot.grid(visible=False)
    return fig


# --- Pictures -----------------------------------------------------------------------------------

RIVALS = {
    "fine-tuning": (INK, "D", "none"),
    "estimate": (ESTIMATE, "^", ESTIMATE),
    "P-D": (OURS, "s", OURS),
}


def strengths(gains: pd.DataFrame, right: Sequence[float]) -> Figure:
    """Points over no control by strength; columns control, strength, gain, low, high.

    right: right answers without control at each strength, in %.
    """
    fig, plot = page_and_plot(4.3, ylabel="points over no control")
    last = len(right) - 1
    for k, (name, (colour, mark, face)) in enumerate(RIVALS.items()):
        rows = gains[gains["control"] == name]
        x = rows["strength"] + 0.09 * (1 - k)
        ends = [rows["gain"] - rows["low"], rows["high"] - rows["gain"]]
        how = dict(color=colour, marker=mark, markerfacecolor=face, markersize=6, linewidth=2)
        plot.errorbar(x, rows["gain"], yerr=ends, capsize=4, **how)
        plot.text(last + 0.25, rows["gain"].iloc[-1], name, color=colour, va="center")
    plot.plot((-0.2, last + 0.15), (0, 0), color=INK, linewidth=1.2)
    plot.text(last + 0.25, 0, "no control", va="center")
    names = ["clean", *map(str, range(1, last + 1))]
    plot.set_xticks(
        range(last + 1), [f"{name}\n{v:.0f} %" for name, v in zip(names, right, strict=True)]
    )
    plot.set(xlim=(-0.25, last + 1.35), ylim=(-4, 18.5), yticks=(0, 5, 10, 15))
    plot.set_xlabel("strength of the corruption; beneath, right without control")
    plot.grid(visible=False)
    return fig


def off_subspace(shares: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """Share of a change's energy off the subspace, in %, by state: random, and corruption."""
    fig = page(3.6)
    plots = fig.subplots(1, len(shares), sharey=True)
    for plot, (network, of) in zip(plots, shares.items(), strict=True):
        random = of["random change"]
        largest = np.max([v for name, v in of.items() if name != "random change"], axis=0)
        x = np.arange(len(random))
        plot.bar(x - 0.2, random, 0.4, color=INK, alpha=0.5, label="a random change")
        plot.bar(x + 0.2, largest, 0.4, color=LOSS, label="corruption, at most")
        plot.set_xticks(x, [f"$x_{t}$" for t in x])
        plot.set(title=network, xlabel="state", ylim=(0, 70))
        plot.grid(axis="x", visible=False)
    plots[0].set_ylabel("share that P can remove, %")
    handles = plots[0].get_legend_handles_labels()
    fig.legend(*handles, loc="outside upper center", ncols=2, fontsize=11)
    return fig


def off_subspace_table(shares: Mapping[str, Mapping[str, np.ndarray]]) -> Table:
    """The same, every corruption a row."""
    rows = []
    for network, of in shares.items():
        for name, values in of.items():
            row = {"": f"{network}, {name}"}
            # random shares are sixteenths: a tie such as 6.25 rounds alike on every processor
            row |= {f"x{t}": float(v) + 1e-4 for t, v in enumerate(values)}
            rows.append(row)
    return table(rows, "Share of a change off the subspace, %", digits=1, folded=True)


# --- Fairness -----------------------------------------------------------------------------------

LAWS = {"word by word": OURS, "if all agree": ESTIMATE}


def two_tests(tests: pd.DataFrame) -> Figure:
    """Two tests in a plane; rows no control, word by word, if all agree, plain rule.

    Columns notices (%), change (points).
    """
    fig, plot = page_and_plot(4.3)
    start = tuple(tests.loc["no control"])
    looks = {
        "no control": (INK, "o", "no control", (-12, 2), "right"),
        "word by word": (OURS, "o", "word by word: steady,\nbut misses the swap", (14, -9), "left"),
        "if all agree": (ESTIMATE, "o", "if all agree", (-14, 5), "right"),
        "plain rule": (INK, "*", "a plain rule", (-12, -3), "right"),
    }
    for name, (colour, mark, text, shift, side) in looks.items():
        at = tuple(tests.loc[name])
        plot.plot(*at, mark, color=colour, markersize=12)
        how = dict(textcoords="offset points", color=colour, ha=side, va="center", fontsize=12)
        plot.annotate(text, at, shift, **how)
        if name in LAWS:
            arrow = dict(arrowstyle="->", color=colour, linewidth=2, shrinkA=10, shrinkB=10)
            plot.annotate("", at, start, arrowprops=arrow)
    plot.set(xlim=(0, 106), ylim=(-0.15, 2.55), yticks=(0, 1, 2))
    plot.set_xlabel("one person swapped: answers that notice, %")
    plot.set_ylabel("all persons swapped:\nthe answer moves, points")
    plot.grid(visible=False)
    return fig


def persons(moves: pd.DataFrame, chances: pd.DataFrame) -> Figure:
    """Words for persons along two directions, before a law and after it; a row a law.

    moves: columns law, case, word, before, after (pairs of floats). chances: chance of
    contradiction in %, a row a law and "no control", a column a case.
    """
    fig = page(4.8)
    plots = fig.subplots(2, 2, sharex=True, sharey=True)
    for line, (law, colour) in zip(plots, LAWS.items(), strict=True):
        for plot, case in zip(line, chances.columns, strict=True):
            some = moves[(moves["law"] == law) & (moves["case"] == case)]
            for _, row in some.iterrows():
                _moved(plot, row, colour)
            text = f"contradiction {chances.loc[law, case]:.0f} %"
            plot.text(-7.6, 4.7, text, va="center", color=colour, fontsize=11.5)
            text = f"without control {chances.loc['no control', case]:.0f} %"
            plot.text(-7.6, 3.5, text, va="center", fontsize=10.5)
            plot.text(4.2, 2.5, "man", va="center")
            plot.text(-7.4, -1.8, "woman", va="center")
            plot.set(xlim=(-8, 8.5), ylim=(-3.2, 5.6))
            plot.grid(visible=False)
        line[0].set_ylabel(law, color=colour, fontsize=12)
    for plot, case in zip(plots[0], chances.columns, strict=True):
        plot.set_title(case)
    fig.supxlabel("first direction", fontsize=10.5)
    fig.supylabel("second direction", fontsize=10.5)
    return fig


def _moved(plot: Axes, row: pd.Series, colour: str) -> None:
    """One word before and after: a ring for a woman, a disc for a man."""
    ring = row["word"] == "woman"
    look = dict(markersize=16 if ring else 8, markeredgewidth=2)
    before, after = np.array(row["before"]), np.array(row["after"])
    if np.linalg.norm(after - before) > 1:
        plot.plot(*before, "o", color=INK, markerfacecolor="none" if ring else INK, **look)
        arrow = dict(arrowstyle="->", color=colour, linewidth=2, shrinkA=8, shrinkB=10)
        plot.annotate("", after, before, arrowprops=arrow)
    plot.plot(*after, "o", color=colour, markerfacecolor="none" if ring else colour, **look)


# --- Steering -----------------------------------------------------------------------------------

STEERINGS = {
    "addition": PAPER,
    "LQR": LOSS,
    "PID over layers": ATTACKER,
    "half-space": ESTIMATE,
    "the paper’s feedback": OURS,
}


def steerings(gains: pd.DataFrame, random: Sequence[float]) -> Figure:
    """Log-odds gained at one size, a law a row, and those of random directions.

    gains: columns law, gain, low, high, less, less_low, less_high (than addition).
    """
    fig, plot = page_and_plot(4.2, xlabel="log-odds gained for the good mood")
    for y, (_, row) in enumerate(gains.iterrows()):
        colour = STEERINGS[row["law"]]
        _interval(plot, y, row, colour)
        plot.text(row["high"] + 0.25, y, f"{row['gain']:.2f}", color=colour, va="center")
        text = f"{row['less']:.2f} [{row['less_low']:.2f}, {row['less_high']:.2f}]"
        if y:
            plot.text(12.4, y, text, color=colour, ha="right", va="center")
    plot.text(12.4, 0, "less than addition", ha="right", va="center")
    y = len(gains)
    spread = y + 0.5 * (np.arange(len(random)) / (len(random) - 1) - 0.5)
    plot.plot(random, spread, "x", color=NOISE, markersize=6, markeredgewidth=1.4)
    text = f"{min(random):.2f} to {max(random):.2f}".replace("-", "\N{MINUS SIGN}")
    plot.text(max(random) + 0.25, y, text, color=NOISE, va="center")
    names = [*gains["law"], "twenty random\ndirections"]
    plot.set_yticks(range(y + 1), names)
    for label, colour in zip(plot.get_yticklabels(), [*STEERINGS.values(), NOISE], strict=True):
        label.set_color(colour)
    plot.axvline(0, zorder=0, **LEVEL)
    plot.set(ylim=(y + 0.5, -0.6), xlim=(-0.9, 12.5), xticks=range(0, 7, 2))
    plot.spines["bottom"].set_bounds(-0.9, 7)
    plot.xaxis.set_label_coords(0.35, -0.1)
    plot.grid(visible=False)
    return fig
