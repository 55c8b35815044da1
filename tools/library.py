"""What pidlib offers its users, read from its source: nothing is imported, nothing is run.

python tools/library.py    say which public names are not documented as they should be
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import nbformat

from contents import ROOT, in_toc

PACKAGE = ROOT / "pidlib"
# What users import from: folders, whose `__init__` says what they offer, and files of the method.
DOORS = (
    "analysis", "attacks", "check", "data", "estimation", "evaluation", "figures", "theory",
)  # fmt: skip
METHOD = (
    "controller", "diagnosis", "gain", "hooks", "laws", "models", "pid", "pontryagin",
)  # fmt: skip
HEADINGS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Examples", "Notes")
TAGS = ("Source", "Departure")
SUMMARY = 110  # characters that a summary may have
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)  # code that a page shows
METHODS = ("method", "classmethod", "staticmethod")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Entry:
    """One public name.

    Attributes
    ----------
    module, name : str
        Where it is defined, and its name there; a method has its class in front.
    kind : {"function", "class", "record", "method", "classmethod", "staticmethod", "property"}
        A record is a dataclass or a named tuple: its fields are what matters.
    signature : str
        As it is called, without types.
    parameters, fields : tuple of str
    returns : bool
        Whether it says that it returns, or yields, anything.
    doc : str
    members : tuple of Entry
        Public methods and properties of a class.
    """

    module: str
    name: str
    kind: str
    signature: str
    parameters: tuple[str, ...]
    fields: tuple[str, ...]
    returns: bool
    doc: str
    members: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class Module:
    """One public module.

    Attributes
    ----------
    name, doc : str
    entries : tuple of Entry
        Functions and classes, in the order of the source.
    constants : dict of str to str
        Public constants, and their values as written.
    gathered : dict of str to str
        Names that a door takes from other modules, with their modules.
    """

    name: str
    doc: str
    entries: tuple[Entry, ...]
    constants: dict[str, str]
    gathered: dict[str, str]


@cache
def tree(module: str) -> ast.Module:
    """Syntax of one module."""
    place = PACKAGE.joinpath(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def names() -> list[str]:
    """All modules of the package, dotted, but its command line."""
    paths = [path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py")]
    dotted = (".".join(path.parts).removesuffix(".__init__") for path in paths)
    return sorted(name for name in dotted if not name.startswith("__"))


def public() -> list[str]:
    """Modules for users; what is in no one of them may change from version to version."""
    return sorted((*DOORS, *METHOD))


@cache
def places() -> dict[tuple[str, str], str]:
    """The public module that offers a name, by the module that defines it and the name."""
    return {(e.module, e.name): module for module in public() for e in offered(module)}


def offered(module: str) -> list[Entry]:
    """What a public module offers: its own names, and those it gathers from others."""
    taken = read(module).gathered.items()
    homes = [(name, home) for name, home in taken if home not in public()]
    entries = {home: {entry.name: entry for entry in read(home).entries} for _, home in homes}
    return [*read(module).entries, *(entries[h][n] for n, h in homes if n in entries[h])]


@cache
def read(module: str) -> Module:
    """What one module offers."""
    body = tree(module).body
    kinds = (*_FUNCTIONS, ast.ClassDef)
    entries = [_entry(module, node) for node in body if isinstance(node, kinds)]
    constants = {
        name: ast.unparse(node.value)
        for node in body
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for name in [ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)]
        if name.isupper() and name.isidentifier() and not name.startswith("_")
    }
    public = tuple(entry for entry in entries if not entry.name.startswith("_"))
    own = {entry.name for entry in public} | set(constants)
    taken = imported(module)
    gathered = {name: home for name, home in taken.items() if module in DOORS and name not in own}
    for name, home in gathered.items():
        constants |= {k: v for k, v in read(home).constants.items() if k == name}
    return Module(module, ast.get_docstring(tree(module)) or "", public, constants, gathered)


def imported(module: str) -> dict[str, str]:
    """Names that a module takes from others of the package, and from which."""
    return {
        alias.asname or alias.name: node.module.removeprefix("pidlib.")
        for node in tree(module).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pidlib.")
        for alias in node.names
    }


def doors() -> dict[str, str]:
    """Names of the package itself, and the modules that they live in."""
    for node in tree("__init__").body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            homes = ast.literal_eval(node.value)
            return {name: home.removeprefix("pidlib.") for name, home in homes.items()}
    raise LookupError("pidlib names no homes of its public names")


def _entry(module: str, node: ast.AST, owner: str = "") -> Entry:
    name = f"{owner}.{node.name}" if owner else node.name
    doc = ast.get_docstring(node) or ""
    if isinstance(node, _FUNCTIONS):
        marks = {ast.unparse(mark).split(".")[-1] for mark in node.decorator_list}
        kind = "method" if owner else "function"
        kind = next((k for k in ("classmethod", "staticmethod") if k in marks), kind)
        if marks & {"property", "cached_property"}:
            kind = "property"
        first = bool(owner) and kind != "staticmethod"
        arguments = _without_types(node.args, skip=first)
        back = "" if node.returns is None else ast.unparse(node.returns)
        gives = back not in ("None", "NoReturn", "Iterator[None]") if back else _has_return(node)
        return Entry(
            module, name, kind, f"({ast.unparse(arguments)})", _parameters(arguments), (), gives, doc
        )  # fmt: skip
    bases = {ast.unparse(base) for base in node.bases}
    record = "NamedTuple" in bases or any(
        "dataclass" in ast.unparse(d) for d in node.decorator_list
    )
    inner = [n for n in node.body if isinstance(n, _FUNCTIONS)]
    start = next((n for n in inner if n.name == "__init__"), None)
    fields = [n for n in node.body if isinstance(n, ast.AnnAssign) and not _hidden(n)]
    if record:
        filled = [n.target.id + (f"={_default(n.value)}" if n.value else "") for n in fields]
        signature, parameters = f"({', '.join(filled)})", ()
    elif start is None:
        signature, parameters = "", ()
    else:
        arguments = _without_types(start.args, skip=True)
        signature, parameters = f"({ast.unparse(arguments)})", _parameters(arguments)
    members = tuple(_entry(module, n, name) for n in inner if not n.name.startswith("_"))
    shown = tuple(n.target.id for n in fields) if record else ()
    kind = "record" if record else "class"
    return Entry(module, name, kind, signature, parameters, shown, False, doc, members)


def _has_return(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Return) and one.value is not None for one in ast.walk(node))


def _hidden(node: ast.AnnAssign) -> bool:
    """Whether a field is nobody's business: private, or never given."""
    return node.target.id.startswith("_") or (
        node.value is not None and "init=False" in ast.unparse(node.value)
    )


def _default(value: ast.expr) -> str:
    """A field's default as text; what is made anew each time is three dots."""
    if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("field"):
        given = {word.arg: word.value for word in value.keywords}
        return ast.unparse(given["default"]) if "default" in given else "..."
    return ast.unparse(value)


def _without_types(arguments: ast.arguments, skip: bool) -> ast.arguments:
    """The arguments as a caller sees them."""
    bare = ast.parse(f"def f({ast.unparse(arguments)}): ...").body[0].args
    for one in [*bare.posonlyargs, *bare.args, *bare.kwonlyargs, bare.vararg, bare.kwarg]:
        if one is not None:
            one.annotation = None
    if skip:
        (bare.posonlyargs or bare.args).pop(0)
    return bare


def _parameters(arguments: ast.arguments) -> tuple[str, ...]:
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    extra = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return tuple(one.arg for one in [*plain, *extra] if not one.arg.startswith("_"))


def sections(doc: str) -> dict[str, str]:
    """Parts of a docstring: "" for what stands first, then headings and tags.

    A tag ("Source: ...") ends at the next empty line.
    """
    lines, parts, at = doc.splitlines(), defaultdict(list), ""
    k = 0
    while k < len(lines):
        line, after = lines[k], lines[k + 1] if k + 1 < len(lines) else ""
        tag = re.match(rf"({'|'.join(TAGS)}):\s*(.*)", line)
        if line in HEADINGS and re.fullmatch("-{3,}", after):
            at, k = line, k + 1
        elif tag:
            at = tag[1]
            parts[at].append(tag[2])
        elif not line.strip() and at in TAGS:
            at = "Notes"
        else:
            parts[at].append(line)
        k += 1
    texts = {name: "\n".join(text).strip("\n") for name, text in parts.items()}
    return {
        name: text for name, text in texts.items() if text or name in HEADINGS and name != "Notes"
    }


def items(text: str) -> list[tuple[str, str, str]]:
    """(names, kind, description) of each entry of a section like Parameters."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line and not line[0].isspace():
            names, _, kind = line.partition(" : ")
            found.append([names.strip(), kind.strip(), ""])
        elif found:
            found[-1][2] += line.removeprefix("    ") + "\n"
    return [(names, kind, text.strip("\n")) for names, kind, text in found]


def told(text: str) -> list[str]:
    """Names that a section like Parameters lists, stars taken off."""
    return [name.strip().lstrip("*") for names, *_ in items(text) for name in names.split(",")]


def is_full(entry: Entry) -> bool:
    """Whether a docstring has to say all: functions at the doors, but for the exercises."""
    return entry.kind == "function" and not entry.module.startswith("check.")


def problems(entry: Entry) -> list[str]:
    """What the docstring of a name lacks, its members' included."""
    parts, found = sections(entry.doc), []
    summary = parts.get("", "").split("\n\n")[0]
    if not summary:
        return [f"{entry.module}.{entry.name}: no docstring"]
    if "\n" in summary or len(summary) > SUMMARY or not summary.endswith((".", "?")):
        found.append("the summary is not one sentence on one line")
    if entry.kind == "record":
        have = told(parts.get("Attributes", "")) + told(parts.get("Parameters", ""))
        if sorted(have) != sorted(entry.fields):
            found.append(f"Attributes are {have}, the fields {list(entry.fields)}")
    elif entry.kind != "property" and (len(parts) > 1 or is_full(entry)):
        have = told(parts.get("Parameters", ""))
        if sorted(have) != sorted(entry.parameters):
            found.append(f"Parameters are {have}, the signature's {list(entry.parameters)}")
    if is_full(entry):
        says = "Returns" in parts or "Yields" in parts
        if says != entry.returns:
            lacks = "no section Returns or Yields" if entry.returns else "Returns, of nothing"
            found.append(lacks)
    own = [f"{entry.module}.{entry.name}: {text}" for text in found]
    return own + [text for member in entry.members for text in problems(member)]


@cache
def uses() -> dict[tuple[str, str], list[str]]:
    """Chapters whose code, in cells or shown in the text, uses a name, by (module, name); a star for a whole module."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in in_toc():
        cells = nbformat.read(path, as_version=4).cells
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        told = [cell.source for cell in cells if cell.cell_type == "markdown"]
        shown = [block for text in told for block in BLOCK.findall(text) if "import" in block]
        for key in sorted(set(used("\n".join([*code, *shown])))):
            found.setdefault(key, []).append(path.stem)
    return found


def used(source: str) -> Iterator[tuple[str, str]]:
    """(module, name) of every name of pidlib that some code uses."""
    modules: dict[str, str] = {}
    code = ast.parse(source)
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("pidlib.") and alias.asname:
                    modules[alias.asname] = alias.name.removeprefix("pidlib.")
        if isinstance(node, ast.ImportFrom) and node.module == "pidlib":
            for alias in node.names:
                if alias.name in doors():
                    yield home(doors()[alias.name], alias.name)
                elif alias.name in names():
                    modules[alias.asname or alias.name] = alias.name
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pidlib."):
            for alias in node.names:
                yield home(node.module.removeprefix("pidlib."), alias.name)
    for node in ast.walk(code):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in modules:
                yield home(modules[node.value.id], node.attr)


def home(module: str, name: str) -> tuple[str, str]:
    """Where a name is defined that a module offers."""
    taken = imported(module)
    return home(taken[name], name) if name in taken else (module, name)


def main() -> int:
    """Door of the command line."""
    found = [text for name in public() for entry in offered(name) for text in problems(entry)]
    found += [f"{name}: no docstring" for name in public() if not read(name).doc]
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
