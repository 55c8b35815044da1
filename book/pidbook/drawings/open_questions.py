"""Pictures of chapter 16, six open questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pidbook.figures import (
    INK,
    NOISE,
    OURS,
    Table,
    page,
    page_and_plot,
    reach,
    signed,
    table,
    with_interval,
)

LEVEL = dict(color=INK, linewidth=0.9)
PUBLISHED = 0.001  # the price in the paper's code


def six(pairs: pd.DataFrame) -> Figure:
    """Each idea of the paper above its rival, two bars a trial with their numbers.

    Columns question, counted, idea, rival, of_idea, of_rival, digits. The longer bar of a trial
    fills the width, so that bars of different trials do not compare.
    """
    fig, plot = page_and_plot(7.2)
    names = []
    places = []
    for k, row in enumerate(pairs.itertuples()):
        top = 3.4 * k
        longest = max(row.of_idea, row.of_rival)
        head = f"{k + 1}  {row.question}: {row.counted}"
        plot.text(-0.62, top - 0.95, head, va="center", weight="bold", fontsize=11)
        bars = ((row.idea, row.of_idea, OURS), (row.rival, row.of_rival, INK))
        for j, (name, value, colour) in enumerate(bars):
            y = top + j
            plot.barh(y, value / longest, 0.8, color=colour, alpha=0.75)
            end = value / longest + 0.02
            plot.text(end, y, f"{value:.{row.digits}f}", va="center", color=colour)
            names.append((name, colour))
            places.append(y)
    plot.set(xlim=(0, 1.13), ylim=(places[-1] + 0.6, -1.6), xticks=[])
    plot.set_yticks(places, [name for name, _ in names])
    for label, (_, colour) in zip(plot.get_yticklabels(), names, strict=True):
        label.set_color(colour)
    plot.tick_params(axis="y", length=0)
    plot.spines["bottom"].set_visible(False)
    plot.spines["left"].set_visible(False)
    plot.grid(visible=False)
    return fig


def six_table(pairs: pd.DataFrame) -> Table:
    """The same as numbers, and the idea less its rival with its interval."""
    rows = []
    for row in pairs.itertuples():
        numbers = f"{row.of_idea:.{row.digits}f}", f"{row.of_rival:.{row.digits}f}"
        step = with_interval(row.gain, row.low, row.high, row.digits)
        named = {"trial": row.question, "counted": row.counted, "idea": numbers[0]}
        rows.append(named | {"rival": numbers[1], "idea less rival": step})
    return table(rows, "Differences and their 95 % intervals", folded=True)


def cheap_control(prices: Sequence[float], shares: Mapping[str, Sequence[float]]) -> Figure:
    """Share that P removes, by price, with two kinds of blocks; the published price is marked."""
    fig, plot = page_and_plot(3.7, xlabel="price c of a push", ylabel="share removed")
    looks = {"orthogonal blocks": (INK, "s", 5, INK), "measured blocks": (OURS, "o", 11, "none")}
    order = np.argsort(prices)
    prices = np.array(prices)[order]
    ordered = {name: np.array(share)[order] for name, share in shares.items()}
    place = np.inf  # of a name: its curve's end, or below the name above
    for name, share in sorted(ordered.items(), key=lambda item: -item[1][-1]):
        colour, mark, size, face = looks.get(name, (NOISE, "^", 7, "none"))
        how = dict(color=colour, linewidth=2, markersize=size, markerfacecolor=face)
        plot.plot(prices, share, f"{mark}-", **how)
        text = f"{name}: {share[-1]:.2f}"
        place = min(share[-1], place - 0.08)
        plot.text(1.7 * prices[-1], place, text, color=colour, va="center")
    plot.axvline(PUBLISHED, linestyle="--", **LEVEL)
    plot.text(1.2 * PUBLISHED, 0.08, "the published price", va="center")
    first = 0.6 * min(*prices, PUBLISHED)
    plot.set(xscale="log", xlim=(first, 150 * prices[-1]), ylim=(0, 1.08))
    plot.set_xticks(prices, [f"{price:g}" for price in prices])
    plot.minorticks_off()
    plot.spines["bottom"].set_bounds(first, prices[-1])
    plot.xaxis.set_label_coords(0.33, -0.13)
    plot.grid(visible=False)
    return fig


WEIGHTS = {"the paper’s weights": INK, "searched weights": OURS}


def searches(gains: pd.DataFrame) -> Figure:
    """Points over the bare model, a bar a law in each set; columns set, law, gain, low, high."""
    groups = gains.groupby("set", sort=False)
    fig = page(max(3.9, 0.6 + 0.55 * len(gains)))
    panels = fig.subplots(groups.ngroups, 1, sharex=True, squeeze=False)[:, 0]
    low, high = reach((-29, 47), gains["low"], gains["high"] + 9)  # 9: room for a number
    for panel, (name, rows) in zip(panels, groups, strict=True):
        for y, row in enumerate(rows.itertuples()):
            colour = WEIGHTS.get(row.law, NOISE)
            panel.barh(y, row.gain, 0.7, color=colour, alpha=0.3)
            panel.plot((row.low, row.high), (y, y), color=colour, linewidth=2.4)
            panel.plot(row.gain, y, "o", color=colour, markersize=6)
            panel.text(high - 7, y, signed(row.gain), color=colour, va="center")
        panel.axvline(0, **LEVEL)
        panel.set_yticks(range(len(rows)), rows["law"])
        for label, law in zip(panel.get_yticklabels(), rows["law"], strict=True):
            label.set_color(WEIGHTS.get(law, NOISE))
        panel.set(ylim=(len(rows) - 0.5, -0.5), xlim=(low, high), xticks=(-20, 0, 20))
        panel.set_title(name, loc="left", fontsize=11.5, weight="bold")
        panel.grid(visible=False)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
    panels[-1].set_xlabel("points over the bare model (right is better)")
    return fig


ATTACKERS = {
    "by the paper’s loss": (OURS, "-"),
    "by the margin": (INK, "-"),
    "random words": (NOISE, "--"),
}


def course(courses: Mapping[str, np.ndarray], most: int) -> Figure:
    """Right answers turned after so many questions, a curve (budget + 1,) an attacker."""
    fig, plot = page_and_plot(4.2, xlabel="questions asked")
    plot.set_ylabel("right answers turned")
    last = len(next(iter(courses.values()))) - 1
    plot.plot((0, last), (most, most), "--", **LEVEL)
    plot.text(1, most + 3, f"at most {most}, whatever the words")
    place = np.inf
    for name, turned in sorted(courses.items(), key=lambda item: -item[1][-1]):
        colour, line = ATTACKERS.get(name, (NOISE, ":"))
        plot.plot(turned, color=colour, linewidth=2.4, linestyle=line)
        place = min(turned[-1], place - 8)
        plot.text(last + 1, place, f"{turned[-1]} {name}", color=colour, va="center")
    plot.set(
        xlim=(0, 1.62 * last), ylim=(0, 125), xticks=range(0, last + 1, 12 if last > 12 else 2)
    )
    plot.spines["bottom"].set_bounds(0, last)
    plot.xaxis.set_label_coords(0.31, -0.11)
    plot.grid(visible=False)
    return fig


RIVALS = {"fine-tuning": INK, "the paper’s control": OURS}


def strengths(gains: pd.DataFrame, right: Sequence[float]) -> Figure:
    """Points over the bare model by strength; columns control, strength, gain, low, high.

    right: accuracy of the bare model at each strength, in %.
    """
    fig, plot = page_and_plot(4.0, ylabel="points over the bare model")
    last = len(right) - 1
    by_end = gains.groupby("control")["gain"].last().sort_values(ascending=False)
    place = np.inf  # of a name: its line's end, or below the name above
    shifts = np.linspace(-0.09, 0.09, len(by_end))
    for shift, (name, end) in zip(shifts, by_end.items(), strict=True):
        colour = RIVALS.get(name, NOISE)
        rows = gains[gains["control"] == name]
        ends = [rows["gain"] - rows["low"], rows["high"] - rows["gain"]]
        places = rows["strength"] + shift  # else the marks lie on each other
        plot.errorbar(places, rows["gain"], yerr=ends, color=colour, marker="o", markersize=5)
        place = min(end, place - 3.5)
        plot.text(last + 0.2, place, f"{name}\n{signed(end)}", color=colour, va="center")
    plot.plot((-0.2, last + 0.1), (0, 0), "--", **LEVEL)
    plot.text(last + 0.05, 0.2, "bare model", ha="right")
    levels = ["clean", *map(str, range(1, last + 1))]
    ticks = [f"{level}\n{v:.0f} %" for level, v in zip(levels, right, strict=True)]
    plot.set_xticks(range(last + 1), ticks)
    ylim = reach((-4.5, 18.5), gains[["low", "high"]])
    plot.set(xlim=(-0.25, last + 1.9), ylim=ylim, yticks=(0, 5, 10, 15))
    plot.spines["bottom"].set_bounds(-0.25, last + 0.1)
    plot.set_xlabel("strength of the corruption; beneath: accuracy of the bare model", x=0.4)
    plot.grid(visible=False)
    return fig


def persons(
    places: Mapping[str, np.ndarray],
    chances: Mapping[str, float],
    words: Sequence[str],
    answer: str,
) -> Figure:
    """Two words for persons along two directions; a panel a law, with the chance of an answer.

    places: (2, 2) of each law, a row a word. chances: in %, of each law.
    """
    fig = page(2.7)
    x, y = np.concatenate(list(places.values())).T
    (panels,) = fig.subplots(1, len(places), sharey=True, squeeze=False)
    for plot, (law, of_words) in zip(panels, places.items(), strict=True):
        colour = INK if law == "bare model" else OURS
        plot.plot(*of_words.T, "o", color=colour, markersize=11, alpha=0.75)
        if np.ptp(of_words, axis=0).max() < 1:  # then one point, with both names
            plot.text(*(of_words.mean(0) + (0, 1)), " and ".join(words), ha="center")
        else:
            near = np.ptp(of_words[:, 0]) < 4  # then the names go to either side
            for word, place in zip(words, of_words, strict=True):
                side = "right" if place[0] == of_words[:, 0].min() else "left"
                plot.text(place[0], place[1] + 1, word, ha=side if near else "center")
        plot.set_title(law, color=colour, weight="bold", fontsize=12)
        text = f"chance of {answer}:\n{chances[law]:.0f} %"
        plot.text(0, -3.6, text, ha="center", color=colour, fontsize=12)
        plot.set(xlim=reach((-8.5, 8.5), x), ylim=reach((-4.6, 4), y))
        plot.set(xticks=(-5, 0, 5), yticks=(-3, 0, 3))
        plot.set_xlabel("first direction")
        plot.grid(visible=False)
    panels[0].set_ylabel("second direction")
    return fig


STEERINGS = {"addition": INK, "the paper’s feedback": OURS}


def steerings(gains: pd.DataFrame, harm: float = 0.1) -> Figure:
    """Log-odds won over harm on other text, a line a law, and a dashed line at one harm.

    Columns law, gain, low, high, loss.
    """
    xlabel = "harm: loss added on other text, nats a token"
    fig, plot = page_and_plot(4.0, xlabel=xlabel, ylabel="log-odds won for the good mood")
    for name in gains["law"].unique():
        colour = STEERINGS.get(name, NOISE)
        rows = gains[gains["law"] == name].sort_values("loss")
        ends = [rows["gain"] - rows["low"], rows["high"] - rows["gain"]]
        how = dict(color=colour, marker="o", markersize=5, linewidth=2)
        plot.errorbar(rows["loss"], rows["gain"], yerr=ends, **how)
        end = tuple(rows.iloc[-1][["loss", "gain"]])
        look = dict(color=colour, va="center", textcoords="offset points", fontsize=12)
        plot.annotate(name, end, (8, 0), **look)
    plot.axvline(harm, zorder=0, linestyle="--", **LEVEL)
    plot.text(harm + 0.02, 10.2, f"harm {harm:g}, as in the first picture", va="center")
    xlim = reach((-0.03, 1.14), gains["loss"])
    plot.set(xlim=xlim, ylim=reach((-0.4, 10.8), gains[["low", "high"]]), xticks=(0, 0.5, 1))
    plot.grid(visible=False)
    return fig
