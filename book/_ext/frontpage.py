"""Directives of the front page, and a role of others: computed while the book is built."""

from __future__ import annotations

import re
from html import escape
from io import StringIO
from types import SimpleNamespace

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from bookassets import plotly_box, svg_box
from contents import RESULTS
from provenance import box


class Excursion(SphinxDirective):
    """The picture of a state that leaves its subspace, its caption, and its numbers."""

    has_content = True
    option_spec = {"alt": directives.unchanged_required}

    def run(self):
        from excursion import excursion_figure, excursion_rows  # slow to import
        from pidlib.figures import table
        from pidlib.figures.style import tidy, use_book_style

        use_book_style()
        spec = tidy(excursion_figure(), 3).to_plotly_json()
        text = plotly_box(spec, escape(self.options["alt"], quote=True))
        figure = nodes.figure("", nodes.raw(text=text, format="html"))
        caption = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, caption)
        figure += nodes.caption("", "", *caption.children[0].children)
        numbers = table(excursion_rows(), "Distances, and the control spent", folded=True)
        return [figure, nodes.raw(text=numbers.html, format="html")]


class Headline(SphinxDirective):
    """Gains of some controls of one trial when the attacker sees them, and what they show.

    The argument is a result file; each line of the body is `condition: what to call it`.
    """

    required_arguments = 1
    has_content = True

    def run(self):
        from pidlib.evaluation.paper import adaptive_gains  # slow to import
        from pidlib.evaluation.results import read_result

        name = self.arguments[0]
        self.env.note_dependency(str(RESULTS / name))
        result = read_result(RESULTS / name)
        shown = dict(line.split(": ", 1) for line in self.content)
        gains = {label: adaptive_gains(result, key) for key, label in shown.items()}
        drawn = [*forest(gains), box([name], "make book")]
        told = "\n".join(f"- {sentence(label, found)}" for label, found in gains.items())
        return [*(nodes.raw(text=text, format="html") for text in drawn), *parsed(self, told)]


class ResultsCard(SphinxDirective):
    """The card of one recorded trial, P-D control under TextFooler, and what it no longer hears."""

    required_arguments = 1

    def run(self):
        from pidlib.evaluation.contrast import RESULT as CONTRAST
        from pidlib.evaluation.fair_trial import FairTrial  # slow to import
        from pidlib.evaluation.results import read_result

        name = self.arguments[0]
        heard = read_result(RESULTS / CONTRAST)
        for each in (name, CONTRAST):
            self.env.note_dependency(str(RESULTS / each))
        trial = FairTrial.from_result(read_result(RESULTS / name), "textfooler")
        card = trial.card("P-D control at 99 %, MiniLM, SNLI")
        lines = [line.replace("points [", "[") for line in card.splitlines()]
        seen = len(trial.right["control"]["adaptive"])
        lines[-2] = lines[-2].replace("sees it?", f"sees it? (n = {seen})")
        lines[-1] = lines[-1].replace("? | | |", still_heard(heard))
        lines = [re.sub(r"(?<=[ \[])-(?=\d)", "−", line) for line in lines]
        lines[0] = lines[0].replace("textfooler", "TextFooler")
        line = nodes.raw(text=box([name, CONTRAST], "make book"), format="html")
        return [*parsed(self, "\n".join(lines)), line]


def still_heard(result: dict) -> str:
    """What P-D control changes on pairs whose meaning one word changes, as cells of the card."""
    from pidlib.evaluation.trial_results import gains_over_none

    change = gains_over_none(result, "P-D 99 %")["edited"]
    gain, low, high = (100 * number for number in (change.gain, *change.interval()))
    answer = "**no**" if high < 0 else "not shown" if low < 0 else "yes"
    return f"? (n = {change.n:,}) | {answer} | {gain:+.1f} [{low:+.1f}, {high:+.1f}] |"


def reading_time(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Role: minutes that some chapters say they take to read, or `all` of them, added up."""
    from chapters import chapters, duration

    minutes = {chapter.stem: chapter.reading for chapter in chapters()}
    wanted = list(minutes) if text == "all" else text.split()
    if set(wanted) <= set(minutes):
        return [nodes.Text(duration(sum(minutes[stem] for stem in wanted)))], []
    return [], [inliner.reporter.error(f"unknown chapter among {text!r}", line=lineno)]


def heard_right(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Role: what a contender gets right where a word changes the meaning, with counts."""
    from pidlib.evaluation.contrast import RESULT, heard
    from pidlib.evaluation.results import read_result

    inliner.document.settings.env.note_dependency(str(RESULTS / RESULT))
    result = read_result(RESULTS / RESULT)
    if text not in result["counts"]:
        message = inliner.reporter.error(f"{RESULT} has no contender {text!r}", line=lineno)
        return [], [message]
    return [nodes.Text(heard(result, text))], []


def forest(gains: dict[str, dict[str, tuple]]) -> tuple[str, str]:
    """HTML of the gains as points with their intervals, and of their numbers, folded."""
    from pidlib.figures import gain_plot, use_book_style  # slow to import
    from pidlib.figures import table as numbers

    use_book_style()
    groups = {label: {called(a): g[:3] for a, g in rows.items()} for label, rows in gains.items()}
    fig = gain_plot(groups, xlabel="gain in points")
    fig.set_size_inches(5.4, 4.4)
    out = StringIO()
    fig.savefig(out, format="svg", metadata={"Date": None})
    words = (
        "Gain over no control with 95 % intervals, one row an attack; numbers in the table below"
    )
    cell = {"mystnb": {"image": {"alt": words}}}
    data = SimpleNamespace(string=out.getvalue(), cell_metadata=cell)
    rows = []
    for attack in next(iter(gains.values())):
        row = {"": called(attack)}
        for label, found in gains.items():
            gain, low, high, n = found[attack]
            row[label] = f"{gain:+.1f} [{low:+.1f}, {high:+.1f}]".replace("-", "−")
        rows.append(row | {"pairs": f"{n:,}"})
    return svg_box(data), numbers(rows, "Gain in points, 95 % intervals", folded=True).html


def called(attack: str) -> str:
    return "no attack" if attack == "None" else attack


def sentence(label: str, found: dict[str, tuple]) -> str:
    """What the intervals of one control show."""
    attacks = [attack for attack in found if attack != "None"]
    up = [attack for attack in attacks if found[attack][1] > 0]
    down = [attack for attack in attacks if found[attack][2] < 0]
    told = f"no gain beyond noise under any of the {len(attacks)} attacks"
    if up:
        told = f"gains under {listed(up)}, {len(up)} of {len(attacks)} attacks"
    if down:
        told += f", loses under {listed(down)}"
    _, low, high, _ = found["None"]
    clean = "no change beyond noise" if low <= 0 <= high else "a gain" if low > 0 else "a loss"
    return f"**{label[0].upper()}{label[1:]}:** {told}; on ordinary clean text {clean}."


def listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def parsed(directive: SphinxDirective, text: str) -> list[nodes.Node]:
    """Markdown as nodes."""
    around = nodes.Element()
    around.document = directive.state.document
    lines = StringList(text.splitlines(), directive.get_source_info()[0])
    directive.state.nested_parse(lines, directive.content_offset, around, match_titles=True)
    return around.children


def setup(app):
    app.add_directive("excursion", Excursion)
    app.add_directive("headline", Headline)
    app.add_directive("results-card", ResultsCard)
    app.add_role("reading-time", reading_time)
    app.add_role("heard", heard_right)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
