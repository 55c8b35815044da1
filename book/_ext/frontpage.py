"""Directives of the front page, and a role of others: computed while the book is built."""

from __future__ import annotations

import re
from html import escape
from io import StringIO
from types import SimpleNamespace

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from bookassets import plotly_box, svg_box
from bookfigures import captioned, named, recorded
from provenance import box

SIDES = {"good": "holds", "bad": "fails", "open": "open"}  # classes of the style sheet
HEARD = {"edited": "One word changed", "counterfactual": "Rewritten by people"}


class Excursion(SphinxDirective):
    """The picture of a state that leaves its subspace, its caption, and its numbers."""

    has_content = True
    option_spec = {"alt": directives.unchanged_required}

    def run(self):
        from excursion import excursion_figure, excursion_rows  # slow to import
        from pidlib.figures import PALETTE, table
        from pidlib.figures.style import tidy, use_book_style

        use_book_style()
        fig = tidy(excursion_figure(), 3)
        for line, colour in zip(fig.data, (PALETTE[1], "#7a7f87", PALETTE[0]), strict=True):
            line.line.color = colour  # the control is orange on this page, no control grey
        spec = fig.to_plotly_json()
        text = plotly_box(spec, escape(self.options["alt"], quote=True))
        figure = captioned(self, text, "\n".join(self.content))
        numbers = table(excursion_rows(), "Distances, and the control spent", folded=True)
        return [figure, nodes.raw(text=numbers.html, format="html")]


class Headline(SphinxDirective):
    """Gains of some controls of one trial when the attacker sees them, and what they show.

    The argument is a result file; the body has lines `condition: what to call it`, an empty line,
    and the caption.
    """

    required_arguments = 1
    has_content = True

    def run(self):
        from pidlib.evaluation.paper import ATTACKS, adaptive_gains  # slow to import
        from pidlib.evaluation.trial_results import gains_over_none

        name = self.arguments[0]
        (result,) = recorded(self.env, name)
        shown, caption = named(self.content)
        gains = {label: adaptive_gains(result, key) for key, label in shown.items()}
        first = gains_over_none(result, next(iter(shown)))  # in the order of the figure above
        order = sorted(ATTACKS, key=lambda attack: (attack != "None", -first[ATTACKS[attack]].gain))
        gains = {name: {attack: row[attack] for attack in order} for name, row in gains.items()}
        drawn = captioned(self, "".join([*forest(gains), box([name], "make book")]), caption)
        lines = "\n".join(f"- {sentence(label, gain)}" for label, gain in gains.items())
        return [drawn, *self.parse_text_to_nodes(lines)]


class ResultsCard(SphinxDirective):
    """The card of one recorded trial, P-D control under TextFooler, and what it no longer hears.

    In the body, printed beneath it, `{most}` is the highest gain that the adaptive trial allows.
    """

    required_arguments = 1
    has_content = True

    def run(self):
        from pidlib.evaluation.contrast import RESULT as CONTRAST
        from pidlib.evaluation.fair_trial import FairTrial  # slow to import

        name = self.arguments[0]
        result, heard = recorded(self.env, name, CONTRAST)
        trial = FairTrial.from_result(result, "textfooler")
        n = f"(n = {len(trial.right['control']['adaptive'])})"
        text = trial.card("P-D control at 99 %, MiniLM, SNLI").replace("points [", "[")
        text = text.replace("sees it?", f"sees it? {n}").replace("? | | | |", still_heard(heard))
        text = re.sub(r"(?<=[ \[])-(?=\d)", "−", text.replace("textfooler", "TextFooler"))
        text = re.sub(r"(?<=\d,) (?=[+−])|(?<=n) (?==)|(?<==) (?=\d)", "\u00a0", text)
        for word, kind in SIDES.items():
            text = text.replace(f"| {word} |", f"| [{word}]{{.{kind}}} |")
        line = nodes.raw(text=box([name, CONTRAST], "make book"), format="html")
        most = f"{100 * trial.gain('adaptive').interval()[1]:.1f}"
        said = self.parse_text_to_nodes("\n".join(self.content).replace("{most}", most))
        return [nodes.container("", *self.parse_text_to_nodes(text), classes=["fits"]), line, *said]


class TrialOutput(SphinxDirective):
    """What `print(trial)` prints of a recorded trial: its table, the body, its first answer."""

    required_arguments = 1
    has_content = True

    def run(self):
        from pidlib.evaluation.fair_trial import FairTrial  # slow to import

        (result,) = recorded(self.env, name := self.arguments[0])
        parts = str(FairTrial.from_result(result, "textfooler")).split("\n\n")
        parts[1] = "\n".join(parts[1].splitlines()[:2])  # a picture shows all of them
        table, answer = (nodes.literal_block(part, part, language="none") for part in parts)
        line = nodes.raw(text=box([name], "make book"), format="html")
        return [table, *self.parse_content_to_nodes(), answer, line]


class Hearing(SphinxDirective):
    """Bars of right answers where the meaning changes: lines `contender: name`, and a caption."""

    has_content = True

    def run(self):
        from pidlib.evaluation.contrast import RESULT  # slow to import

        counts = recorded(self.env, RESULT)[0]["counts"]
        (shown, caption), html = named(self.content), ""
        for key, title in HEARD.items():
            html += f"<p>{title} ({counts['none'][key]['n']:,} pairs)</p><ul class='hero-bars'>"
            for name, label in shown.items():
                share = f"{100 * counts[name][key]['right'] / counts[name][key]['n']:.1f}"
                html += f"<li><span>{escape(label)}</span><i style='width:{share}%'></i><b>{share} %</b></li>"
            html += "</ul>"
        html = f'<div class="hearing">{html}</div>{box([RESULT], "make book")}'
        return [captioned(self, html, caption)]


def still_heard(result: dict) -> str:
    """What P-D control changes on pairs whose meaning one word changes, as cells of the card."""
    from pidlib.evaluation.trial_results import gains_over_none

    change = gains_over_none(result, "P-D 99 %")["edited"]
    gain, low, high = (100 * number for number in (change.gain, *change.interval()))
    answer = "yes | bad" if high < 0 else "not shown | open" if low <= 0 else "no | good"
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

    (result,) = recorded(inliner.document.settings.env, RESULT)
    if text not in result["counts"]:
        return [], [inliner.reporter.error(f"{RESULT} has no contender {text!r}", line=lineno)]
    return [nodes.Text(heard(result, text))], []


def forest(gains: dict[str, dict[str, tuple]]) -> tuple[str, str]:
    """HTML of the gains as points with their intervals, and of their numbers, folded."""
    from pidlib.figures import PALETTE, gain_plot, use_book_style  # slow to import
    from pidlib.figures import table as numbers

    use_book_style()
    groups = {label: {called(a): g[:3] for a, g in rows.items()} for label, rows in gains.items()}
    fig = gain_plot(groups, xlabel="gain in points")
    fig.legends[0].remove()
    for bars, colour in zip(fig.axes[0].containers, (PALETTE[1], PALETTE[2]), strict=True):
        for artist in bars.get_children():
            artist.set_color(colour)
    fig.legend(loc="outside upper center", ncols=len(groups))
    fig.set_size_inches(5.4, 4.4)
    out = StringIO()
    fig.savefig(out, format="svg", metadata={"Date": None})
    words = "Gain over no control, 95 % intervals, a row an attack; numbers in the table below"
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


def sentence(label: str, gains: dict[str, tuple]) -> str:
    """What the intervals of one control show."""
    attacks = [attack for attack in gains if attack != "None"]
    up = [attack for attack in attacks if gains[attack][1] > 0]
    down = [attack for attack in attacks if gains[attack][2] < 0]
    said = "no gain" if down else "no gain: all four intervals span 0"  # of the four attacks
    if up:
        said = f"gains under {listed(up)}, {len(up)} of {len(attacks)} attacks"
    if down:
        said += f", loses under {listed(down)}"
    change, low, high, _ = gains["None"]
    side = "more" if change > 0 else "fewer"
    clean = "no change is shown" if low <= 0 <= high else f"{abs(change):.1f} points {side}"
    return f"**{label[0].upper()}{label[1:]}:** {said}. On clean text {clean}."


def listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def setup(app):
    app.add_directive("excursion", Excursion)
    app.add_directive("headline", Headline)
    app.add_directive("hearing", Hearing)
    app.add_directive("results-card", ResultsCard)
    app.add_directive("trial-output", TrialOutput)
    app.add_role("reading-time", reading_time)
    app.add_role("heard", heard_right)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
