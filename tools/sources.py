"""Which result files the outputs of a chapter are drawn from, read from its code.

The code of the cells is followed name by name: what is read from a file goes where the variable
goes. A chapter stores, in its metadata, the sha256 of each file that its outputs were made from;
a chapter whose files have changed since then is stale, and the book is not built.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from contents import RESULTS
from pidlib.io.files import sha256

STAMP = "results"  # the key in a notebook's metadata
# What pidbook.evaluation.paper.recorded_trials reads.
TRIALS = r"trial-(?:snli-test|sick-test|mnli-matched)-minilm-nli(?:-a2t|-freelb)?\.json"
TRAININGS = {"standard": "minilm-nli", "AT": "minilm-nli-a2t", "FreeLB": "minilm-nli-freelb"}
# Parts of a result that say how it was made; what depends on them alone is not drawn from it.
CIRCUMSTANCES = {"configuration", "data", "model", "machine", "versions", "seed"}
GAP = "[^-/]+"  # what stands in a file name for a value known only when the cell runs
CHANGES = {"append", "add", "extend", "insert", "update", "setdefault"}

Patterns = frozenset[str]
NONE: Patterns = frozenset()


def files_of(notebook: Mapping[str, Any], folder: Path = RESULTS) -> dict[int, list[str]]:
    """Result files behind the output of each cell that has some, by its place in the notebook.

    FileNotFoundError where a cell reads a file that is not there.
    """
    known = sorted(str(p.relative_to(folder)) for p in folder.rglob("*.json*") if p.is_file())
    reader, files = Reader(), {}
    for place, cell in enumerate(notebook["cells"]):
        source = re.sub(r"^[%!].*$", "", cell["source"], flags=re.M)  # not Python
        patterns = reader.run(ast.parse(source)) if cell["cell_type"] == "code" else NONE
        names = {pattern: [n for n in known if re.fullmatch(pattern, n)] for pattern in patterns}
        for pattern in (pattern for pattern in names if not names[pattern]):
            raise FileNotFoundError(f"cell {place} reads {pattern}, which is not there")
        if names:
            files[place] = sorted({name for matched in names.values() for name in matched})
    return files


class Reader:
    """Follows files through the names of a program, cell after cell."""

    def __init__(self, held: Mapping[str, Patterns] | None = None) -> None:
        self.held = dict(held or {})

    def run(self, tree: ast.AST) -> Patterns:
        """Take in one cell; return the patterns of the files behind what it shows."""
        return _union(self.statement(node) for node in tree.body)

    def statement(self, node: ast.stmt) -> Patterns:
        """Take in one statement; return what it shows."""
        match node:
            case ast.Expr(ast.Call(func=ast.Attribute(attr=attr) as place) as call) if (
                attr in CHANGES and _owner(place)
            ):
                self.add(_owner(place), self.behind(call))  # it fills a list
            case ast.Expr(value) | ast.Return(ast.expr() as value):
                return self.behind(value)
            case ast.Assign(targets, value):
                for target in targets:
                    self.assign(target, self.behind(value))
            case ast.AugAssign(target, _, value):
                self.assign(target, self.behind(value) | self.behind(target))
            case ast.AnnAssign(target, _, ast.expr() as value):
                self.assign(target, self.behind(value))
            case ast.FunctionDef():
                self.held[node.name] = self.inside(node.args, node.body)
            case _:
                if isinstance(node, ast.For):
                    self.assign(node.target, self.behind(node.iter))
                for item in getattr(node, "items", ()):  # of with
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, self.behind(item.context_expr))
                parts = (getattr(node, part, []) for part in ("body", "orelse", "finalbody"))
                return _union(self.statement(inner) for part in parts for inner in part)
        return NONE

    def add(self, name: str, value: Patterns) -> None:
        """Let a name hold what a part of it holds, too."""
        self.held[name] = self.held.get(name, NONE) | value

    def assign(self, target: ast.expr, value: Patterns) -> None:
        """Let a name hold what its value holds; a part of it is added to the whole."""
        match target:
            case ast.Tuple(parts) | ast.List(parts):
                for part in parts:
                    self.assign(part, value)
            case ast.Starred(inner):
                self.assign(inner, value)
            case ast.Name(name):
                self.held[name] = value
            case _ if _owner(target):
                self.add(_owner(target), value)

    def behind(self, node: ast.AST) -> Patterns:
        """Patterns of the files behind the value of an expression."""
        match node:
            case ast.Subscript(ast.Name(name), key):
                key = _constant(key)
                if isinstance(key, str) and key in CIRCUMSTANCES:
                    return NONE
                if isinstance(key, tuple) and self.held.get(name) == {TRIALS}:
                    return frozenset([f"trial-{key[0]}-{TRAININGS[key[1]]}\\.json"])
            case ast.Name(name):
                return self.held.get(name, NONE)
            case ast.Lambda(arguments, body):
                return self.inside(arguments, [ast.Expr(body)])
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self.comprehension(node)
        reads = frozenset(_reads(node)) if isinstance(node, ast.Call) else NONE
        return reads | _union(map(self.behind, ast.iter_child_nodes(node)))

    def inside(self, arguments: ast.arguments, body: list[ast.stmt]) -> Patterns:
        """Patterns that a function brings in by itself; its arguments bring their own."""
        own = {node.arg for node in ast.walk(arguments) if isinstance(node, ast.arg)}
        inner = Reader({name: held for name, held in self.held.items() if name not in own})
        return _union(map(inner.statement, body))

    def comprehension(self, node: Any) -> Patterns:
        """Patterns behind a comprehension, whose variables are its own."""
        inner, patterns = Reader(self.held), NONE
        for part in node.generators:
            patterns |= inner.behind(part.iter)
            inner.assign(part.target, inner.behind(part.iter))
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        tests = [test for part in node.generators for test in part.ifs]
        return patterns | _union(map(inner.behind, [*parts, *tests]))


def _union(patterns: Iterable[Patterns]) -> Patterns:
    return NONE.union(*patterns)


def _constant(node: ast.expr) -> Any:
    """Value of a key that the code spells out, or None."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _owner(node: ast.expr) -> str:
    """Name at the root of a.b[c]."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _reads(call: ast.Call) -> Iterable[str]:
    """Patterns of the files that one call reads."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name in ("read_result", "read_outcomes"):
        yield _pattern(call.args[0])
    elif name == "load_result":
        yield _pattern(call.args[0]) + r"\.json"
    elif name == "recorded_trials":
        yield TRIALS
    elif name == "stored_rows":
        _, data, recipe, _, model = (_pattern(argument) for argument in call.args)
        yield f"attacks/{data}-{model}-{recipe}\\.jsonl"


def _pattern(node: ast.expr) -> str:
    """Regular expression of a path, relative to the folder of results."""
    match node:
        case ast.Constant(value):
            return re.escape(str(value))
        case ast.JoinedStr(parts):
            return "".join(map(_pattern, parts))
        case ast.BinOp(ast.Name(), ast.Div(), right):
            return _pattern(right)
        case ast.BinOp(left, ast.Div(), right):
            return f"{_pattern(left)}/{_pattern(right)}"
    return GAP


def _used(notebook: Mapping[str, Any], folder: Path) -> set[str]:
    return {name for names in files_of(notebook, folder).values() for name in names}


def stamp(notebook: Any, folder: Path = RESULTS, *, run: bool) -> None:
    """Store what the outputs were made from; unless they were run now, a stamp stays as it is."""
    before = {} if run else notebook["metadata"].get(STAMP, {})
    names = sorted(_used(notebook, folder))
    stamps = {name: before.get(name) or sha256(folder / name) for name in names}
    notebook["metadata"].pop(STAMP, None)
    if stamps:
        notebook["metadata"][STAMP] = stamps


def stale(notebook: Mapping[str, Any], folder: Path = RESULTS) -> list[str]:
    """What a chapter was not made from, one line each; empty when its outputs are fresh."""
    try:
        used = _used(notebook, folder)
    except FileNotFoundError as error:
        return [str(error)]
    stamps = notebook["metadata"].get(STAMP, {})
    changed = [n for n in sorted(used & stamps.keys()) if sha256(folder / n) != stamps[n]]
    return [
        *(f"no stamp for {name}" for name in sorted(used - stamps.keys())),
        *(f"a stamp for {n}, which it does not read" for n in sorted(stamps.keys() - used)),
        *(f"{name} has changed since the outputs were drawn from it" for name in changed),
    ]
