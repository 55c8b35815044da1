"""Which result files the outputs of a chapter are drawn from, read from its code.

The code of the cells is followed name by name: what is read from a file goes where the variable
goes. A chapter stores, in its metadata, the sha256 of each file that its outputs were made from;
a chapter whose files have changed since then is stale, and the book is not built.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
STAMP = "results"  # the key in a notebook's metadata
# What pidlib.evaluation.paper.recorded_trials reads.
TRIALS = r"trial-(?:snli-test|sick-test|mnli-matched)-minilm-nli(?:-a2t|-freelb)?\.json"
TRAININGS = {"standard": "minilm-nli", "AT": "minilm-nli-a2t", "FreeLB": "minilm-nli-freelb"}
# Parts of a result that say how it was made; what depends on them alone is not drawn from it.
CIRCUMSTANCES = {"configuration", "data", "model", "machine", "versions", "seed"}
GAP = "[^-/]+"  # what stands in a file name for a value known only when the cell runs
CHANGES = {"append", "add", "extend", "insert", "update", "setdefault"}

Patterns = frozenset[str]
NONE: Patterns = frozenset()


def files_of(notebook: Mapping[str, Any], folder: Path = RESULTS) -> dict[int, list[str]]:
    """Result files behind the output of each cell, by the cell's place in the notebook.

    Parameters
    ----------
    notebook : mapping
        As nbformat reads it.
    folder : Path
        Where the files lie; names are relative to it.

    Returns
    -------
    dict of int to list of str
        Cells whose outputs are drawn from no file are left out.

    Raises
    ------
    FileNotFoundError
        A cell reads a file that is not there.

    Source: ours.
    """
    known = sorted(str(p.relative_to(folder)) for p in folder.rglob("*.json*") if p.is_file())
    reader, found = Reader(), {}
    for place, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        names: set[str] = set()
        source = re.sub(r"^[%!].*$", "", cell["source"], flags=re.M)  # not Python
        for pattern in reader.run(ast.parse(source)):
            matched = [name for name in known if re.fullmatch(pattern, name)]
            if not matched:
                raise FileNotFoundError(f"cell {place} reads {pattern}, which is not there")
            names |= set(matched)
        if names:
            found[place] = sorted(names)
    return found


class Reader:
    """Follows files through the names of a program, cell after cell."""

    def __init__(self) -> None:
        self.held: dict[str, Patterns] = {}

    def run(self, tree: ast.Module) -> Patterns:
        """Take in one cell; return the patterns of the files behind what it shows."""
        shown = NONE
        for statement in tree.body:
            shown |= self.statement(statement)
        return shown

    def statement(self, node: ast.stmt) -> Patterns:
        """Take in one statement; return what it shows."""
        if isinstance(node, ast.Expr):
            return self.expression(node.value)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            value = self.behind(node.value) if node.value is not None else NONE
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self.assign(target, value, isinstance(node, ast.AugAssign))
            return NONE
        if isinstance(node, ast.FunctionDef):
            self.held[node.name] = self.inside(node.args, node.body)
            return NONE
        if isinstance(node, ast.Return):
            return self.behind(node.value) if node.value else NONE
        shown = NONE
        if isinstance(node, ast.For):
            self.assign(node.target, self.behind(node.iter))
        if isinstance(node, ast.With):
            for item in node.items:
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, self.behind(item.context_expr))
        for part in ("body", "orelse", "finalbody"):
            for inner in getattr(node, part, []):
                shown |= self.statement(inner)
        return shown

    def expression(self, node: ast.expr) -> Patterns:
        """Take in an expression that stands by itself: it shows something, or fills a list."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = _owner(node.func)
            if owner and node.func.attr in CHANGES:
                self.held[owner] = self.held.get(owner, NONE) | self.behind(node)
                return NONE
        return self.behind(node)

    def assign(self, target: ast.expr, value: Patterns, more: bool = False) -> None:
        """Let a name hold what its value holds; a part of it is added to the whole."""
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self.assign(part, value, more)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value, more)
        elif isinstance(target, ast.Name):
            self.held[target.id] = value | (self.held.get(target.id, NONE) if more else NONE)
        elif owner := _owner(target):
            self.held[owner] = self.held.get(owner, NONE) | value

    def behind(self, node: ast.AST) -> Patterns:
        """Patterns of the files behind the value of an expression."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            key = _constant(node.slice)
            if isinstance(key, str) and key in CIRCUMSTANCES:
                return NONE
            if isinstance(key, tuple) and self.held.get(node.value.id) == {TRIALS}:
                return frozenset([f"trial-{key[0]}-{TRAININGS[key[1]]}\\.json"])
        if isinstance(node, ast.Name):
            return self.held.get(node.id, NONE)
        if isinstance(node, ast.Lambda):
            return self.inside(node.args, [ast.Expr(node.body)])
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            return self.comprehension(node)
        found = frozenset(_reads(node)) if isinstance(node, ast.Call) else NONE
        for child in ast.iter_child_nodes(node):
            found |= self.behind(child)
        return found

    def inside(self, arguments: ast.arguments, body: list[ast.stmt]) -> Patterns:
        """Patterns that a function brings in by itself; its arguments bring their own."""
        inner, found = Reader(), NONE
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        own = {a.arg for a in (*every, arguments.vararg, arguments.kwarg) if a}
        inner.held = {name: held for name, held in self.held.items() if name not in own}
        for statement in body:
            found |= inner.statement(statement)
        return found

    def comprehension(self, node: Any) -> Patterns:
        """Patterns behind a comprehension, whose variables are its own."""
        inner, found = Reader(), NONE
        inner.held = dict(self.held)
        for part in node.generators:
            source = inner.behind(part.iter)
            inner.assign(part.target, source)
            found |= source
        kept = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        kept += [test for part in node.generators for test in part.ifs]
        for part in kept:
            found |= inner.behind(part)
        return found


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
    elif name == "recorded_trials":
        yield TRIALS
    elif name == "stored_rows":
        _, data, recipe, _, model = (_pattern(argument) for argument in call.args)
        yield f"attacks/{data}-{model}-{recipe}\\.jsonl"


def _pattern(node: ast.expr) -> str:
    """Regular expression of a path, relative to the folder of results."""
    if isinstance(node, ast.Constant):
        return re.escape(str(node.value))
    if isinstance(node, ast.JoinedStr):
        return "".join(_pattern(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        left = "" if isinstance(node.left, ast.Name) else _pattern(node.left) + "/"
        return left + _pattern(node.right)
    return GAP


def sha256(path: Path) -> str:
    """Sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def stamp(notebook: Any, folder: Path = RESULTS, *, run: bool) -> None:
    """Store what the outputs were made from.

    Parameters
    ----------
    notebook : NotebookNode
        Changed in place.
    folder : Path
        Where the files lie.
    run : bool
        Whether the outputs were made just now. When not, a file that has a stamp keeps it.

    Source: ours.
    """
    used = sorted({name for names in files_of(notebook, folder).values() for name in names})
    before = {} if run else notebook["metadata"].get(STAMP, {})
    stamps = {name: before.get(name) or sha256(folder / name) for name in used}
    notebook["metadata"].pop(STAMP, None)
    if stamps:
        notebook["metadata"][STAMP] = stamps


def stale(notebook: Mapping[str, Any], folder: Path = RESULTS) -> list[str]:
    """What a chapter was not made from, one line each; empty when its outputs are fresh.

    Source: ours.
    """
    try:
        used = {name for names in files_of(notebook, folder).values() for name in names}
    except FileNotFoundError as error:
        return [str(error)]
    stamps = notebook["metadata"].get(STAMP, {})
    wrong = [f"no stamp for {name}" for name in sorted(used - stamps.keys())]
    wrong += [
        f"a stamp for {name}, which it does not read" for name in sorted(stamps.keys() - used)
    ]
    wrong += [
        f"{name} has changed since the outputs were drawn from it"
        for name in sorted(used & stamps.keys())
        if sha256(folder / name) != stamps[name]
    ]
    return wrong
