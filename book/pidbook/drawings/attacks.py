"""Pictures of chapter 9: how attacks find their words, and what a swap does to the states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pidbook.drawings.states import state_name
from pidbook.figures import (
    ATTACKER,
    INK,
    LOSS,
    NOISE,
    OURS,
    PAPER,
    Table,
    page_and_plot,
    table,
)
from pidlib.data import LABELS

# --- One caption --------------------------------------------------------------------------------


def steps(
    pair: Mapping[str, object], before: Sequence[float], tried: Sequence[Mapping[str, object]]
) -> Figure:
    """Probabilities of the three answers as written and after each replaced word.

    Each of tried has attack, questions, status, changes (old and new word) and probabilities,
    (steps, 3).
    """
    right = int(pair["label"])
    fig, plot = page_and_plot(5.9, xlim=(0, 1), xlabel="probability: right grey, wrong red")
    ticks = {0.0: "as written"}
    _answers(plot, 0.0, before, right)
    y = 1.0
    for attack in tried:
        heading = f"{attack['attack']}: {attack['questions']} questions"
        if attack["status"] == "skipped":
            heading = f"{attack['attack']}: skipped, the answer is wrong as written"
        elif attack["status"] == "failed":
            heading += ", failed"
        plot.text(0.01, y + 0.05, heading, va="center", weight="bold", fontsize=11)
        y += 0.8
        for k, (old, new) in enumerate(attack["changes"]):
            _answers(plot, y, attack["probabilities"][k], right)
            ticks[y] = f"{'and ' if k else ''}{old} → {_bold_foreign(new)}"
            y += 1
    plot.set(yticks=list(ticks), yticklabels=list(ticks.values()), ylim=(y - 0.5, -0.5))
    plot.grid(visible=False)
    plot.spines["left"].set_visible(False)
    words = "|".join(re.escape(old) for attack in tried for old, _ in attack["changes"])
    text = "\n".join(fill(f"{name}: {pair[name]}", 62) for name in ("premise", "hypothesis"))
    title = re.sub(rf"\b({words})\b", r"$\\bf{\1}$", text)
    fig.suptitle(title, x=0.02, ha="left", fontsize=10.7)
    return fig


def _answers(plot, y: float, probabilities: Sequence[float], right: int) -> None:
    """One bar of three parts: the right answer grey, the others red, pale and deep."""
    left = 0.0
    alphas = {right: 0.35}
    alphas |= dict(zip([k for k in range(3) if k != right], (0.3, 0.6), strict=True))
    for k, alpha in sorted(alphas.items(), key=lambda item: item[0] != right):
        size = float(probabilities[k])
        colour = INK if k == right else LOSS
        plot.barh(y, size, left=left, color=colour, alpha=alpha, height=0.76)
        if size > 0.3:
            plot.text(left + size / 2, y, LABELS[k], ha="center", va="center", color=INK)
        left += size


def _bold_foreign(word: str) -> str:
    """Letters that are not Latin in bold: they look like Latin ones."""
    return re.sub(r"([^\x00-\x7f])", r"$\\bf{\1}$", word)


def steps_table(before: Sequence[float], tried: Sequence[Mapping[str, object]]) -> Table:
    """The same probabilities, a step a row."""
    rows = [_row("", "as written", before)]
    for attack in tried:
        pairs = zip(attack["changes"], attack["probabilities"], strict=True)
        rows += [_row(attack["attack"], f"{old} → {new}", values) for (old, new), values in pairs]
    return table(rows, "Probabilities, step by step", digits=2, folded=True)


def _row(attack: str, step: str, probabilities: Sequence[float]) -> dict:
    named = {name: float(p) for name, p in zip(LABELS, probabilities, strict=True)}
    return {"attack": attack, "step": step} | named


# --- How many words are replaced ------------------------------------------------------------------


def words_replaced(shares: Mapping[str, Sequence[float]], data: str) -> Figure:
    """Attack to shares of its successes, %: one replaced word, two, three or more."""
    pairs = data if data == "captions" else f"pairs of {data}"
    fig, plot = page_and_plot(2.9, xlim=(0, 100), xlabel=f"share of the {pairs} that it turned, %")
    names = ("one word", "two", "more")
    for y, parts in enumerate(shares.values()):
        left = 0.0
        for part, alpha, name in zip(parts, (0.6, 0.35, 0.15), names, strict=True):
            plot.barh(y, part, left=left, color=ATTACKER, alpha=alpha, height=0.7)
            place = dict(ha="center", va="center", color=INK)
            if name != "more":
                plot.text(left + part / 2, y, f"{part:.0f} %", **place)
            if y == 0:
                plot.text(left + part / 2, -0.62, name, **place)
            left += part
    plot.set(yticks=range(len(shares)), yticklabels=list(shares))
    plot.set_ylim(len(shares) - 0.5, -0.95)
    plot.grid(visible=False)
    return fig


def words_replaced_table(
    shares: Mapping[str, Sequence[float]], succeeded: Mapping[str, int], data: str
) -> Table:
    """The same shares, and how many attacks succeeded, an attack a row."""
    rows = []
    for attack, (one, two, more) in shares.items():
        row = {"attack": attack, "succeeded": succeeded[attack]}
        rows.append(row | {"one word": one, "two words": two, "three or more": more})
    title = f"Replaced words of the attacks that succeed on {data}, %"
    return table(rows, title, digits=1, folded=True)


# --- Accuracy under attack ----------------------------------------------------------------------


def accuracy(paper: pd.DataFrame, ours: Mapping[str, float], data: str) -> Figure:
    """Accuracy of models without control, %: the paper's (attack by model) and ours, by attack."""
    fig, plot = page_and_plot(3.9, xlim=(0, 100), xlabel=f"accuracy on {data} without control, %")
    for y, (attack, mine) in enumerate(ours.items()):
        printed = paper.loc[attack]
        hollow = dict(color=PAPER, markerfacecolor="none", linestyle="", markeredgewidth=1.8)
        for model, value in printed.items():
            large = model == "BERT-large"
            plot.plot(value, y, marker="D" if large else "o", markersize=8, **hollow)
        plot.plot(mine, y, "o", color=OURS, markersize=10)
        plot.text(mine, y - 0.32, f"{mine:.1f}", color=OURS, ha="center", va="center")
    names = ["no attack" if attack == "None" else attack for attack in ours]
    plot.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.65))
    plot.grid(axis="y", visible=False)
    looks = {
        "MiniLM, ours": dict(marker="o", color=OURS, markersize=10, linestyle=""),
        "three models, paper": dict(marker="o", markersize=8, **hollow),
        "BERT-large, paper": dict(marker="D", markersize=8, **hollow),
    }
    handles = [plot.plot([], [], label=name, **look)[0] for name, look in looks.items()]
    fig.legend(
        handles=handles, loc="outside upper center", ncols=3, handletextpad=0.2, fontsize=10.5
    )
    return fig


def accuracy_table(paper: pd.DataFrame, ours: Mapping[str, float], data: str) -> Table:
    """The same numbers, an attack a row."""
    rows = []
    for attack, mine in ours.items():
        name = "no attack" if attack == "None" else attack
        rows.append({"attack": name, "MiniLM, ours": mine} | paper.loc[attack].to_dict())
    return table(rows, f"Accuracy on {data} without control, %", digits=1, folded=True)


def outcomes_table(counts: Mapping[tuple[str, str], object]) -> Table:
    """(data, attack) to counts: outcomes, rates, and medians of words and questions."""
    rows = []
    for (data, attack), found in counts.items():
        row = {"data": data, "attack": attack, "n": found.n, "succeeded": found.succeeded}
        row |= {"failed": found.failed, "skipped": found.skipped}
        row |= {"before %": 100 * found.clean / found.n, "after %": 100 * found.attacked / found.n}
        row |= {"success %": 100 * found.succeeded / found.clean}
        rows.append(row | {"words": int(found.words_changed), "questions": int(found.queries)})
    title = "Outcomes; accuracy before and after; success rate; median words and questions"
    return table(rows, title, digits=1, folded=True)


# --- The states ---------------------------------------------------------------------------------


def error_lengths(lines: Mapping[tuple[str, str], np.ndarray], two_words: np.ndarray) -> Figure:
    """(attack, which words) to the length of the error by state, (T + 1,), in lengths of the state.

    two_words is the same of the difference between two clean words.
    """
    fig, plot = page_and_plot(4.4, ylabel="length of the error /\nlength of the state")
    plot.plot(two_words, ":", color=INK, linewidth=2)
    looks = {}  # by attack, in their order
    for (attack, words), line in lines.items():
        look = looks.setdefault(attack, ("o-", "s--", "^-.", "D:")[len(looks) % 4])
        colour = LOSS if words == "replaced" else INK
        plot.plot(line, look, color=colour, markersize=6)
    bold = dict(ha="center", va="center", weight="bold")
    plot.text(2.5, 0.78, "the replaced words", color=LOSS, **bold)
    plot.text(2.2, 0.36, "all other words", color=INK, **bold)
    plot.text(2.5, two_words[2:4].mean() + 0.1, "two clean words", color=INK, ha="center")
    plot.set_ylim(0, None)
    plot.set_xticks(range(len(two_words)), [f"$x_{t}$" for t in range(len(two_words))], fontsize=14)
    handles = [
        plot.plot([], [], look, color=INK, markersize=6, label=name)[0]
        for name, look in looks.items()
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return fig


def error_lengths_table(
    lines: Mapping[tuple[str, str], np.ndarray], two_words: np.ndarray
) -> Table:
    """The same lengths, a line a row."""
    rows = []
    named = {f"{attack}, {words}": line for (attack, words), line in lines.items()}
    for name, line in (named | {"two clean words": two_words}).items():
        row = {"words": name}
        rows.append(row | {state_name(t): float(number) for t, number in enumerate(line)})
    title = "Length of the error, in lengths of the state"
    return table(rows, title, digits=2, folded=True)


def outside(means: pd.DataFrame) -> Figure:
    """Share of the squared length outside, %, by subspace and by kind of vector."""
    fig, plot = page_and_plot(3.9, xlim=(0, 100), xlabel="share of the squared length outside, %")
    inks = {"replaced word": LOSS, "two clean words": INK, "random vector, expected": NOISE}
    ticks = {}
    y = 0.0
    for subspace, row in means.iterrows():
        plot.text(1, y + 0.05, subspace, va="center", weight="bold", fontsize=11)
        y += 0.8
        for name, ink in inks.items():
            plot.barh(y, 100, color=INK, alpha=0.16, height=0.76)
            plot.barh(y, row[name], color=ink, height=0.76)
            plot.text(row[name] + 1.5, y, f"{row[name]:.1f} %", va="center", color=INK)
            ticks[y] = name.replace(", ", ",\n")
            y += 1
    plot.set(yticks=list(ticks), yticklabels=list(ticks.values()), ylim=(y - 0.5, -0.4))
    plot.grid(visible=False)
    return fig


def adaptive_change(changes: pd.DataFrame) -> Figure:
    """Change of the share outside, adaptive less bare model, in points: one dot an attack."""
    fig, plot = page_and_plot(1.9, xlabel="change of the share outside, points")
    plot.axvline(0, color=INK, linewidth=1.2)
    for y, row in enumerate(changes.itertuples()):
        plot.plot([row.low, row.high], [y, y], color=ATTACKER, linewidth=2)
        plot.plot(row.change, y, "o", color=ATTACKER, markersize=8)
        words = f"{row.bare:.1f} % → {row.adaptive:.1f} %"
        plot.annotate(
            words,
            (1.02, y),
            xycoords=("axes fraction", "data"),
            va="center",
            color=INK,
            annotation_clip=False,
        )
    side = 1.25 * max(2.0, changes[["low", "high"]].abs().max().max())
    plot.set(xlim=(-side, side), ylim=(len(changes) - 0.4, -0.6))
    plot.set(yticks=range(len(changes)), yticklabels=list(changes["attack"]))
    plot.grid(axis="y", visible=False)
    return fig


def adaptive_table(changes: pd.DataFrame, threshold: float, confidence: float) -> Table:
    """The shares under both searches, and their change, an attack a row."""
    title = "Captions turned twice: share outside, averaged over P and D "
    title += f"at {100 * threshold:g} %, in %; change with {confidence:g} % interval"
    return table(changes.to_dict("records"), title, digits=1, folded=True)


def outside_tables(
    means: pd.DataFrame, by_state: Mapping[str, pd.DataFrame], threshold: float
) -> Iterable[Table]:
    """The means, and each state; the subspaces are fitted at the threshold."""
    at = f"at {100 * threshold:g} %"
    title = f"Share of the squared length outside the subspaces {at}, in %, mean over the states"
    yield table(means.reset_index().to_dict("records"), title, digits=1, folded=True)
    for subspace, shares in by_state.items():
        rows = shares.reset_index().to_dict("records")
        yield table(rows, f"{subspace} {at}: the share state by state, %", digits=1, folded=True)
