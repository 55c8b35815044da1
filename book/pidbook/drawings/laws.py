"""Pictures of chapter 11, which law, and at which price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pidbook.figures import ATTACKER, INK, OURS, PAPER, signed

WIDTH = 5.4  # inches: then letters of 9.5 points can be read on a telephone
SMALL = 9.5  # points, the smallest letters
SCHEMES = ("P", "P-I", "P-D", "P-I-D")
ATTACKS = {"A2T": "o", "PSO": "s", "TextBugger": "^", "TextFooler": "D"}
HOLLOW = dict(markerfacecolor="none", markeredgewidth=1.6)


def _level(plot: Axes) -> None:
    """A line at no gain, and no grid along the rows."""
    plot.axvline(0, color=INK, linewidth=0.8, zorder=0)
    plot.grid(axis="y", visible=False)
    plot.tick_params(axis="y", length=0)


def _shown(row) -> bool:
    """Whether the interval leaves out 0; an end that is 0 but for rounding does not."""
    return row.low > 1e-9 or row.high < -1e-9


def _number(plot: Axes, row, y: float, colour: str) -> None:
    """The gain in numbers at the right edge of the panel."""
    style = dict(ha="right", va="center", fontsize=SMALL, color=colour)
    plot.text(0.99, y, signed(row.gain), transform=plot.get_yaxis_transform(), **style)


def _mark(label: str, color: str, marker: str, **style) -> Line2D:
    return Line2D([], [], color=color, marker=marker, linestyle="", label=label, **style)


# --- Five laws at a glance ----------------------------------------------------------------------


def glance(gains: pd.DataFrame, titles: Mapping[str, str], adaptive: str) -> Figure:
    """Gains over no control, a set a panel, a law at a price a row; each panel has its own scale.

    gains: columns law, price, set, gain, low, high, push, answer. titles: of four sets.
    adaptive: the set on which the attacker sees the law; it has the attacker's colour.
    """
    fig = Figure(figsize=(WIDTH, 4.9), layout="constrained")
    panels = fig.subplots(2, 2, sharey=True)
    names = list(dict.fromkeys(zip(gains["law"], gains["price"], strict=True)))
    for panel, (key, title) in zip(panels.flat, titles.items(), strict=True):
        of_set = gains[gains["set"] == key]
        colour, marker = (ATTACKER, "s") if key == adaptive else (OURS, "o")
        for row in of_set.itertuples():
            y = names.index((row.law, row.price))
            _law(panel, row, y, colour, marker)
            _number(panel, row, y, colour)
        _level(panel)
        panel.set_title(title, fontsize=10.5)
        _room_for_numbers(panel, of_set)
        panel.set_yticks(range(len(names)), [f"{law}, {price:g}" for law, price in names])
        panel.set_ylim(len(names) - 0.5, -0.6)
    handles = [
        _mark("law", OURS, "o"),
        _mark("law that the attacker sees", ATTACKER, "s"),
        _mark("random push of its length", INK, "x"),
        _mark("hollow: not shown", INK, "o", **HOLLOW),
    ]
    style = dict(loc="outside upper center", ncols=2, fontsize=SMALL, columnspacing=1)
    fig.legend(handles=handles, **style)
    fig.supxlabel("points of accuracy, over no control", fontsize=10.5)
    return fig


def _room_for_numbers(plot: Axes, gains: pd.DataFrame) -> None:
    """Limits and ticks that leave the right third to the numbers."""
    low = min(gains["low"].min(), gains["push"].min(), 0)
    high = max(gains["high"].max(), 0)
    span = high - low
    plot.set_xlim(low - 0.06 * span, high + 0.5 * span)
    ticks = MaxNLocator(3, integer=True).tick_values(low, high)
    plot.set_xticks([tick for tick in ticks if low <= tick <= high])


def _law(plot: Axes, row, y: float, colour: str, marker: str) -> None:
    """One law at one price on one set, hollow where nothing is shown; a cross: random pushes."""
    style = {} if row.answer in ("gain", "loss") else HOLLOW
    plot.plot([row.low, row.high], [y, y], color=colour, linewidth=1.5)
    plot.plot(row.gain, y, marker, color=colour, markersize=5, **style)
    plot.plot(row.push, y, "x", color=INK, markersize=6, markeredgewidth=1.3)


# --- Table 3: which terms -----------------------------------------------------------------------


def four_schemes(over_p: pd.DataFrame, totals: Mapping[str, Sequence[float]]) -> Figure:
    """Accuracy of four laws over that of P, a model a panel, a line an attack.

    over_p: columns model, attack, scheme, points. totals: strengths of the laws, by model.
    """
    fig = Figure(figsize=(WIDTH, 6.2), layout="constrained")
    panels = fig.subplots(3, 2, sharey=True)
    for panel, (model, of) in zip(panels.flat, over_p.groupby("model", sort=False), strict=False):
        ours = "ours" in model
        for attack, line in of.groupby("attack", sort=False):
            points = line.set_index("scheme")["points"][list(SCHEMES)]
            style = dict(color=OURS if ours else PAPER, marker=ATTACKS.get(attack, "o"))
            if attack == "clean":
                style = dict(color=INK, linestyle="--", marker="o", **HOLLOW)
            panel.plot(range(4), points, markersize=5.5, linewidth=1.3, **style)
        names = [f"{s}\n{total:g}" for s, total in zip(SCHEMES, totals[model], strict=True)]
        panel.set_xticks(range(4), names, fontsize=SMALL)
        panel.axhline(0, color=INK, linewidth=0.8, zorder=0)
        panel.grid(axis="x", visible=False)
        panel.set_title(model, fontsize=10.5, weight="bold" if ours else "normal")
        panel.set(xlim=(-0.3, 3.3), yticks=(0, 5, 10, 15))
    for panel in panels.flat[over_p["model"].nunique() :]:
        panel.set_axis_off()
    handles = [_mark(name, INK, shape) for name, shape in ATTACKS.items()]
    handles.append(Line2D([], [], color=PAPER, label="the paper, attacked"))
    handles.append(Line2D([], [], color=OURS, label="ours, attacked"))
    clean = dict(color=INK, linestyle="--", marker="o", label="ours, clean")
    handles.append(Line2D([], [], **clean, **HOLLOW))
    panels.flat[-1].legend(handles=handles, loc="center", fontsize=SMALL, borderpad=0)
    fig.supylabel("points of accuracy, over P", fontsize=10.5)
    fig.supxlabel("law, and the sum of its strengths", fontsize=10.5)
    return fig


# --- One total strength, three sets of sentences ------------------------------------------------


def equal_total(means: pd.DataFrame, law: str) -> Figure:
    """A law against P at one total strength: a training a row, the sets one below the other.

    means: columns data, training, text, gain, low, high.
    """
    fig = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    texts = list(dict.fromkeys(means["text"]))
    sets = list(dict.fromkeys(means["data"]))
    trainings = list(dict.fromkeys(means["training"]))
    height = {  # a heading above the rows of each set
        (name, training): (len(trainings) + 1.3) * k + 1 + j
        for k, name in enumerate(sets)
        for j, training in enumerate(trainings)
    }
    panels = fig.subplots(1, len(texts), sharey=True)
    for panel, text in zip(panels, texts, strict=True):
        of_text = means[means["text"] == text]
        for row in of_text.itertuples():
            y = height[row.data, row.training]
            panel.plot([row.low, row.high], [y, y], color=OURS, linewidth=1.5)
            style = {} if _shown(row) else HOLLOW
            panel.plot(row.gain, y, "o", color=OURS, markersize=5.5, **style)
            _number(panel, row, y, OURS)
        _level(panel)
        _room_for_numbers(panel, of_text.assign(push=0.0))
        panel.set_title(text, fontsize=10.5)
    headings = {height[name, trainings[0]] - 1: name for name in sets}
    rows = headings | {y: training for (_, training), y in height.items()}
    panels[0].set_yticks(list(rows), list(rows.values()))
    for label in panels[0].get_yticklabels():
        if label.get_text() in sets:
            label.set(weight="bold")
    panels[0].set_ylim(max(rows) + 0.7, -0.7)
    fig.supxlabel(f"points of accuracy, {law} over P", fontsize=10.5)
    return fig


# --- The step taken apart -----------------------------------------------------------------------


def steps(gains: pd.DataFrame) -> Figure:
    """Steps from law to law, an attack a panel; columns step, attack, gain, low, high."""
    fig = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    attacks = list(dict.fromkeys(gains["attack"]))
    names = list(dict.fromkeys(gains["step"]))
    panels = fig.subplots(1, len(attacks), sharex=True, sharey=True)
    for panel, attack in zip(panels, attacks, strict=True):
        for row in gains[gains["attack"] == attack].itertuples():
            y = names.index(row.step)
            panel.plot([row.low, row.high], [y, y], color=OURS)
            panel.plot(row.gain, y, "o", color=OURS, **({} if _shown(row) else HOLLOW))
            _number(panel, row, y, OURS)
        _level(panel)
        panel.set_title(attack, fontsize=10.5)
    panels[0].set_yticks(range(len(names)), names, fontsize=SMALL)
    panels[0].set(ylim=(len(names) - 0.5, -0.6), xlim=(-19, 52), xticks=(0, 20))
    fig.supxlabel("points of accuracy gained by the step", fontsize=10.5)
    return fig


# --- Table 4: formula or iteration --------------------------------------------------------------

LINES = {  # control: name in the legend, marker, line, whether hollow
    "no control": ("no control", "", ":", False),
    "formula": ("formula", "o", "-", False),
    "PMP": ("PMP (ours: running cost)", "D", "--", False),
    "PMP, running cost": ("", "D", "--", False),
    "PMP, relaxed cost": ("PMP, relaxed cost", "s", "--", True),
    "formula × 0.72": ("formula × 0.72", "o", "-", True),
}


def formula_or_search(cells: pd.DataFrame) -> Figure:
    """Accuracy against the threshold, a model a row; clean text left, attacked text right.

    cells: columns model, control, threshold, text (clean or attacked), accuracy.
    """
    models = list(dict.fromkeys(cells["model"]))
    fig = Figure(figsize=(WIDTH, 7.4), layout="constrained")
    heights = [3 if "ours" in model else 2 for model in models]
    grid = fig.subplots(len(models), 2, sharex=True, sharey=True, height_ratios=heights)
    for (name, text), of in cells.groupby(["model", "text"], sort=False):
        panel = grid[models.index(name), int(text == "attacked")]
        for control, line in of.groupby("control", sort=False):
            style = _line(control, OURS if "ours" in name else PAPER)
            panel.plot(line["threshold"], line["accuracy"], markersize=5.5, linewidth=1.5, **style)
        panel.set_title(f"{name}: {text}", fontsize=10.5, loc="left")
        panel.set(xlim=(99.9, 84.1), ylim=(15, 97), xticks=(99, 95, 90, 85))
    handles = [
        Line2D([], [], label=label, **_line(control, OURS))
        for control, (label, *_) in LINES.items()
        if label
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=SMALL)
    fig.supxlabel("threshold: share of the variance in each subspace, %", fontsize=10.5)
    fig.supylabel("accuracy, %", fontsize=10.5)
    return fig


def _line(control: str, colour: str) -> dict:
    """How the line of a control looks."""
    _, marker, dashes, hollow = LINES[control]
    colour = INK if control == "no control" else colour
    return dict(color=colour, marker=marker, linestyle=dashes) | (HOLLOW if hollow else {})


# --- The price of formula and iteration ---------------------------------------------------------


def price_lines(points: pd.DataFrame, none: tuple[float, float]) -> Figure:
    """Clean accuracy against attacked, a mark a price, a threshold a panel.

    points: columns control, threshold, price, clean, attacked. none: both without control.
    """
    fig = Figure(figsize=(WIDTH, 5.6), layout="constrained")
    panels = fig.subplots(2, 1, sharex=True, sharey=True)
    for panel, (threshold, of) in zip(panels, points.groupby("threshold", sort=False), strict=True):
        for control, line in of.groupby("control", sort=False):
            marker, dashes, style = PRICED[control]
            look = dict(color=OURS, marker=marker, linestyle=dashes, markersize=6.5) | style
            panel.plot(line["clean"], line["attacked"], label=control, **look)
        for row in of[of["control"] == "formula"].itertuples():
            _price(panel, row)
        panel.plot(*none, "*", color=INK, markersize=12, label="no control", linestyle="")
        panel.set_title(f"threshold {threshold} %", fontsize=10.5)
    panels[0].set(xlim=(63, 84), ylim=(18, 56), xticks=(65, 70, 75, 80))
    fig.supxlabel("clean accuracy, %", fontsize=10.5)
    fig.supylabel("mean of four attacks, %", fontsize=10.5)
    fig.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


PRICED = {  # control: marker, line, more
    "formula": ("o", "-", {}),
    "PMP, running cost": ("D", "", {}),
    "PMP, relaxed cost": ("s", ":", HOLLOW),
}


def _price(plot: Axes, row) -> None:
    """The price beside a mark of the formula: above it, or to the right where the line falls."""
    steep = row.price >= 1
    offset = (9, -3) if steep else (0, 9)
    side = "left" if steep else {0.001: "right", 0.1: "left"}[row.price]
    style = dict(textcoords="offset points", fontsize=10, color=OURS, ha=side)
    plot.annotate(f"{row.price:g}", (row.clean, row.attacked), offset, **style)


# --- What D costs, and what a higher price saves ------------------------------------------------

LAWS = {  # of the trial: marker, its name: beside which price, offset in points, side
    "P": ("o", 0, (9, -2), "left"),
    "soft P": ("v", 0, (9, 0), "left"),
    "D": ("s", 0, (-5, 5), "right"),
    "P-D": ("D", -1, (9, 5), "left"),
    "soft P and D": ("^", 0, (-6, 7), "right"),
}


def gain_and_harm(gains: pd.DataFrame, up: str, across: str) -> Figure:
    """One set against another, a line a law, its marks the prices; crosses: random pushes.

    gains: columns law, price, set, gain, low, high, push. up, across: the two sets.
    """
    fig = Figure(figsize=(WIDTH, 4.1), layout="constrained")
    plot = fig.subplots()
    for law, of in gains.groupby("law", sort=False):
        high = of[of["set"] == up].sort_values("price")
        wide = of[of["set"] == across].sort_values("price")
        marker, named, offset, side = LAWS[law]
        x, y = wide["gain"].to_numpy(), high["gain"].to_numpy()
        plot.hlines(y, wide["low"], wide["high"], color=OURS, linewidth=1, alpha=0.5)
        plot.vlines(x, high["low"], high["high"], color=OURS, linewidth=1, alpha=0.5)
        plot.plot(x, y, marker=marker, color=OURS, markersize=6, linewidth=1.5)
        pushes = dict(color=INK, marker="x", linestyle=":", linewidth=0.8, markersize=6)
        plot.plot(wide["push"], high["push"], **pushes)
        style = dict(textcoords="offset points", fontsize=10.5, color=OURS, weight="bold")
        plot.annotate(law, (x[named], y[named]), offset, ha=side, **style)
        if law == "D":
            for k in (0, -1):
                words = f"c = {high['price'].iloc[k]:g}"
                style = dict(textcoords="offset points", fontsize=10, color=OURS, ha="right")
                plot.annotate(words, (x[k], y[k]), (-5, -13), **style)
    plot.axvline(0, color=INK, linewidth=0.8, zorder=0)
    plot.axhline(0, color=INK, linewidth=0.8, zorder=0)
    plot.set(xlim=(-48, 12), ylim=(-1, 25))
    plot.set_xlabel("contrast set: points over no control", fontsize=10.5)
    plot.set_ylabel("transfer: points over no control", fontsize=10.5)
    handles = [
        _mark("law, at three prices", OURS, "o"),
        _mark("random push of its length", INK, "x"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=SMALL)
    return fig


def refitted(separation: pd.DataFrame, sets: Mapping[str, str]) -> Figure:
    """Accuracy of some laws before and after new biases, a set a panel; no control as lines.

    separation: a row a law, the first without control; columns law, price, and of each set SET
    and "SET, new biases". sets: titles of the sets.
    """
    none, laws = separation.iloc[0], separation.iloc[1:]
    fig = Figure(figsize=(WIDTH, 2.7), layout="constrained")
    panels = fig.subplots(1, len(sets), sharey=True)
    for panel, (key, title) in zip(panels, sets.items(), strict=True):
        for y, (_, row) in enumerate(laws.iterrows()):
            before, after = row[key], row[f"{key}, new biases"]
            panel.plot([before, after], [y, y], color=OURS, linewidth=1.5)
            panel.plot(before, y, "o", color=OURS, markersize=5.5)
            panel.plot(after, y, "D", color=OURS, markersize=5.5)
        panel.axvline(none[key], color=INK, linewidth=1)
        panel.axvline(none[f"{key}, new biases"], color=INK, linewidth=1, linestyle="--")
        panel.grid(axis="y", visible=False)
        panel.tick_params(axis="y", length=0)
        panel.set_title(title, fontsize=10.5)
    names = [f"{row.law}, {row.price:g}" for row in laws.itertuples()]
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    handles = [
        _mark("as it answers", OURS, "o"),
        _mark("with biases fitted anew", OURS, "D"),
        Line2D([], [], color=INK, linewidth=1, label="no control"),
        Line2D([], [], color=INK, linewidth=1, linestyle="--", label="no control, biases anew"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=SMALL)
    fig.supxlabel("accuracy, %", fontsize=10.5)
    return fig


# --- The attacker who sees the law --------------------------------------------------------------


def attacked_twice(first: pd.DataFrame, again: pd.DataFrame) -> Figure:
    """The same laws under the adaptive attack on the first pairs and on new ones, a law a row.

    first, again: columns law, price, gain, low, high, n; the rows as in `again`.
    """
    fig = Figure(figsize=(WIDTH, 2.9), layout="constrained")
    plot = fig.subplots()
    first = first.set_index(["law", "price"])
    for y, row in enumerate(again.itertuples()):
        before = first.loc[row.law, row.price]
        plot.plot([before.low, before.high], [y - 0.17] * 2, color=INK, linewidth=1.5)
        plot.plot(before.gain, y - 0.17, "o", color=INK, markersize=5.5, **HOLLOW)
        plot.plot([row.low, row.high], [y + 0.17] * 2, color=ATTACKER, linewidth=1.5)
        plot.plot(row.gain, y + 0.17, "s", color=ATTACKER, markersize=5.5, **HOLLOW)
        _number(plot, before, y - 0.17, INK)
        _number(plot, row, y + 0.17, ATTACKER)
    _level(plot)
    names = [f"{row.law}, {row.price:g}" for row in again.itertuples()]
    plot.set_yticks(range(len(names)), names)
    plot.set(ylim=(len(names) - 0.4, -0.6), xlim=(-5, 13), xticks=(-4, 0, 4, 8))
    handles = [
        _mark(f"first {first['n'].iloc[0]} pairs", INK, "o", **HOLLOW),
        _mark(f"{again['n'].iloc[0]} new pairs", ATTACKER, "s", **HOLLOW),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=SMALL)
    fig.supxlabel("points of accuracy, over no control", fontsize=10.5)
    return fig
