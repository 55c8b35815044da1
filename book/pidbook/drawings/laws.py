"""Pictures of chapter 11, which law, and at which price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pidbook.figures import ATTACKER, INK, OURS, PAPER, Table, table

WIDTH = 5.8
SCHEMES = ("P", "P-I", "P-D", "P-I-D")
TRAININGS = {"standard": "o", "AT": "s", "FreeLB": "^"}
ATTACKS = {"A2T": "o", "PSO": "s", "TextBugger": "^", "TextFooler": "D"}
HOLLOW = dict(markerfacecolor="none", markeredgewidth=1.6)


def signed(points: float) -> str:
    """A gain with its sign, and a true minus."""
    return f"{points:+.1f}".replace("-", "\N{MINUS SIGN}")


def _between(gain: float, low: float, high: float) -> str:
    return f"{signed(gain)} [{signed(low)}, {signed(high)}]"


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
    text = signed(row.gain) if abs(row.gain) > 0.05 else "0.0"
    style = dict(ha="right", va="center", fontsize=9.5, color=colour)
    plot.text(0.99, y, text, transform=plot.get_yaxis_transform(), **style)


def _mark(label: str, color: str, marker: str, **style) -> Line2D:
    return Line2D([], [], color=color, marker=marker, linestyle="", label=label, **style)


# --- Five laws at a glance ----------------------------------------------------------------------


def glance(gains: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Gains over no control, a set a panel, a law at a price a row; each panel has its own scale.

    gains: columns law, price, set, gain, low, high, push, answer, and look: how a row is drawn.
    titles: of four sets.
    """
    fig = Figure(figsize=(5.4, 6.4), layout="constrained")
    panels = fig.subplots(2, 2, sharey=True)
    names = list(dict.fromkeys(zip(gains["law"], gains["price"], strict=True)))
    for panel, (key, title) in zip(panels.flat, titles.items(), strict=True):
        of_set = gains[gains["set"] == key]
        for row in of_set.itertuples():
            y = names.index((row.law, row.price))
            colour, marker, _ = LOOKS[row.look]
            if row.look == "replaced":
                panel.plot(row.gain, y, marker, color=colour, alpha=0.5, markersize=5, **HOLLOW)
            else:
                _law(panel, row, y, colour, marker)
                _number(panel, row, y, colour)
        _level(panel)
        panel.set_title(title, fontsize=10.5)
        _room_for_numbers(panel, of_set)
        panel.set_yticks(range(len(names)), [f"{law}, {price:g}" for law, price in names])
        panel.set_ylim(len(names) - 0.5, -0.6)
    _law_keys(fig, ["law", "again", "first"])
    fig.supxlabel("points of accuracy, over no control", fontsize=10.5)
    return fig


LOOKS = {  # of a row: colour, marker, name in the legend
    "law": (OURS, "o", "law"),
    "again": (ATTACKER, "s", "law, adaptive: 700 new pairs"),
    "first": (INK, "o", "law, adaptive: first 300 pairs"),
    "replaced": (INK, "o", ""),
}


def _room_for_numbers(plot: Axes, gains: pd.DataFrame) -> None:
    """Limits and ticks that leave the right third to the numbers."""
    low = min(gains["low"].min(), gains["push"].min(), 0)
    high = max(gains["high"].max(), 0)
    span = high - low
    plot.set_xlim(low - 0.06 * span, high + 0.5 * span)
    ticks = MaxNLocator(3).tick_values(low, high)
    plot.set_xticks([tick for tick in ticks if low <= tick <= high])


def _law(plot: Axes, row, y: float, colour: str, marker: str = "o") -> None:
    """One law at one price on one set, hollow where nothing is shown; a cross: random pushes."""
    style = {} if row.answer in ("gain", "loss") else HOLLOW
    plot.plot([row.low, row.high], [y, y], color=colour, linewidth=1.5)
    plot.plot(row.gain, y, marker, color=colour, markersize=5, **style)
    plot.plot(row.push, y, "x", color=INK, markersize=6, markeredgewidth=1.3)


def _law_keys(fig: Figure, looks: Sequence[str]) -> None:
    handles = [_mark(LOOKS[look][2], *LOOKS[look][:2]) for look in looks]
    handles.insert(1, _mark("random push of its length", INK, "x"))
    style = dict(loc="outside upper center", ncols=2, fontsize=9.5, columnspacing=1)
    fig.legend(handles=handles, **style)


def gain_table(gains: pd.DataFrame, title: str, columns: Mapping[str, str]) -> Table:
    """Columns of a frame under new names, and gain, low and high as one; folded."""
    rows = []
    for _, row in gains.iterrows():
        record = {name: _cell(row[key]) for key, name in columns.items()}
        rows.append(record | {"points": _between(row["gain"], row["low"], row["high"])})
    return table(rows, title, folded=True)


def _cell(value: object) -> object:
    """A float in short; nothing where there is no number; the rest as it is."""
    if not isinstance(value, float):
        return value
    return None if pd.isna(value) else f"{value:.4g}".replace("-", "\N{MINUS SIGN}")


# --- Table 3: which terms -----------------------------------------------------------------------


def four_schemes(over_p: pd.DataFrame, totals: Mapping[str, Sequence[float]]) -> Figure:
    """Accuracy of four schemes over that of P, a model a panel, a line an attack.

    over_p: columns model, attack, scheme, points. totals: strengths of the schemes, by model.
    """
    fig = Figure(figsize=(WIDTH, 5.4), layout="constrained")
    panels = fig.subplots(2, 3, sharey=True)
    for panel, (model, of) in zip(panels.flat, over_p.groupby("model", sort=False), strict=False):
        ours = "ours" in model
        for attack, line in of.groupby("attack", sort=False):
            points = line.set_index("scheme")["points"][list(SCHEMES)]
            style = dict(color=OURS if ours else PAPER, marker=ATTACKS.get(attack, "o"))
            if attack == "clean":
                style = dict(color=INK, linestyle="--", marker="o", **HOLLOW)
            panel.plot(range(4), points, markersize=5.5, linewidth=1.3, **style)
        names = [f"{s}\n{total:g}" for s, total in zip(SCHEMES, totals[model], strict=True)]
        panel.set_xticks(range(4), names, fontsize=8.5)
        panel.axhline(0, color=INK, linewidth=0.8, zorder=0)
        panel.grid(axis="x", visible=False)
        panel.set_title(model, fontsize=10.5, weight="bold" if ours else "normal")
        panel.set_xlim(-0.3, 3.3)
    for panel in panels.flat[over_p["model"].nunique() :]:
        panel.set_axis_off()
    handles = [_mark(name, INK, shape) for name, shape in ATTACKS.items()]
    handles.append(Line2D([], [], color=PAPER, label="the paper, attacked"))
    handles.append(Line2D([], [], color=OURS, label="ours, attacked"))
    handles.append(
        Line2D([], [], color=INK, linestyle="--", marker="o", label="ours, clean", **HOLLOW)
    )
    panels.flat[-1].legend(handles=handles, loc="center", fontsize=9.5, borderpad=0)
    fig.supylabel("points of accuracy, over P", fontsize=10.5)
    fig.supxlabel("scheme, and the sum of its strengths", fontsize=10.5)
    return fig


# --- The step taken apart -----------------------------------------------------------------------


def steps(gains: pd.DataFrame) -> Figure:
    """Steps from control to control, an attack a panel; columns step, attack, gain, low, high."""
    fig = Figure(figsize=(WIDTH, 3.5), layout="constrained")
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
    panels[0].set_yticks(range(len(names)), names, fontsize=9.5)
    panels[0].set(ylim=(len(names) - 0.5, -0.8), xlim=(-19, 46), xticks=(-15, 0, 15))
    fig.supxlabel("points of accuracy gained by the step", fontsize=10.5)
    return fig


# --- One total strength, three sets of sentences ------------------------------------------------


def equal_total(means: pd.DataFrame) -> Figure:
    """Schemes against P at one total, three trainings a row.

    means: columns data, scheme, training, text, gain, low, high.
    """
    fig = Figure(figsize=(WIDTH, 5.2), layout="constrained")
    texts = list(dict.fromkeys(means["text"]))
    sets = list(dict.fromkeys(means["data"]))
    schemes = list(dict.fromkeys(means["scheme"]))
    panels = fig.subplots(1, len(texts), sharey=True, width_ratios=(24, 18))
    places = [len(schemes) * k + 0.4 * k for k in range(len(sets))]
    for panel, text in zip(panels, texts, strict=True):
        for row in means[means["text"] == text].itertuples():
            k = list(TRAININGS).index(row.training)
            y = places[sets.index(row.data)] + schemes.index(row.scheme) + 0.24 * (k - 1)
            style = {} if _shown(row) else HOLLOW
            panel.plot([row.low, row.high], [y, y], color=OURS, linewidth=1.3)
            panel.plot(row.gain, y, TRAININGS[row.training], color=OURS, markersize=5.5, **style)
        for place in places[1:]:
            panel.axhline(place - 0.7, color=INK, linewidth=0.6, alpha=0.6)
        _level(panel)
        panel.set_title(text, fontsize=10.5)
    rows = [f"{data}  {scheme}" for data in sets for scheme in schemes]
    heights = [place + k for place in places for k in range(len(schemes))]
    panels[0].set_yticks(heights, rows)
    panels[0].set_ylim(heights[-1] + 0.6, -0.6)
    handles = [_mark(name, OURS, shape) for name, shape in TRAININGS.items()]
    fig.legend(handles=handles, loc="outside upper center", ncols=3)
    fig.supxlabel("points of accuracy, over P", fontsize=10.5)
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
    fig = Figure(figsize=(WIDTH, 8.2), layout="constrained")
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
    fig.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=9.5)
    fig.supxlabel("threshold: share of the variance that each subspace holds, %", fontsize=10.5)
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
    fig = Figure(figsize=(WIDTH, 3.9), layout="constrained")
    panels = fig.subplots(1, 2, sharex=True, sharey=True)
    for panel, (threshold, of) in zip(panels, points.groupby("threshold", sort=False), strict=True):
        for control, line in of.groupby("control", sort=False):
            marker, dashes, style = PRICED[control]
            look = dict(color=OURS, marker=marker, linestyle=dashes, markersize=6) | style
            panel.plot(line["clean"], line["attacked"], label=control, **look)
            for row in line.itertuples():
                _price(panel, row)
        panel.plot(*none, "*", color=INK, markersize=12, label="no control", linestyle="")
        panel.set_title(f"threshold {threshold} %", fontsize=10.5)
    panels[0].set(xlim=(59, 86), ylim=(18, 56))
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
    """The price beside a mark, where there is room: all of the formula's, the ends of PMP's."""
    if row.control == "formula":
        offset = {0.001: (-22, 7), 0.1: (3, 7)}.get(row.price, (7, -3))
    elif row.control == "PMP, running cost" and row.price in (0.001, 10):
        offset = (-32, -6) if row.price < 1 else (-20, -4)
    elif row.control == "PMP, relaxed cost" and row.clean < 70:
        offset = (-4, -16)
    else:
        return
    style = dict(textcoords="offset points", fontsize=9, color=OURS, annotation_clip=True)
    plot.annotate(f"{row.price:g}", (row.clean, row.attacked), offset, **style)


# --- Laws and prices ----------------------------------------------------------------------------


def _rows(laws: Sequence[str], prices: Sequence[float]) -> tuple[dict, list[float], list[str]]:
    """Heights of (law, price); and of the tick labels, a law's name over its prices."""
    heights: dict[tuple[str, float], float] = {}
    ticks: list[float] = []
    labels: list[str] = []
    y = 0.0
    for law in laws:
        ticks.append(y)
        labels.append(law)
        for price in prices:
            y += 1
            heights[law, price] = y
            ticks.append(y)
            labels.append(f"c = {price:g}")
        y += 1.25
    return heights, ticks, labels


def _label_rows(plot: Axes, ticks: Sequence[float], labels: Sequence[str]) -> None:
    plot.set_yticks(ticks, labels, fontsize=9)
    for label in plot.get_yticklabels():
        if not label.get_text().startswith("c ="):
            label.set(weight="bold")
    plot.set_ylim(ticks[-1] + 0.7, -0.7)


def law_grid(gains: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Gains over no control, a set a panel with its own scale, laws and prices down.

    gains: columns law, price, set, gain, low, high, push, answer. titles: of each set.
    """
    laws = list(dict.fromkeys(gains["law"]))
    heights, ticks, labels = _rows(laws, list(dict.fromkeys(gains["price"])))
    fig = Figure(figsize=(WIDTH, 5.2), layout="constrained")
    fig.get_layout_engine().set(wspace=0.06)
    panels = fig.subplots(1, len(titles), sharey=True)
    for panel, (key, title) in zip(panels, titles.items(), strict=True):
        of_set = gains[gains["set"] == key]
        for row in of_set.itertuples():
            y = heights[row.law, row.price]
            _law(panel, row, y, OURS)
            _number(panel, row, y, OURS)
        _level(panel)
        panel.set_title(title, fontsize=10)
        _room_for_numbers(panel, of_set)
        _label_rows(panel, ticks, labels)
    _law_keys(fig, ["law"])
    fig.supxlabel("points of accuracy, over no control", fontsize=10.5)
    return fig


def kept_and_lost(separation: pd.DataFrame, sets: Mapping[str, str]) -> Figure:
    """Area under the curve, then the accuracy on some sets before and after new biases.

    separation: columns law, price, auc, push, and of each set SET and "SET, new biases"; the row
    "none" is drawn as lines. sets: titles of the sets.
    """
    none = separation[separation["law"] == "none"].iloc[0]
    laws = separation[separation["law"] != "none"]
    names = list(dict.fromkeys(laws["law"]))
    heights, ticks, labels = _rows(names, list(dict.fromkeys(laws["price"])))
    fig = Figure(figsize=(WIDTH, 5.2), layout="constrained")
    area, *shares = fig.subplots(1, 1 + len(sets), sharey=True)
    for _, row in laws.iterrows():
        y = heights[row["law"], row["price"]]
        area.plot([none["auc"], row["auc"]], [y, y], color=OURS, linewidth=1.5)
        area.plot(row["auc"], y, "o", color=OURS, markersize=5)
        area.plot(row["push"], y, "x", color=INK, markersize=6, markeredgewidth=1.3)
        for plot, key in zip(shares, sets, strict=True):
            before, after = row[key], row[f"{key}, new biases"]
            plot.plot([before, after], [y, y], color=OURS, linewidth=1.5)
            plot.plot(before, y, "o", color=OURS, markersize=5)
            plot.plot(after, y, "s", color=OURS, markersize=5.5, **HOLLOW)
    area.axvline(none["auc"], color=INK, linewidth=1)
    area.set_title("area under the curve", fontsize=10)
    for plot, (key, title) in zip(shares, sets.items(), strict=True):
        plot.axvline(none[key], color=INK, linewidth=1)
        plot.axvline(none[f"{key}, new biases"], color=INK, linewidth=1, linestyle="--")
        plot.set_title(title, fontsize=10)
        plot.set_xlabel("accuracy, %", fontsize=10)
    for plot in (area, *shares):
        plot.grid(axis="y", visible=False)
        plot.tick_params(axis="y", length=0)
    _label_rows(area, ticks, labels)
    handles = [
        _mark("law, as it answers", OURS, "o"),
        _mark("with biases fitted anew", OURS, "s", **HOLLOW),
        _mark("random push of its length", INK, "x"),
        Line2D([], [], color=INK, linewidth=1, label="no control (dashed: biases anew)"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=9)
    return fig
