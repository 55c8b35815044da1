"""Pictures of chapter 13: estimates of a clean state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pidbook.figures import (
    ESTIMATE,
    INK,
    LOSS,
    OURS,
    Table,
    gain_bar,
    page,
    page_and_plot,
    reach,
    table,
    verdict_words,
)

MAPS = {"observed": INK, "projected": OURS, "estimated": ESTIMATE}

# --- The idea -----------------------------------------------------------------------------------


def idea(
    clean: np.ndarray, line: np.ndarray, cases: Mapping[str, Mapping], titles: Sequence[str]
) -> Figure:
    """One observed state under two kinds of perturbations: where two maps lead, and their errors.

    clean: (2, n) outline of clean states; line: (2, 2) ends of the subspace. A case has `before`,
    (2, n), `places`, map to (2,), and `errors`, map to float.
    """
    if len(cases) != 2:
        raise ValueError(f"two kinds of perturbations are drawn, not {len(cases)}: {list(cases)}")
    fig = page(4.9)
    plots = fig.subplots(2, 2, height_ratios=(2.7, 1))
    drawn = [clean, *(case["before"] for case in cases.values())]
    x, y = np.concatenate(drawn, axis=1)
    longest = max(max(case["errors"].values()) for case in cases.values())
    for (plot, bars), case, title in zip(plots.T, cases.values(), titles, strict=True):
        plot.fill(*clean, color=INK, alpha=0.22, linewidth=0)
        plot.plot(*case["before"], "--", color=INK, linewidth=1.5)
        plot.plot(*line, color=OURS, linewidth=1)
        start = case["places"]["observed"]
        for row, (name, place) in enumerate(case["places"].items()):
            colour = MAPS[name]
            if row:
                arrow = dict(arrowstyle="-|>", color=colour, linewidth=2.2, shrinkB=0)
                plot.annotate("", place, start, arrowprops=arrow)
            plot.plot(*place, "s" if row else "o", color=colour, markersize=8)
            error = case["errors"][name]
            bars.barh(row, error, color=colour)
            bars.text(error + 0.1, row, f"{error:.2f} {name}", va="center", color=colour)
        plot.set(aspect="equal", xlim=reach((-6.1, 3.7), x), ylim=reach((-2.5, 5), y), title=title)
        plot.set_axis_off()
        bars.set(xlim=(0, max(6.2, 1.8 * longest)), ylim=(2.6, -0.6))
        bars.set_title("expected squared error", loc="left")
        bars.set_axis_off()
    # names, each a step from its mark
    left = {"observed": (-4.1, 0.4), "projected": (0.34, -0.47), "estimated": (-4.57, -0.57)}
    right = {"observed": (-1.9, 1.3), "projected": (0.34, -0.47), "estimated": (-0.17, 1.72)}
    for plot, case, steps in zip(plots[0], cases.values(), (left, right), strict=True):
        for name, step in steps.items():
            place = case["places"][name] + step
            plot.text(*place, name, color=MAPS[name], weight="bold")
    lowest = clean[1].min() - 0.34
    plots[0, 0].text(-0.3, lowest, "clean states", color=INK, weight="bold")
    return fig


def idea_table(cases: Mapping[str, Mapping]) -> Table:
    """Expected errors and their two parts."""
    rows = []
    for name, case in cases.items():
        for kind, (bias, variance) in case["parts"].items():
            row = {"perturbations": name, "state": kind, "error": bias + variance}
            rows.append(row | {"taken from clean": bias, "left of the perturbation": variance})
    return table(rows, "Expected squared errors, from the covariances", 2, folded=True)


# --- On a transformer ---------------------------------------------------------------------------


def removed(free: np.ndarray, left: np.ndarray, clean: np.ndarray) -> Figure:
    """Change of a state, (T,) each: by typos, without control and with it, and of clean text."""
    fig, plot = page_and_plot(4.0, xlabel="state", ylabel="change of a state, in spreads")
    states = range(len(free))
    last = len(free) - 1
    plot.plot(states, free, "o--", color=INK)
    plot.plot(states, left, "s-", color=ESTIMATE)
    plot.plot(states, clean, "^-", color=LOSS)
    for t in (0, last):
        plot.text(t, free[t] + 0.025, f"{free[t]:.2f}", color=INK, ha="center")
        plot.text(t, left[t] - 0.055, f"{left[t]:.2f}", color=ESTIMATE, ha="center")
        plot.text(t, clean[t] - 0.055, f"{clean[t]:.2f}", color=LOSS, ha="center")
    bold = dict(weight="bold", ha="right")
    plot.text(3.7, free[3] + 0.09, "typos, without control", color=INK, **bold)
    plot.text(3.9, left[2] - 0.08, "typos, with the maps", color=ESTIMATE, **bold)
    plot.text(3.9, clean[3] - 0.07, "clean text is moved", color=LOSS, **bold)
    plot.set(xlim=(-0.3, last + 0.3), ylim=(0, 0.7), xticks=states)
    plot.grid(axis="x", visible=False)
    return fig


def removed_table(rows: Sequence[Mapping]) -> Table:
    """The four curves, a row a state."""
    names = {"free": "without control", "change": "as it arrives"}
    names |= {"left": "after its own map", "clean": "clean text is moved"}
    shown = []
    for row in rows:
        shown.append({"state": row["t"]} | {name: row[key] for key, name in names.items()})
    return table(shown, "Change of a state, in spreads of clean states", 2, folded=True)


LOOKS = {"closed-form push": (ESTIMATE, "o"), "trained push": (ESTIMATE, "s"), "P-D": (OURS, "D")}


def gains(groups: Mapping[str, Sequence[Mapping]]) -> Figure:
    """Gains over no control, a group a set of texts, a row a control; full marks where shown."""
    fig, plot = page_and_plot(4.9)
    places, names = [], []
    for group, (title, rows) in enumerate(groups.items()):
        top = 4.4 * group
        plot.text(
            0.01, top, title, va="center", weight="bold", transform=plot.get_yaxis_transform()
        )
        for line, row in enumerate(rows, start=1):
            colour, mark = LOOKS.get(row["control"], (INK, "o"))
            look = dict(color=colour, marker=mark)
            look["markerfacecolor"] = colour if row["answer"] in ("gain", "loss") else "none"
            gain_bar(plot, top + line, row["gain"], (row["low"], row["high"]), **look)
            places.append(top + line)
            names.append(row["control"])
    plot.axvline(0, color=INK, linewidth=1.2, zorder=1)
    plot.set_yticks(places, names)
    plot.tick_params(axis="y", length=0)
    ends = [row[end] for rows in groups.values() for row in rows for end in ("low", "high")]
    plot.set(xlim=reach((-19, 9), ends), ylim=(places[-1] + 0.7, -0.7))
    plot.set_xticks(range(-15, 6, 5))
    plot.set_xlabel("right answers gained over no control, points")
    plot.grid(axis="y", visible=False)
    plain = dict(color=INK, linestyle="", marker="o")
    shown = Line2D([], [], label="change shown", **plain)
    not_shown = Line2D([], [], label="no change shown", markerfacecolor="none", **plain)
    fig.legend(handles=[shown, not_shown], loc="outside upper center", ncols=2)
    return fig


def gains_rows(groups: Mapping[str, Sequence[Mapping]]) -> Table:
    """The gains, and whether they are shown."""
    rows = []
    for name, members in groups.items():
        for row in members:
            cells = {"pairs": name.split(" (")[0], "control": row["control"]}
            cells |= {"without, %": row["without"], "with, %": row["with"], "gain": row["gain"]}
            cells |= {
                "low": row["low"],
                "high": row["high"],
                "change": verdict_words(row["answer"]),
            }
            rows.append(cells)
    return table(rows, "Right answers, gains in points, 95 % intervals", 1, folded=True)


# --- Synonym or other meaning -------------------------------------------------------------------


def tradeoff(known: np.ndarray, new: np.ndarray) -> Figure:
    """Left of a synonym plus lost of a meaning, (halvings, states) each; 1 tells nothing apart."""
    fig, plot = page_and_plot(4.0, xlabel="state", ylabel="left of a synonym\n+ lost of a meaning")
    states = range(known.shape[1])
    _band(plot, known, "o-", "words of the fit", -0.13)
    _band(plot, new, "s--", "words it never met", 0.06)
    plot.axhline(1, color=INK, linestyle="--")
    last = len(states) - 1
    plot.text(last, 1.03, "does not tell them apart", ha="right")
    plot.text(last, 0.03, "0: tells them apart perfectly", ha="right")
    plot.grid(visible=False)
    plot.set(ylim=(0, 1.2), xlim=(-0.2, last + 0.2))
    return fig


def _band(plot: Axes, sums: np.ndarray, style: str, name: str, above: float) -> None:
    """The mean of some halvings, the range about it, and the name at its start."""
    mean = sums.mean(axis=0)
    states = range(len(mean))
    ends = (sums.min(axis=0), sums.max(axis=0))
    plot.fill_between(states, *ends, color=ESTIMATE, alpha=0.3, linewidth=0)
    face = "none" if "--" in style else ESTIMATE
    plot.plot(states, mean, style, color=ESTIMATE, markersize=7, markerfacecolor=face)
    plot.text(0, mean[0] + above, name, color=ESTIMATE, weight="bold")


def tradeoff_table(rows: Mapping[str, np.ndarray]) -> Table:
    """Means and ranges by state."""
    shown = []
    for name, sums in rows.items():
        for state, values in enumerate(sums.T):
            row = {"tested on": name, "state": state, "sum": float(values.mean())}
            ends = {"lowest": float(values.min()), "highest": float(values.max())}
            shown.append(row | ends)
    return table(shown, "Left and lost together; 1: does not tell them apart", 2, folded=True)
