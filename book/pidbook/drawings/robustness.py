"""Pictures and tables of chapter 10, the paper on real models, and the adaptive attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pidbook.figures import (
    ATTACKER,
    INK,
    LOSS,
    NOISE,
    OURS,
    PAPER,
    Table,
    radar_choice,
    signed,
    table,
    tidy,
    verdict_words,
    with_interval,
)
from pidlib.data import LABELS

TEXTS = ("clean", "A2T", "PSO", "TextBugger", "TextFooler")


# --- Radars ---------------------------------------------------------------------------------------


def radars(frames: Mapping[tuple[str, str, str], Mapping[str, Sequence[float]]]) -> go.Figure:
    """Accuracies, five each, of the model, the data and the training that a reader chooses."""
    figure = radar_choice(TEXTS, frames, ["model", "data", "training"])
    bare, transfer, adaptive = figure.data
    bare.update(line=dict(width=8, dash="solid"), marker_size=14, opacity=0.5)
    adaptive.update(line=dict(width=2.5, dash="dash"), fill="none")
    figure.update_polars(radialaxis=dict(angle=-54, tickangle=-54))
    return tidy(figure, 2)


def radar_table(frames: Mapping[tuple[str, str, str], Mapping[str, Sequence[float]]]) -> Table:
    """Accuracies of the outlines that are shown first, and of the next model's beside, open."""
    model, data, training = next(iter(frames))
    other = next(name for name, *_ in frames if name != model)
    rows = []
    for who in (model, other):
        for name, cells in frames[who, data, training].items():
            rows.append({"model": who, "": name} | dict(zip(TEXTS, cells, strict=True)))
    return table(rows, f"{data}, {training} training: accuracy in %", 1, folded=False)


# --- Two pairs ------------------------------------------------------------------------------------

LINES = (("as written", INK), ("attacked", INK), ("attacked,\nwith control", OURS))


def pairs(
    written: Sequence[Mapping],
    attacked: Sequence[Mapping],
    answers: Sequence[np.ndarray],
    attack: str,
) -> Figure:
    """Probability of the right answer of each pair, as written, attacked, and with control.

    answers: (3, labels) a pair, the probabilities of all answers in these three cases.
    """
    fig = Figure(figsize=(5.6, 0.4 + 2.9 * len(written)), layout="constrained")
    fig.get_layout_engine().set(hspace=0.1)
    panels = fig.subplots(len(written), 1, squeeze=False)[:, 0]
    for panel, row, changed, shares in zip(panels, written, attacked, answers, strict=True):
        for y, (share, (_, colour)) in enumerate(zip(shares, LINES, strict=True)):
            right, given = share[row["label"]], share.argmax()
            panel.barh(y, right, 0.65, color=(colour, 0.4), edgecolor=colour)
            panel.text(right + 0.015, y, f"{right:.2f}", color=colour, va="center", fontsize=11)
            word = dict(color=INK if given == row["label"] else LOSS, va="center", fontsize=11)
            panel.text(1.19, y, list(LABELS)[given], **word)
        panel.text(1.19, -0.75, "it answers", fontsize=10.5)
        panel.set_title(_sentences(row, changed, attack), x=-0.28, ha="left", fontsize=10.5)
        panel.set(yticks=range(3), yticklabels=[name for name, _ in LINES], ylim=(2.5, -0.5))
        panel.set(xlim=(0, 1.15), xticks=(0, 0.5, 1))
        panel.grid(visible=False)
        panel.set_xlabel("probability of the right answer", fontsize=11)
    return fig


def _sentences(row: Mapping, changed: Mapping, attack: str) -> str:
    """Premise, hypothesis and its attacked form, the words that differ in bold."""
    lines = [f"premise: {row['premise']}"]
    if changed["premise"] != row["premise"]:
        lines.append(f"premise after {attack}: {_marked(changed, row, 'premise')}")
    lines.append(f"hypothesis: {_marked(row, changed, 'hypothesis')}")
    lines.append(f"after {attack}: {_marked(changed, row, 'hypothesis')}")
    return "\n".join(lines)


def _marked(row: Mapping, other: Mapping, text: str) -> str:
    """A text of a row, in bold the words that the other row's lacks."""
    kept = other[text].split()
    words = (word if word in kept else rf"$\mathbf{{{word}}}$" for word in row[text].split())
    return " ".join(words).replace("-", "\N{NON-BREAKING HYPHEN}")


# --- The push -------------------------------------------------------------------------------------


def push(outside: float) -> Figure:
    """Three drawings of one idea; `outside` is the share of the attack's squared length."""
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(150, 2)) * (1, 0.1)
    cloud = cloud[abs(cloud[:, 0]) < 3]
    tilt = np.arcsin(outside**0.5)
    clean = np.array([-0.9, 0.05])
    attacked = clean + 1.9 * np.array([np.cos(tilt), np.sin(tilt)])
    inside = attacked * (1, 0)
    heads = (
        "1. See: clean states lie near a subspace, here the line",
        "2. Measure: how far outside is a state?",
        "3. Push: back onto the line",
    )
    fig = Figure(figsize=(5.6, 4.4), layout="constrained")
    panels = fig.subplots(3, 1)
    for panel, head in zip(panels, heads, strict=True):
        panel.plot(
            *cloud.T, "o", color=INK, ms=3.5, mew=0, alpha=0.6 if panel is panels[0] else 0.35
        )
        panel.axhline(0, color=INK, lw=1)
        panel.set_axis_off()
        panel.set_title(head, loc="left", fontsize=11.5, weight="bold")
        panel.set(xlim=(-3, 3), ylim=(-0.4, 0.95), aspect="equal")
    _measured(panels[1], clean, attacked, inside)
    _pushed(panels[2], clean, attacked, inside)
    return fig


def _arrow(panel: Axes, start: np.ndarray, end: np.ndarray, style: str = "-|>", **look) -> None:
    shape = dict(arrowstyle=style, shrinkA=0, shrinkB=0, lw=2, mutation_scale=14)
    panel.annotate("", end, start, arrowprops=shape | look)


def _measured(panel: Axes, clean: np.ndarray, attacked: np.ndarray, inside: np.ndarray) -> None:
    _arrow(panel, clean, attacked, color=INK)
    panel.plot(*clean, "o", color=INK, ms=8)
    panel.plot(*attacked, "o", color=INK, ms=8)
    panel.plot(*zip(attacked, inside, strict=True), ":", color=INK, lw=2)
    panel.text(attacked[0] + 0.1, attacked[1] / 2, "outside part", va="center")
    middle = (clean + attacked) / 2
    panel.text(middle[0] - 0.15, middle[1] + 0.12, "an attack moves it", ha="right")
    panel.text(clean[0] - 0.1, 0.2, "clean state", ha="right")


def _pushed(panel: Axes, clean: np.ndarray, attacked: np.ndarray, inside: np.ndarray) -> None:
    _arrow(panel, clean, attacked, color=INK, alpha=0.35)
    panel.plot(*clean, "o", color=INK, ms=8)
    panel.plot(*attacked, "o", color=INK, ms=8, alpha=0.35)
    _arrow(panel, attacked, inside, color=OURS)
    panel.plot(*inside, "o", color=OURS, ms=8)
    panel.text(attacked[0] + 0.1, attacked[1] / 2, "the control", va="center", color=OURS)
    below = np.array([0, 0.28])
    _arrow(panel, clean * (1, 0) - below, inside - below, "<->", color=INK)
    panel.text(0, -0.35, "still away from the clean state", ha="center", va="top")


# --- Tables 8 and 9 -------------------------------------------------------------------------------


def gains(published: pd.DataFrame, ours: pd.DataFrame, pushed: pd.DataFrame) -> Figure:
    """A panel a training: gains of the paper's models, and of ours with its interval, text by text.

    Columns: model, training, text, gain; ours: low and high, too. pushed: text and gain of a random
    push on our model after standard training.
    """
    fig = Figure(figsize=(5.8, 4.9), layout="constrained")
    trainings = list(dict.fromkeys(ours["training"]))
    panels = fig.subplots(1, len(trainings), sharey=True, sharex=True)
    for panel, training in zip(panels, trainings, strict=True):
        theirs = published[published["training"] == training]
        for text, rows in theirs.groupby("text"):
            y = [TEXTS.index(text) + 0.22] * len(rows)
            look = dict(marker="D", markersize=4.5, fillstyle="none", linestyle="")
            panel.plot(rows["gain"], y, color=PAPER, label="the paper's four models", **look)
        for row in ours[ours["training"] == training].itertuples():
            y = TEXTS.index(row.text) - 0.1
            panel.plot([row.low, row.high], [y, y], color=OURS, linewidth=2)
            panel.plot(row.gain, y, "o", color=OURS, markersize=7, label="MiniLM (ours)")
            _above(panel, y, row)
        if training == "standard":
            y = [TEXTS.index(text) + 0.05 for text in pushed["text"]]
            look = dict(color=NOISE, markersize=7, markeredgewidth=1.8, linestyle="")
            panel.plot(pushed["gain"], y, marker="x", label="random push (ours)", **look)
        panel.axvline(0, color=INK, linewidth=1)
        panel.axhline(0.48, color=INK, linewidth=0.5, alpha=0.4)
        panel.set(xlim=(-23, 41), xticks=(-10, 0, 10, 20, 30), ylim=(4.45, -0.65))
        panel.set_title(training, fontsize=12, weight="bold")
        panel.grid(axis="y", visible=False)
        panel.tick_params(axis="y", length=0)
        panel.tick_params(axis="x", labelsize=10.2)
    panels[0].set_yticks(range(len(TEXTS)), TEXTS, fontsize=11.5)
    marks = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
    fig.legend(marks.values(), marks, loc="outside upper center", ncols=3, columnspacing=1)
    fig.supxlabel("gain of P-D control over the bare model, in points", fontsize=11)
    return fig


def _above(panel: Axes, y: float, row) -> None:
    """The gain as a number above its mark, clear of the line at 0."""
    x, ha = (float(np.clip(row.gain, 9.5, 29)), "center") if row.gain > 0 else (-2.5, "right")
    panel.text(x, y - 0.08, signed(row.gain), color=OURS, ha=ha, va="bottom", fontsize=10.5)


def arrows(who: str, cell) -> str:
    """Accuracy without control and with it, in two digits where the paper prints it, else in one."""
    digits = 1 if "ours" in who else 2
    return f"{cell.base:.{digits}f} \N{RIGHTWARDS ARROW} {cell.controlled:.{digits}f}"


def accuracy_tables(published: pd.DataFrame, ours: pd.DataFrame, data: str) -> list[Table]:
    """One table a training: a row a model, a column a text."""
    tables = []
    for training in dict.fromkeys(ours["training"]):
        both = pd.concat([published, ours])
        title = f"{data}, training {training}: accuracy in %, bare \N{RIGHTWARDS ARROW} controlled"
        tables.append(table(_models(both[both["training"] == training]), title, folded=True))
    return tables


def _models(accuracy: pd.DataFrame) -> list[dict[str, str]]:
    """A row a model: its name, then bare and controlled accuracy for each text."""
    rows = []
    for model, cells in accuracy.groupby("model", sort=False):
        row = {"model": model}
        for cell in cells.itertuples():
            row[cell.text] = arrows(model, cell)
        rows.append(row)
    return rows


def gains_list(ours: pd.DataFrame, data: str, by: str = "training") -> Table:
    """Our gains, intervals and verdicts; the first column says of which training, or model."""
    rows = []
    for row in ours.itertuples():
        cells = {by: getattr(row, by), "text": row.text, "n": f"{int(row.n):,}"}
        cells["gain, points"] = with_interval(row.gain, row.low, row.high)
        cells |= {"won": int(row.won), "lost": int(row.lost), "verdict": verdict_words(row.answer)}
        rows.append(cells)
    return table(rows, f"Our gains on {data}, with 95 % intervals", folded=True)


# --- Table 2 --------------------------------------------------------------------------------------

ANLI = {  # whose gains: colour, mark
    "paper, dev": (PAPER, "o"),
    "paper, test": (PAPER, "s"),
    "ours, dev": (OURS, "o"),
}


def anli(gains: pd.DataFrame) -> Figure:
    """Gains with intervals in each round; columns who, round, gain, low, high."""
    fig = Figure(figsize=(5.6, 3.8), layout="constrained")
    plot = fig.add_subplot(xlabel="gain over the bare model, in points")
    rounds = list(dict.fromkeys(gains["round"]))
    for k, (who, (colour, mark)) in enumerate(ANLI.items()):
        rows = gains[gains["who"] == who]
        y = [rounds.index(of) + 0.22 * (k - 1) for of in rows["round"]]
        ends = [rows["gain"] - rows["low"], rows["high"] - rows["gain"]]
        look = dict(color=colour, marker=mark, linestyle="", capsize=3, label=who)
        plot.errorbar(rows["gain"], y, xerr=ends, **look)
    plot.set(yticks=range(len(rounds)), yticklabels=rounds, ylim=(len(rounds) - 0.5, -0.5))
    plot.axvline(0, color=INK, linewidth=1)
    plot.grid(axis="y", visible=False)
    plot.tick_params(axis="y", length=0)
    fig.legend(loc="outside upper center", ncols=3)
    return fig


def anli_tables(gains: pd.DataFrame) -> list[Table]:
    """Accuracies by round, open; gains with intervals, folded."""
    shown, listed = [], []
    for who, rows in gains.groupby("who", sort=False):
        row = {"accuracy in %": who}
        for cell in rows.itertuples():
            row[cell.round] = arrows(who, cell)
            gain = with_interval(cell.gain, cell.low, cell.high)
            listed.append({"": who, "round": cell.round, "gain": gain})
        shown.append(row)
    title = "ANLI: bare \N{RIGHTWARDS ARROW} controlled"
    folded = table(listed, "Gains in points, with 95 % intervals", folded=True)
    return [table(shown, title, folded=False), folded]


# --- Table 1 --------------------------------------------------------------------------------------


def decoders(accuracy: pd.DataFrame, chance: float) -> Figure:
    """A panel a model: accuracy without control (hollow) and with it (full), text by text."""
    fig = Figure(figsize=(5.6, 5.4), layout="constrained")
    fig.get_layout_engine().set(hspace=0.06)
    panels = fig.subplots(2, 2, sharex=True, sharey=True).flat
    groups = accuracy.groupby("model", sort=False)
    for panel, (model, rows) in zip(panels, groups, strict=True):
        colour = PAPER if "OPT" in model else OURS
        panel.axvline(chance, color=INK, linestyle=":", linewidth=1.5)
        for row in rows.itertuples():
            y = TEXTS.index(row.text)
            line = dict(arrowstyle="-", color=colour, lw=3, shrinkA=4.5, shrinkB=0)
            panel.annotate("", (row.controlled, y), (row.base, y), arrowprops=line)
            panel.plot(row.base, y, "o", color=colour, markersize=8, markerfacecolor="none")
            panel.plot(row.controlled, y, "o", color=colour, markersize=8)
            change = signed(row.gain, 0)
            panel.text(137, y, change, color=colour, fontsize=12, ha="right", va="center")
        panel.set_title(model, fontsize=11.5)
        panel.set(xlim=(-5, 139), ylim=(4.5, -0.5), xticks=[0, 50, 100])
        panel.set_yticks(range(len(TEXTS)), TEXTS)
        panel.tick_params(labelsize=11.5, labelbottom=True)
        panel.grid(visible=False)
    label = "accuracy in %, and its change in points; dotted: chance"
    fig.supxlabel(label, fontsize=11.5, color=INK)
    look = dict(color=INK, marker="o", markersize=8, linestyle="")
    marks = [
        Line2D([], [], markerfacecolor="none", label="bare model", **look),
        Line2D([], [], label="under control", **look),
    ]
    fig.legend(handles=marks, loc="outside upper center", ncols=2, fontsize=12)
    return fig


def decoders_table(accuracy: pd.DataFrame) -> Table:
    """Accuracies of the decoders, folded."""
    title = "Decoders: accuracy in %, bare \N{RIGHTWARDS ARROW} controlled"
    return table(_models(accuracy), title, folded=True)


# --- Bars -----------------------------------------------------------------------------------------

WHO = {"the control": OURS, "a random push": NOISE, "random push": NOISE, "bare model": INK}


def bars(
    gains: pd.DataFrame,
    xlabel: str,
    xlim: tuple[float, float],
    height: float,
    of: str = "gain",
    ylabel: str = "",
) -> Figure:
    """A bar for each row and contender; columns row, who, `of`, low, high.

    The first row says whose bars they are.
    """
    fig = Figure(figsize=(5.3, height), layout="constrained")
    plot = fig.add_subplot()
    contenders = list(dict.fromkeys(gains["who"]))
    step = 0.84 / len(contenders)
    rows = list(dict.fromkeys(gains["row"]))
    for cell in gains.itertuples():
        offset = contenders.index(cell.who) - (len(contenders) - 1) / 2
        y = rows.index(cell.row) + step * offset
        colour, value = WHO[cell.who], getattr(cell, of)
        plot.barh(y, value, 0.88 * step, color=colour, alpha=0.8)
        plot.plot([cell.low, cell.high], [y, y], color=INK, linewidth=1.4)
        text = signed(value) if of == "gain" else f"{value:.0f} %"
        if cell.row == rows[0]:
            text += f"  {cell.who}"
        end, away, ha = (cell.high, 6, "left") if value > 0 else (cell.low, -6, "right")
        look = dict(color=colour, va="center", textcoords="offset points", fontsize=12.5)
        plot.annotate(text, (end, y), (away, 0), ha=ha, **look)
    _rows(plot, rows)
    plot.axvline(0, color=INK, linewidth=1)
    plot.set(ylim=(len(rows) - 0.5, -0.5), xlim=xlim)
    plot.set_xlabel(xlabel, fontsize=12)
    plot.set_ylabel(ylabel, fontsize=12, color=INK)
    return fig


def _rows(plot: Axes, names: Sequence[str]) -> None:
    """Names of the rows of bars, without ticks or lines."""
    plot.set_yticks(range(len(names)), names, fontsize=12.5)
    plot.tick_params(axis="y", length=0)
    plot.grid(axis="y", visible=False)
    plot.spines["left"].set_visible(False)


def shares_table(shares: pd.DataFrame, title: str) -> Table:
    """The shares beneath `bars`, with their intervals."""
    rows = []
    for cell in shares.to_dict("records"):
        number = with_interval(cell["share"], cell["low"], cell["high"]).replace("+", "")
        rows.append({"pairs": cell["row"].replace("\n", ", "), "with": cell["who"], "%": number})
    return table(rows, title, folded=True)


def leaning(shares: pd.DataFrame) -> Figure:
    """A panel a text, in it a bar for each model; columns text, who, share; entailed, dotted."""
    fig = Figure(figsize=(5.6, 5.2), layout="constrained")
    groups = shares.groupby("text", sort=False)
    panels = fig.subplots(groups.ngroups, 1, sharex=True)
    for panel, (text, rows) in zip(panels, groups, strict=True):
        right = rows["entailed"].iloc[0]
        for y, row in enumerate(rows.itertuples()):
            colour = WHO.get(row.who, OURS)
            panel.barh(y, row.share, 0.72, color=colour, alpha=0.8)
            x = right if right - 7 < row.share < right else row.share  # clear of the dotted line
            panel.text(x + 1, y, f"{row.share:.0f} %", color=colour, va="center", size=12.5)
        panel.axvline(right, color=INK, linestyle=":", linewidth=2)
        panel.text(right + 1, -0.75, f"right: {right:.0f} %", color=INK, fontsize=11.5, va="center")
        _rows(panel, list(rows["who"]))
        panel.set(ylim=(len(rows) - 0.5, -1.1), xlim=(0, 80))
        name = "clean text" if text == "clean" else f"after {text}"
        panel.set_title(name, loc="left", fontsize=13, weight="bold")
    panels[-1].set_xlabel("answers that are entailment, %", fontsize=12)
    return fig


# --- The headline ---------------------------------------------------------------------------------

HEADLINE = {  # name: colour, size and weight of the number
    "the control, transfer": (OURS, 17, "bold"),
    "a random push of its length": (NOISE, 13, "normal"),
    "a second model, no control": (INK, 13, "normal"),
    "the control, adaptive attack": (ATTACKER, 17, "bold"),
}


def headline(gains: Mapping[str, pd.DataFrame]) -> Figure:
    """Four bars under each attack; the names of `HEADLINE` to rows, an attack each."""
    fig = Figure(figsize=(5.6, 6.6), layout="constrained")
    plot = fig.add_subplot()
    attacks = list(next(iter(gains.values()))["text"])
    for k, (name, rows) in enumerate(gains.items()):
        for group, row in enumerate(rows.itertuples()):
            y = 1.4 * group + 0.29 * (k - 1.5)
            _bar(plot, y, row, name if group == 0 else "", *HEADLINE[name])
    plot.set_yticks([1.4 * group for group in range(len(attacks))], attacks, fontsize=13.5)
    plot.tick_params(axis="y", length=0)
    plot.axvline(0, color=INK, linewidth=1)
    plot.grid(axis="y", visible=False)
    plot.spines[:].set_visible(False)
    plot.set(xlim=(-3, 41), xticks=[0, 10, 20, 30], ylim=(1.4 * len(attacks) - 0.7, -0.75))
    plot.set_xlabel("accuracy gained, in points", fontsize=12.5)
    return fig


def _bar(plot: Axes, y: float, row, name: str, colour: str, size: int, weight: str) -> None:
    """A bar, its interval, its number, and what it is; one without a colour is hollow."""
    face = "none" if colour == INK else colour
    plot.barh(y, row.gain, 0.25, facecolor=face, edgecolor=colour)
    plot.plot([row.low, row.high], [y, y], color=INK, linewidth=1.6)
    beside = dict(color=colour, va="center", textcoords="offset points")
    look = dict(fontsize=size, weight=weight)
    number = plot.annotate(signed(row.gain), (row.high, y), (8, 0), **look, **beside)
    plot.annotate(name, (1, 0.5), (7, 0), number, fontsize=12, **beside)


def headline_table(gains: Mapping[str, pd.DataFrame]) -> Table:
    """The numbers beneath `headline`."""
    rows = []
    for cells in zip(*(of.itertuples() for of in gains.values()), strict=True):
        row = {"": cells[0].text}
        for name, of in zip(gains, cells, strict=True):
            row[name] = with_interval(of.gain, of.low, of.high)
        rows.append(row | {"verdict, adaptive": verdict_words(cells[-1].answer)})
    return table(rows, "Gains in points, with 95 % intervals", folded=True)
