"""Directives of the front page, and a role of others: computed while the book is built."""

from __future__ import annotations

from html import escape

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from bookassets import plotly_box
from contents import RESULTS, table
from provenance import box


class Excursion(SphinxDirective):
    """The picture of a state that leaves its subspace, its caption, and its numbers."""

    has_content = True
    option_spec = {"alt": directives.unchanged_required}

    def run(self):
        from excursion import excursion_figure, excursion_rows  # slow to import
        from pidlib.figures.style import tidy, use_book_style

        use_book_style()
        spec = tidy(excursion_figure(), 3).to_plotly_json()
        text = plotly_box(spec, escape(self.options["alt"], quote=True))
        figure = nodes.figure("", nodes.raw(text=text, format="html"))
        caption = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, caption)
        figure += nodes.caption("", "", *caption.children[0].children)
        return [figure, *parsed(self, table(excursion_rows()))]


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
        line = nodes.raw(text=box([name], "make book"), format="html")
        return [*parsed(self, headline(gains)), line]


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


def headline(gains: dict[str, dict[str, tuple]]) -> str:
    """Markdown of the table of gains, and of a sentence on each control."""
    rows = []
    for attack in next(iter(gains.values())):
        row = {"points gained": "no attack" if attack == "None" else attack}
        for label, found in gains.items():
            gain, low, high, n = found[attack]
            cell = f"{gain:+.1f} [{low:+.1f}, {high:+.1f}]".replace("-", "−")
            row[label] = f"**{cell}**" if low > 0 else cell
        rows.append(row | {"pairs": f"{n:,}"})
    told = "\n".join(f"- {sentence(label, found)}" for label, found in gains.items())
    return f"{table(rows)}\n\n{told}"


def sentence(label: str, found: dict[str, tuple]) -> str:
    """What the intervals of one control show."""
    attacks = [attack for attack in found if attack != "None"]
    up = [attack for attack in attacks if found[attack][1] > 0]
    down = [attack for attack in attacks if found[attack][2] < 0]
    told = f"No gain is shown under any of the {len(attacks)} attacks"
    if up:
        told = f"A gain is shown under {listed(up)}, {len(up)} of {len(attacks)} attacks"
    if down:
        told += f", a loss under {listed(down)}"
    _, low, high, _ = found["None"]
    clean = "no change" if low <= 0 <= high else "a gain" if low > 0 else "a loss"
    return f"**{label[0].upper()}{label[1:]}:** {told}; on ordinary clean text {clean} is shown."


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
    app.add_role("reading-time", reading_time)
    app.add_role("heard", heard_right)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
