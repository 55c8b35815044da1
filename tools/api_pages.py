"""The reference pages of the library: what they show, and docstrings as Sphinx reads them."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

from sphinx.ext.napoleon import Config, NumpyDocstring

import library
from contents import ROOT, in_toc, number, prose, table

EQUATION = (r"\$\$\s*\(([a-z][\w-]*)\)", r"^\s*:label:\s*(\S+)")
THEOREM = re.compile(r"\{prf:\w+\}[^\n]*\n(?::(?!label)[^\n]*\n)*:label:\s*(\S+)")
LABEL = r"[a-z0-9]+(?:-[a-z0-9]+)+"
SPECIAL = re.compile(r"[\\*|]|(?<=\w)_(?!\w)")  # what docutils would take for markup
VALUE = re.compile(r'(?<![^\s({\[])"[^\s"`]+"(?=[\s)}\].,;:]|$)')  # a string, such as "P-D"
LONGEST = 60  # characters of a constant's value that is shown

CONFIG = Config(
    napoleon_use_param=False,
    napoleon_use_rtype=False,
    napoleon_custom_sections=[("Attributes", "params_style")],
)


class Docstring(NumpyDocstring):
    """A docstring in whose types the public classes lead to their entries."""

    def _consume_field(self, *args, **more):
        name, kind, text = super()._consume_field(*args, **more)
        return name, re.sub(r"(?<![\w.`])[A-Z]\w+(?![\w`])", _class, kind), text


def _class(match: re.Match) -> str:
    places = {place.rpartition(".")[2]: place for place in library.places().values()}
    return f"`{match[0]} <{places[match[0]]}>`" if match[0] in places else match[0]


def module_page(name: str) -> str:
    """Text of one module: what it is, its constants, its functions and classes."""
    lines = [f"(api-{name.replace('.', '-')})=", f"## {name}", "", "```{eval-rst}"]
    lines += [f".. automodule:: pidlib.{name}", ""]
    constants = [_constant(*pair) for pair in library.constants(name).items()]
    lines += [f"Constants: {', '.join(constants)}.", ""] if constants else []
    for entry, value in library.offered(name).items():
        kind = "class" if inspect.isclass(value) else "function"
        lines += [f".. auto{kind}:: pidlib.{name}.{entry}", "   :members:" * (kind == "class"), ""]
    return "\n".join([*lines, "```"])


def _constant(name: str, value: Any) -> str:
    text = f"{name} = {value!r}"
    return f"``{text if len(text) <= LONGEST and '/' not in text else name}``"


def docstring(what: str, text: str) -> list[str]:
    """A docstring as docutils reads it: plain text is no markup, names lead to their entries."""
    pieces = []
    for piece in re.split(r"\n\s*\n", library.TAG.sub("", text)):
        words, mark, example = piece.partition(">>>")
        set_off = what == "module" and piece.startswith("    ")  # a formula
        pieces.append(f"::\n\n{piece}" if set_off else plain(words) + mark + example)
    lines = Docstring("\n\n".join(pieces), CONFIG, what=what).lines()
    for tag, words in library.TAG.findall(text):
        lines += ["", f"*{tag}:* {source(' '.join(words.split()))}"]
    return [*lines, ""]


def plain(text: str) -> str:
    """Text in which only code is marked, and names of pidlib lead to where they are shown."""
    parts = text.split("`")
    parts[::2] = [VALUE.sub(r"`\g<0>`", part) for part in parts[::2]]
    parts = "`".join(parts).split("`")
    parts[::2] = [SPECIAL.sub(r"\\\g<0>", part) for part in parts[::2]]
    parts[1::2] = [_name(part) for part in parts[1::2]]
    return "`".join(parts)


def _name(part: str) -> str:
    """A piece of code, with its place in the reference where it is the name of one."""
    bare = part.removesuffix("()")
    place = library.places().get(library.front_door().get(bare, bare))
    return f"{part} <{place}>" if place else part


def source(words: str) -> str:
    """Where something comes from, with links to the equations and theorems that it names."""
    parts = re.split(rf"({LABEL})", plain(words))
    return "".join(f":{labels()[part]}:`{part}`" if part in labels() else part for part in parts)


@cache
def labels() -> dict[str, str]:
    """Labels of the equations and theorems on all pages, with the role that links to each."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")]
    texts += [prose(path) for path in in_toc()]
    found = {x: "eq" for text in texts for p in EQUATION for x in re.findall(p, text, re.M)}
    return found | {x: "prf:ref" for text in texts for x in THEOREM.findall(text)}


def chapters_of(value: Any) -> str:
    """Links to the chapters that use a function or class, as docutils reads them."""
    stems = library.uses().get(f"{value.__module__}.{value.__name__}", [])
    return ", ".join(
        f":doc:`{number(stem)}{stem[3:].replace('_', ' ')} </notebooks/{stem}>`" for stem in stems
    )


def overview() -> str:
    """Tables of the public modules, one for each page that shows some."""
    parts = []
    for path in sorted((ROOT / "book").glob("api-*.md")):
        text = path.read_text(encoding="utf-8")
        rows = [
            {
                "module": f"{{ref}}`{name} <api-{name.replace('.', '-')}>`",
                "what it is": library.summary(library.load(name)).replace("\n", " "),
            }
            for line in re.findall(r"^`{3,}\{api\}(.*)", text, re.M)
            for name in line.split()
        ]
        title = text.splitlines()[0].removeprefix("# ")  # without it the contents show no name
        parts.append(f"## [{title}](/book/{path.stem}.md)\n\n{table(rows)}")
    return "\n\n".join(parts)


def front_door() -> str:
    """Table of the names that `pidlib` itself offers."""
    rows = []
    for name, address in library.front_door().items():
        door, _, short = library.places()[address].removeprefix("pidlib.").rpartition(".")
        value = library.offered(door)[short]
        stems = library.uses().get(address, [])
        rows.append(
            {
                "name": f"{{py:obj}}`{name} <pidlib.{door}.{short}>`",
                "what it does": library.summary(value),
                "in chapters": ", ".join(
                    f"[{number(s).strip()}](/notebooks/{s}.ipynb)" for s in stems
                ),
            }
        )
    return table(rows)
