"""The reference pages of the library, as MyST text: signatures, docstrings, chapters."""

from __future__ import annotations

import re
from functools import cache

import nbformat

import library
from contents import ROOT, in_toc
from library import Entry

EQUATION = (r"\$\$\s*\(([a-z][\w-]*)\)", r"^\s*:label:\s*(\S+)")
THEOREM = re.compile(r"\{prf:\w+\}[^\n]*\n(?::(?!label)[^\n]*\n)*:label:\s*(\S+)")
SPECIAL = re.compile(r"([\\*_\[\]<>$#|~{}&!^@])")
LABEL = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
VALUE = re.compile(r'"[^\s"`]+"')  # a string as code has it, such as "P-D"
LONGEST = 60  # characters of a constant's value that is shown


def module_pages(modules: list[str]) -> str:
    """Text of some modules, one after the other."""
    return "\n\n".join(module_page(name) for name in modules)


def module_page(name: str) -> str:
    """Text of one module: what it is, its constants, its functions and classes."""
    module, chapters = library.read(name), library.uses()
    head, *rest = paragraphs(module.doc)
    parts = [
        f"(api-{name.replace('.', '-')})=\n## {name}",
        inline(head, name),
        body("\n\n".join(rest), name),
    ]
    own = {entry.name for entry in library.offered(name)}
    others = {n: home for n, home in module.gathered.items() if home in library.public()}
    links = [link(home, n) for n, home in others.items() if n in _known(home) and n not in own]
    if links:
        parts.append("Also to be had from here: " + ", ".join(links) + ".")
    if module.constants:
        parts.append("Constants: " + ", ".join(map(_constant, module.constants.items())) + ".")
    for entry in library.offered(name):
        parts.append(entry_text(name, entry, chapters))
    return "\n\n".join(part for part in parts if part)


def _constant(pair: tuple[str, str]) -> str:
    name, value = pair
    short = len(value) <= LONGEST and "Path(" not in value and "`" not in value
    return f"`{name} = {value}`" if short else f"`{name}`"


def entry_text(module: str, entry: Entry, chapters: dict, depth: int = 6) -> str:
    """One function or class as a directive of Sphinx's Python domain."""
    kind = {"record": "class"}.get(entry.kind, entry.kind)
    kind = "method" if kind in library.METHODS else kind
    short = entry.name.rsplit(".", 1)[-1]
    signature = "" if kind == "property" else entry.signature
    fence = ":" * depth
    lines = [f"{fence}{{py:{kind}}} {short}{signature}"]
    if "." not in entry.name:
        lines.append(f":module: pidlib.{module}")
    if entry.kind in ("classmethod", "staticmethod"):
        lines.append(f":{entry.kind}:")
    parts = library.sections(entry.doc)
    own = {*entry.parameters, *entry.fields, short}
    text = [body(parts.get("", ""), module, own)]
    for heading in ("Parameters", "Attributes", "Returns", "Yields", "Raises"):
        if parts.get(heading):
            text.append(f"**{heading}**\n\n{listing(heading, parts[heading], module, own)}")
    text += [body(parts[name], module, own) for name in ("Notes",) if name in parts]
    if parts.get("Examples"):
        text.append(f"**Examples**\n\n{body(parts['Examples'], module, own)}")
    for tag in library.TAGS:
        if tag in parts:
            text.append(f"*{tag}:* {source(parts[tag], module)}")
    used = chapters.get((entry.module, entry.name), [])
    if used:
        text.append("*Chapters:* " + ", ".join(map(chapter, used)) + ".")
    text += [entry_text(module, member, chapters, depth - 1) for member in entry.members]
    return "\n".join(lines) + "\n\n" + "\n\n".join(part for part in text if part) + f"\n{fence}"


def chapter(stem: str) -> str:
    """Link to a chapter: its number and the name of its file."""
    number, name = stem.split("_", 1)
    return f"[{int(number)} {name.replace('_', ' ')}](/notebooks/{stem}.ipynb)"


def link(module: str, name: str, text: str = "") -> str:
    """Link to a name of the reference."""
    return f"{{py:obj}}`{text or name} <pidlib.{module}.{name}>`"


@cache
def _known(module: str) -> frozenset[str]:
    return frozenset(entry.name for entry in library.offered(module)) if module else frozenset()


def paragraphs(text: str) -> list[str]:
    """Pieces between empty lines."""
    return [piece for piece in re.split(r"\n\s*\n", text.strip("\n")) if piece.strip()]


def body(text: str, module: str, own: set[str] = frozenset()) -> str:
    """Running text of a docstring: paragraphs, lists, formulas set off, examples."""
    return "\n\n".join(_piece(piece, module, own) for piece in paragraphs(text))


def _piece(piece: str, module: str, own: set[str]) -> str:
    lines = piece.splitlines()
    if lines[0].lstrip().startswith(">>>"):
        return f"```pycon\n{piece}\n```"
    if all(line.startswith("  ") for line in lines):
        least = min(len(line) - len(line.lstrip()) for line in lines)
        return "```text\n" + "\n".join(line[least:] for line in lines) + "\n```"
    if re.match(r"[-*] ", lines[0]):
        joined = re.sub(r"\n\s+", " ", piece).splitlines()
        return "\n".join(f"- {inline(line[2:], module, own)}" for line in joined)
    return inline(" ".join(line.strip() for line in lines), module, own)


def listing(heading: str, text: str, module: str, own: set[str]) -> str:
    """A section such as Parameters as a list of definitions."""
    found = library.items(text)
    # What is returned may stand as running text, or as a kind without a name.
    if heading in ("Returns", "Yields", "Raises") and not any(kind for _, kind, _ in found):
        found = [("", names, told) for names, _, told in found] if heading != "Raises" else found
    out = []
    for names, kind, told in found:
        term = ", ".join(f"`{name.strip()}`" for name in names.split(",")) if names else ""
        if names.startswith("("):
            term = f"`{names}`"
        if heading == "Raises":  # names of errors, and none of ours
            term, kind = inline(names, module), ""
        pieces = [_piece(piece, module, own) for piece in paragraphs(told)]
        if not term:
            term, kind = types(kind, module), ""
        first = (
            types(kind, module) + ("." if pieces and not kind.endswith(".") else "") if kind else ""
        )
        if pieces and not pieces[0].startswith(("```", "- ")):
            first = f"{first} {pieces.pop(0)}".strip()
        block = "\n\n".join(piece for piece in [first, *pieces] if piece)
        if block:
            out.append(f"{term}\n: " + block.replace("\n", "\n  "))
        else:
            out.append(f"{term}\n: &nbsp;" if len(found) > 1 else term)
    return "\n\n".join(out)


def types(kind: str, module: str) -> str:
    """What a parameter may be; classes that a module has from the library lead to their entries."""
    held = _known(module) | library.imported(module).keys() | library.doors().keys()
    out = []
    for part in re.split(r"([A-Z]\w+)", kind):
        ours = part in classes() and part in held  # a `Path` may be pathlib's
        out.append(link(classes()[part], part) if ours else inline(part, ""))
    return "".join(out)


@cache
def classes() -> dict[str, str]:
    """Public classes, and the modules that show them."""
    return {
        entry.name: module
        for module in library.public()
        for entry in library.offered(module)
        if entry.kind in ("class", "record")
    }


def source(text: str, module: str) -> str:
    """Where something comes from, with links to the equations and theorems that it names."""
    words, known = " ".join(text.split()), labels()
    parts = re.split(rf"({LABEL.pattern})", words)
    return "".join(
        f"{{{known[part]}}}`{part}`" if part in known else inline(part, module) for part in parts
    )


@cache
def labels() -> dict[str, str]:
    """Labels of the equations and theorems on all pages, with the role that links to each."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")]
    for path in in_toc():
        cells = nbformat.read(path, as_version=4).cells
        texts += [cell.source for cell in cells if cell.cell_type == "markdown"]
    found = {x: "eq" for text in texts for p in EQUATION for x in re.findall(p, text, re.M)}
    return found | {x: "prf:ref" for text in texts for x in THEOREM.findall(text)}


def inline(text: str, module: str, own: set[str] = frozenset(), links: bool = True) -> str:
    """Text of one paragraph: code stays code, names lead to their entries, the rest is plain."""
    out = []
    text = "`".join(
        VALUE.sub(r"`\g<0>`", part) if k % 2 == 0 else part
        for k, part in enumerate(text.split("`"))
    )
    for k, part in enumerate(text.split("`")):
        if k % 2:
            out.append(_code(part, module, own) if links else f"`{part}`")
        else:
            out.append(SPECIAL.sub(r"\\\1", part))
    joined = "".join(out)
    return re.sub(r"^(\d+)([.)])|^([-+=:%])", lambda m: f"{m[1] or ''}\\{m[2] or m[3]}", joined)


def _code(part: str, module: str, own: set[str]) -> str:
    bare = part.removesuffix("()")
    if bare in _known(module) and bare not in own:
        return link(module, bare, part)
    if bare.startswith("pidlib."):
        path = bare.removeprefix("pidlib.")
        if path in library.public():
            return f"{{ref}}`{part} <api-{path.replace('.', '-')}>`"
        place, _, name = path.rpartition(".")
        door = place if place in library.public() else library.places().get((place, name))
        if door and name in _known(door):
            return link(door, name, part)
    for name, home in library.doors().items():
        if name == bare:
            return link(library.places()[home, name], name, part)
    return f"`{part}`"


def overview(pages: dict[str, list[str]]) -> str:
    """Table of the public modules, by page.

    Parameters
    ----------
    pages : dict of str to list of str
        Modules by the name of the page that shows them.
    """
    out = []
    for page, modules in pages.items():
        rows = [f"| {{ref}}`{m} <api-{m.replace('.', '-')}>` | {summary(m)} |" for m in modules]
        out.append(
            f"## [{title(page)}](/book/{page}.md)\n\n| module | what it is |\n|---|---|\n"
            + "\n".join(rows)
        )
    return "\n\n".join(out)


def front_door() -> str:
    """Table of the names that `pidlib` itself offers."""
    rows = []
    for name, module in library.doors().items():
        place = library.places()[module, name]
        entry = next(e for e in library.offered(place) if e.name == name)
        first = library.sections(entry.doc)[""].split("\n\n")[0]
        stems = library.uses().get((module, name), [])
        used = ", ".join(f"[{int(stem[:2])}](/notebooks/{stem}.ipynb)" for stem in stems)
        rows.append(f"| {link(place, name)} | {inline(first, place)} | {used} |")
    head = "| name | what it does | in chapters |\n|---|---|---|\n"
    return head + "\n".join(rows)


def summary(module: str) -> str:
    """First line of a module's docstring."""
    return inline(library.read(module).doc.splitlines()[0], module).replace("|", "\\|")


def title(page: str) -> str:
    """First heading of a page; a link that leaves it out has no name in the list of contents."""
    first = (ROOT / "book" / f"{page}.md").read_text(encoding="utf-8").splitlines()[0]
    return first.removeprefix("# ")
