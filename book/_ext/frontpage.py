"""Directives and a role of the front page: computed while the book is built."""

from __future__ import annotations

import re

import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from bookfigures import as_box, captioned, named, recorded
from contents import table
from provenance import box

SIDES = {"good": "holds", "bad": "fails", "open": "open"}  # classes of the style sheet
SOURCES = (
    "exact-snli-test-minilm-nli.json",
    "wiener-snli-test-minilm-nli-encoded.json",
    "wiener-snli-test-minilm-nli.json",
)  # a later file's rows stand for an earlier one's
COLUMNS = {
    "exact, all words": "every swap tried",
    "clean": "text as written",
    "edited": "one word turns the meaning",
}


class ResultsCard(SphinxDirective):
    """The card of one recorded trial, P-D control under TextFooler, with the contrast set.

    In the body, printed beneath it, `{most}` is the highest gain that the adaptive trial allows.
    """

    required_arguments = 1
    has_content = True

    def run(self):
        from pidbook.evaluation.contrast import RESULT as CONTRAST  # slow to import
        from pidbook.evaluation.recorded_trial import recorded_trial

        name = self.arguments[0]
        result, contrast = recorded(self.env, name, CONTRAST)
        trial = recorded_trial(result, "textfooler")
        n = f"(n = {len(trial.right['control']['adaptive'])})"
        text = trial.card("P-D control at 99 %, MiniLM, SNLI").replace("points [", "[")
        text = text.replace("sees it?", f"sees it? {n}").replace(
            "? | | | |", contrast_cells(contrast)
        )
        text = re.sub(r"(?<=[ \[])-(?=\d)", "−", text.replace("textfooler", "TextFooler"))
        text = re.sub(r"(?<=\d,) (?=[+−])|(?<=n) (?==)|(?<==) (?=\d)", "\u00a0", text)
        for word, kind in SIDES.items():  # of the third cell; the second may say "open", too
            text = re.sub(rf"(\|[^|\n]+\|[^|\n]+\|) {word} \|", rf"\1 [{word}]{{.{kind}}} |", text)
        decides = next(row for row in text.splitlines() if "sees it?" in row)
        text = text.replace(decides, re.sub(r"\| (.+?) (?=\|)", r"| **\1** ", decides))
        line = nodes.raw(text=box([name, CONTRAST], "make book"), format="html")
        most = f"{100 * trial.gain('adaptive').interval()[1]:.1f}"
        said = self.parse_text_to_nodes("\n".join(self.content).replace("{most}", most))
        return [nodes.container("", *self.parse_text_to_nodes(text), classes=["fits"]), line, *said]


class TrialOutput(SphinxDirective):
    """The table that `print(trial)` prints of a recorded trial, in columns that a telephone shows."""

    required_arguments = 1

    def run(self):
        from pidbook.evaluation.recorded_trial import recorded_trial  # slow to import

        (result,) = recorded(self.env, name := self.arguments[0])
        rows = recorded_trial(result, "textfooler").table()
        text = table(rows).replace(", ", ",\u00a0").replace("| - |", "| – |")
        shown = nodes.container("", *self.parse_text_to_nodes(text), classes=["fits"])
        return [shown, nodes.raw(text=box([name], "make book"), format="html")]


class GainsAndLosses(SphinxDirective):
    """Points gained under attack, and lost elsewhere: lines `contender: name`, and a caption.

    In the caption `{edited}` is the least and the most points that the first two lose.
    """

    has_content = True

    def run(self):
        from pidbook.evaluation.contrast import RESULT  # slow to import
        from pidbook.evaluation.trial_results import gains_over_none as over

        results, (shown, caption) = recorded(self.env, *SOURCES, RESULT), named(self.content)
        drawn = {}
        for name, label in shown.items():
            of = {k: v for r in results if name in r["counts"] for k, v in over(r, name).items()}
            drawn[label] = {title: (*points(of[k]), of[k].n) for k, title in COLUMNS.items()}
        lost = [-rows[COLUMNS["edited"]][0] for rows in [*drawn.values()][:2]]
        caption = caption.replace("{edited}", f"{min(lost):.0f} to {max(lost):.0f}")
        bare = {k: v for r in results for k, v in r["counts"]["none"].items()}
        level = {
            title: f"{100 * bare[k]['right'] / bare[k]['n']:.1f} %" for k, title in COLUMNS.items()
        }
        data = box([*SOURCES, RESULT], "make book")
        return [captioned(self, "".join([*forest(drawn, {"no control": level}), data]), caption)]


SHAPES = {"A2T": "o", "PSO": "D", "TextBugger": "s", "TextFooler": "^"}


class AdaptiveTrials(SphinxDirective):
    """The gain under every adaptive attack, in groups: lines `group: its label`, and a caption.

    In the caption `{trials}` is how many there are.
    """

    has_content = True

    def run(self):
        from pidbook.evaluation.adaptive_trials import RESULTS, adaptive_trials

        names = [f"{name}.json" for name in RESULTS]
        results = dict(zip(RESULTS, recorded(self.env, *names), strict=True))
        trials = adaptive_trials(results)
        labels, text = named(self.content)
        text = text.replace("{trials}", str(len(trials)))
        html = f"{adaptive_forest(trials, labels)}{box(names, 'make book')}"
        return [captioned(self, html, text)]


def adaptive_forest(trials, labels: dict[str, str]) -> str:
    """HTML of gains in groups, a thin line a trial, and of their numbers, folded."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from pidbook.figures import ATTACKER, INK, table as numbers, use_book_style

    use_book_style()
    with rc_context({"font.size": 12}):
        fig = Figure(figsize=(5.6, 5.8), layout="constrained")
        plot = fig.add_subplot()
    y, ticks = 0.0, {}
    for group, label in labels.items():
        for part, rows in in_parts(trials[trials["group"] == group]):
            places = y + np.arange(len(rows))
            plot.hlines(places, rows["low"], rows["high"], color=ATTACKER, linewidth=1.5)
            for place, row in zip(places, rows.itertuples(), strict=True):
                look = dict(color=ATTACKER, markersize=9 if row.shown else 5.5)
                look |= dict(markerfacecolor=ATTACKER if row.shown else "none")
                of = [mark for attack, mark in SHAPES.items() if attack in row.trial]
                plot.plot(row.gain, place, *of or SHAPES["TextFooler"], **look)
                if row.shown:
                    plot.text(row.high + 0.6, place, row.trial, va="center", fontsize=11)
            ticks[places.mean()] = part or label.replace(", ", ",\n", 1)
            y = places[-1] + 2
        y += 1
    for attack, mark in SHAPES.items():
        plot.plot([], [], mark, color=ATTACKER, markerfacecolor="none", label=attack)
    fig.legend(loc="outside upper right", ncols=len(SHAPES), handletextpad=0.1, columnspacing=1)
    plot.axvline(0, color=INK, linewidth=0.8)
    plot.set_yticks(list(ticks), ticks.values())
    plot.set_ylim(y - 1.5, -1.5)
    plot.set_xlim(-13, 24)
    plot.grid(axis="y", visible=False)
    plot.set_xlabel("gain of the control, in points")
    rows = [
        {"": f"{labels[row.group]}: {row.trial}", "gain": printed(row.gain, row.low, row.high)}
        for row in trials.itertuples()
    ]
    shown = numbers(rows, "In points, with 95 % intervals", folded=True).html
    return as_box(fig, "Gains under adaptive attacks, all near zero") + shown


def in_parts(rows):
    """The rows of each model and collection, where a trial is named by them; else all rows."""
    part = rows["trial"].str.extract(r"(.+?, .+?), ")[0].fillna("")
    return rows.groupby(part, sort=False)


def points(change) -> tuple[float, float, float]:
    """A gain and its interval, in points."""
    return tuple(100 * number for number in (change.gain, *change.interval()))


def printed(gain: float, low: float, high: float) -> str:
    return f"{gain:+.1f} [{low:+.1f}, {high:+.1f}]".replace("-", "−")


def contrast_cells(result: dict) -> str:
    """What P-D control changes on pairs whose meaning one word changes, as cells of the card."""
    from pidbook.evaluation.trial_results import gains_over_none
    from pidlib.evaluation import conclude

    change = gains_over_none(result, "P-D 99 %")["edited"]
    gain, low, high = points(change)
    (word,) = conclude({"": change}).values()
    side = {"loss": "bad", "open": "open"}.get(word, "good")
    return f"? (n = {change.n:,}) | {word} | {side} | {gain:+.1f} [{low:+.1f}, {high:+.1f}] |"


def reading_time(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Role: the time that all chapters say they take to read, added up."""
    from chapters import chapters, duration

    return [nodes.Text(duration(sum(chapter.reading for chapter in chapters())))], []


def forest(
    gains: dict[str, dict[str, tuple]], beside: dict[str, dict[str, str]]
) -> tuple[str, str]:
    """HTML of gains, a row a contender, and of their numbers, folded, with columns `beside`.

    The first test is an attack, in orange.
    """
    from matplotlib import rc_context

    from pidbook.figures import ATTACKER, INK, gain_plot, table as numbers, use_book_style

    use_book_style()
    tests = list(next(iter(gains.values())))
    groups = {test: {name: rows[test][:3] for name, rows in gains.items()} for test in tests}
    with rc_context({"font.size": 12}):
        fig = gain_plot(
            groups, "change of accuracy, in points (right is better)", colours=(ATTACKER, INK, INK)
        )
    fig.legends[0].remove()  # the names stand beside the first row
    plot = fig.axes[0]
    plot.locator_params(axis="x", nbins=5, integer=True)
    plot.set_xlim(-22, 22)
    plot.set_yticklabels([name.replace(" ", "\n", 1) for name in gains])
    for (bar, *_), (label, rows) in zip(plot.containers, groups.items(), strict=True):
        for (gain, y), (_, low, high) in zip(bar.get_xydata(), rows.values(), strict=True):
            end = (low, y, "right") if -8 < high < 0 else (high, y, "left")  # clear of the 0
            text, ink = f" {gain + 0.0:+.1f} ".replace("-", "−"), bar.get_color()
            text += f" {label} " if y < 0.5 else ""
            plot.text(*end[:2], text, ha=end[2], va="center", color=ink, fontsize=11)
    fig.set_size_inches(5.6, 1.2 + 0.38 * sum(map(len, groups.values())))
    rows = []
    for name in tests:
        row = {"": name} | {k: t[name] for k, t in beside.items()}
        row |= {label: printed(*changes[name][:3]) for label, changes in gains.items()}
        pairs = dict.fromkeys(f"{changes[name][3]:,}" for changes in gains.values())
        rows.append(row | {"pairs": ", ".join(pairs)})
    shown = numbers(rows, "In points, with 95 % intervals", folded=True)
    return as_box(fig, "Gains over no control"), shown.html


def setup(app):
    for kind in (AdaptiveTrials, GainsAndLosses, ResultsCard, TrialOutput):
        app.add_directive(re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower(), kind)
    app.add_role("reading-time", reading_time)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
