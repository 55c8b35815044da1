"""Pictures of chapter 16, six open questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pidbook.figures import (
    ESTIMATE,
    INK,
    LOSS,
    NOISE,
    OURS,
    Table,
    page,
    page_and_plot,
    reach,
    signed,
    table,
)

LEVEL = dict(color=INK, linewidth=0.9)
PUBLISHED = 0.001  # the price in the paper's code

RIVAL_WAYS = {  # question to the rival beside which it stands
    "Riccati with measured blocks": "orthogonal blocks",
    "Weights by search": "the fixed weights of P-D",
    "Attack by optimal control": "an attack by the margin",
    "Pictures": "the bare model",
    "Fairness": "a plain rule",
    "Steering": "adding one vector",
}
UNITS = {  # what is counted in each
    "Riccati with measured blocks": "right answers",
    "Weights by search": "right answers",
    "Attack by optimal control": "answers turned",
    "Pictures": "pictures named rightly",
    "Fairness": "swaps noticed",
    "Steering": "log-odds, equal harm",
}
INTERVAL = dict(color=INK, linewidth=2, capsize=5, capthick=2)


def six(pairs: pd.DataFrame) -> Figure:
    """Each idea of the paper in % of its rival, a bar a trial, with its unit.

    Columns question, share, share_low, share_high.
    """
    fig, plot = page_and_plot(4.6)
    names = []
    for y, row in enumerate(pairs.itertuples()):
        plot.barh(y, row.share, 0.55, color=OURS, alpha=0.8)
        if row.share_low < row.share_high:
            ends = [[row.share - row.share_low], [row.share_high - row.share]]
            plot.errorbar(row.share, y, xerr=ends, **INTERVAL)
        end = max(row.share_high, 100)
        plot.text(end + 4, y, f"{row.share:.0f} %", va="center", color=OURS, fontsize=12)
        inside = row.share > 50
        place = 3 if inside else row.share_high + 4
        plot.text(place, y, UNITS[row.question], va="center", color=INK, fontsize=10)
        names.append(f"{row.question}\nagainst {RIVAL_WAYS[row.question]}")
    plot.axvline(100, color=INK, linestyle="--", linewidth=1.2)
    plot.text(100, -0.62, "the rival", ha="center", va="bottom")
    plot.set(xlim=(0, 133), ylim=(len(pairs) - 0.5, -0.6), xticks=(0, 50, 100))
    plot.set_yticks(range(len(pairs)), names)
    plot.set_xlabel("% of the rival")
    plot.tick_params(axis="y", length=0)
    plot.grid(visible=False)
    return fig


def six_table(pairs: pd.DataFrame) -> Table:
    """What was counted in each trial, and the idea in % of its rival."""
    rows = []
    for row in pairs.itertuples():
        share = f"{row.share:.0f} [{row.share_low:.0f}, {row.share_high:.0f}]"
        if row.share_low == row.share_high:
            share = f"{row.share:.0f}"
        rows.append({"trial": row.question, "counted": row.measured, "idea, %": share})
    return table(rows, "The six trials; idea in % of its rival", folded=True)


def cheap_control(prices: Sequence[float], shares: Mapping[str, Sequence[float]]) -> Figure:
    """Share of the guess that P removes, by price, with the gain of two kinds of blocks."""
    fig, plot = page_and_plot(3.7, xlabel="price c of a push", ylabel="share removed")
    looks = {"orthogonal blocks": (INK, "s", 5, INK), "measured blocks": (OURS, "o", 11, "none")}
    place = np.inf  # of a name: its curve's end, or below the name above
    for name, share in sorted(shares.items(), key=lambda item: -item[1][-1]):
        colour, mark, size, face = looks[name]
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


GAINS = {"the paper’s control": INK, "search, same total": OURS, "search, any total": OURS}


def searches(gains: pd.DataFrame) -> Figure:
    """Points over the bare model, a bar a law, by set; columns set, law, gain, low, high."""
    fig = page(5.0)
    groups = gains.groupby("set", sort=False)
    panels = fig.subplots(groups.ngroups, 1, sharex=True)
    for panel, (name, rows) in zip(panels, groups, strict=True):
        for y, row in enumerate(rows.itertuples()):
            colour = GAINS.get(row.law, NOISE)
            panel.barh(y, row.gain, 0.7, color=colour, alpha=0.75)
            panel.plot((row.low, row.high), (y, y), **LEVEL)
            panel.text(40, y, signed(row.gain), color=colour, va="center")
        panel.axvline(0, **LEVEL)
        panel.set_yticks(range(len(rows)), rows["law"])
        for label, law in zip(panel.get_yticklabels(), rows["law"], strict=True):
            label.set_color(GAINS.get(law, NOISE))
        panel.set(ylim=(len(rows) - 0.5, -0.5), xlim=(-29, 47), xticks=(-20, 0, 20))
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
    plot.set(xlim=(0, 1.62 * last), ylim=(0, 125), xticks=range(0, last + 1, 12))
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
        f"{turns.sum()} of {len(turns)} swaps\nturn the answer:\n{(up & turns).sum()} raise the loss",
        f"{(~turns).sum()} do not:\n{(up & ~turns).sum()} raise the loss",
    )
    plot.set_yticks((0, 1), named)
    plot.get_yticklabels()[0].set_color(LOSS)
    plot.axvline(0, zorder=0, **LEVEL)
    plot.set(ylim=(1.5, -0.5), xticks=(0, 5, 10, 15))
    plot.grid(visible=False)
    plot.tick_params(axis="y", length=0)
    return fig


RIVALS = {"fine-tuning": INK, "closed-form push": ESTIMATE, "the paper’s control": OURS}


def strengths(gains: pd.DataFrame, right: Sequence[float]) -> Figure:
    """Points over the bare model by strength; columns control, strength, gain, low, high.

    right: accuracy of the bare model at each strength, in %.
    """
    fig, plot = page_and_plot(4.0, ylabel="points over the bare model")
    last = len(right) - 1
    names = gains["control"].unique()
    for shift, name in zip(np.linspace(-0.09, 0.09, len(names)), names, strict=True):
        colour = RIVALS.get(name, NOISE)
        rows = gains[gains["control"] == name]
        ends = [rows["gain"] - rows["low"], rows["high"] - rows["gain"]]
        places = rows["strength"] + shift  # else the marks lie on each other
        plot.errorbar(places, rows["gain"], yerr=ends, color=colour, marker="o", markersize=5)
        end = rows["gain"].iloc[-1]
        plot.text(last + 0.2, end, f"{name}\n{signed(end)}", color=colour, va="center")
    plot.plot((-0.2, last + 0.1), (0, 0), "--", **LEVEL)
    levels = ["clean", *map(str, range(1, last + 1))]
    ticks = [f"{level}\n{v:.0f} %" for level, v in zip(levels, right, strict=True)]
    plot.set_xticks(range(last + 1), ticks)
    ylim = reach((-4.5, 18.5), gains[["low", "high"]])
    plot.set(xlim=(-0.25, last + 1.9), ylim=ylim, yticks=(0, 5, 10, 15))
    plot.spines["bottom"].set_bounds(-0.25, last + 0.1)
    plot.set_xlabel("strength of the corruption; beneath: accuracy of the bare model", x=0.4)
    plot.grid(visible=False)
    return fig


def off_subspace(shares: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """Share of a change off the subspace, in %, by state; random and corruption, a panel a network."""
    fig = page(4.6)
    panels = fig.subplots(len(shares), 1, sharex=True, sharey=True)
    for panel, (network, of) in zip(panels, shares.items(), strict=True):
        random = of["random change"]
        largest = np.max([v for name, v in of.items() if name != "random change"], axis=0)
        x = np.arange(len(random))
        for side, values, colour in ((-0.2, random, INK), (0.2, largest, LOSS)):
            panel.bar(x + side, values, 0.4, color=colour, alpha=0.6)
            for at, value in zip(x, values, strict=True):
                text = f"{value + 1e-4:.0f}"
                panel.text(at + side, value + 2, text, color=colour, ha="center")
        panel.set_title(network, loc="left", fontsize=11.5, weight="bold")
        panel.set(ylim=(0, 80), yticks=(0, 25, 50), xticks=x)
        panel.set_xticklabels([f"$x_{t}$" for t in x])
        panel.grid(visible=False)
    panels[0].text(0.1, 50, "a random change")
    panels[0].text(5.4, 50, "corruption, the largest of six", color=LOSS, ha="right")
    panels[-1].set_xlabel("state before each block")
    fig.supylabel("share that P can remove, %", fontsize="medium")
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


LAWS = {"word by word": OURS, "agreement gate": ESTIMATE}


def persons(moves: pd.DataFrame, chances: pd.Series) -> Figure:
    """Two words for persons along two directions, before a law and after it; a panel a law.

    moves: columns law, word, before, after (pairs of floats). chances: chance of
    contradiction in %, of each law.
    """
    fig = page(3.2)
    x, y = np.array([*moves["before"], *moves["after"]]).T
    for plot, (law, colour) in zip(fig.subplots(1, 2, sharey=True), LAWS.items(), strict=True):
        for row in moves[moves["law"] == law].itertuples():
            before, after = np.array(row.before), np.array(row.after)
            plot.plot(*before, "o", color=INK, markersize=14, markerfacecolor="none")
            if np.linalg.norm(after - before) > 1:
                arrow = dict(arrowstyle="->", color=colour, linewidth=2, shrinkA=9, shrinkB=7)
                plot.annotate("", after, before, arrowprops=arrow)
            plot.plot(*after, "o", color=colour, markersize=9)
            plot.text(before[0], before[1] + 1, row.word, ha="center")
        plot.set_title(law, color=colour, weight="bold", fontsize=12)
        text = f"contradiction: {chances[law]:.0f} %"
        plot.text(0, -3.6, text, ha="center", color=colour, fontsize=12)
        xlim = reach((-8.5, 8.5), x)
        plot.set(xlim=xlim, ylim=reach((-4.6, 4), y), xticks=(-5, 0, 5), yticks=(-3, 0, 3))
        plot.set_xlabel("first direction")
        plot.grid(visible=False)
    fig.axes[0].set_ylabel("second direction")
    return fig


STEERINGS = {"addition": INK, "the paper’s feedback": OURS}


def steerings(gains: pd.DataFrame, harm: float = 0.1) -> Figure:
    """Log-odds won over harm on other text, a line a law, and a dashed line at one harm.

    Columns law, gain, low, high, loss.
    """
    xlabel = "harm: loss added on other text, nats a token"
    fig, plot = page_and_plot(4.0, xlabel=xlabel, ylabel="log-odds won for the good mood")
    for name, colour in STEERINGS.items():
        rows = gains[gains["law"] == name].sort_values("loss")
        ends = [rows["gain"] - rows["low"], rows["high"] - rows["gain"]]
        how = dict(color=colour, marker="o", markersize=5, linewidth=2)
        plot.errorbar(rows["loss"], rows["gain"], yerr=ends, **how)
        end = tuple(rows.iloc[-1][["loss", "gain"]])
        look = dict(color=colour, va="center", textcoords="offset points", fontsize=12)
        plot.annotate(name, end, (8, 0), **look)
    plot.axvline(harm, zorder=0, linestyle="--", **LEVEL)
    plot.text(harm + 0.01, 10.2, f"harm {harm:g}", va="center")
    plot.set(xlim=(-0.03, 1.14), ylim=(-0.4, 10.8), xticks=(0, 0.5, 1))
    plot.grid(visible=False)
    return fig
