"""How large the house is and whether its rooms import one way: today's numbers beside the goals.

python tools/house.py    print them; exit 1 when one is more than it may be
"""

import ast
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PLUMBING = "_doors"  # what every folder's `__init__` calls to offer its names
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
NAMES = ("COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER")
LAYOUT = {getattr(tokenize, name) for name in NAMES}  # no tokens of code


class Measure(NamedTuple):
    """One number, the most that it may be, and where it was found."""

    what: str
    number: int
    goal: int
    where: object = ""
    held: int | None = None  # where the goal is not reached: the most that the tests let pass

    @property
    def most(self) -> int:
        """The most that it may be today."""
        return self.goal if self.held is None else self.held


def nodes(path: Path) -> list[ast.AST]:
    """Everything in the syntax of a file."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def sources(*places: str, root: Path = ROOT) -> list[Path]:
    """Python files in some folders."""
    return sorted(path for place in places for path in (root / place).rglob("*.py"))


def code_lines(path: Path) -> int:
    """Lines that hold a token that is neither a comment nor a docstring."""
    with tokenize.open(path) as file:
        tokens = [t for t in tokenize.generate_tokens(file.readline) if t.type not in LAYOUT]
    lines = {line for t in tokens for line in range(t.start[0], t.end[0] + 1)}
    for node in nodes(path):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def imports(path: Path) -> Iterator[str]:
    """Dotted names that a file imports, wherever in it."""
    for node in nodes(path):
        if isinstance(node, ast.Import | ast.ImportFrom):
            within = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            yield from (within + alias.name for alias in node.names)


def arrows(root: Path = ROOT) -> dict[str, set[str]]:
    """Rooms of pidlib, its top files and its folders, and the rooms that each imports."""
    files = [path for path in sources("pidlib", root=root) if path.stem != PLUMBING]
    room_of = {path: path.relative_to(root).with_suffix("").parts[1] for path in files}
    graph: dict[str, set[str]] = {room: set() for room in room_of.values()}
    for path, room in room_of.items():
        targets = {name.split(".")[1] for name in imports(path) if name.startswith("pidlib.")}
        targets.discard(PLUMBING)
        graph[room] |= {target if target in graph else "__init__" for target in targets} - {room}
    return graph


def floors(graph: dict[str, set[str]]) -> dict[str, int]:
    """Floor of each room: one above the highest that it imports. CycleError for a circle."""
    floor: dict[str, int] = {}
    for room in TopologicalSorter(graph).static_order():
        floor[room] = 1 + max((floor[below] for below in graph[room]), default=0)
    return floor


def doc_lines(node: ast.FunctionDef) -> int:
    """Lines of a docstring: at a door it is long by rule, so it does not make a function long."""
    first = node.body[0]
    return first.end_lineno - first.lineno + 1 if ast.get_docstring(node) else 0


def measures(root: Path = ROOT) -> list[Measure]:
    """Everything that is measured."""
    graph, top = arrows(root), sorted((root / "pidlib").glob("*.py"))
    library, evidence = sources("pidlib", root=root), sources("experiments", root=root)
    both = [*library, *evidence]
    code = {p: code_lines(p) for p in [*both, *sources("tools", "book/_ext", root=root)]}
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in both}
    functions = {
        f"{path.relative_to(root)}, {node.name}": node.end_lineno
        - node.lineno
        + 1
        - doc_lines(node)
        for path in both
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef)
    }
    folders = Counter(path.parent for path in both if path.stem != "__init__")
    file, function, folder = (max(d, key=d.get) for d in (lines, functions, folders))
    try:
        circle, height = "", max(floors(graph).values())
    except CycleError as error:
        circle, height = " > ".join(error.args[1]), len(graph)
    upward = sum(name.startswith("experiments") for path in library for name in imports(path))
    return [
        Measure("files at the top of pidlib", len(top), 12),
        Measure("code lines of the method, those files", sum(code[p] for p in top), 1_600),
        Measure("code lines of pidlib", sum(code[p] for p in library), 8_500, held=10_765),
        Measure("all lines of pidlib", sum(lines[p] for p in library), 14_000, held=18_650),
        Measure("code lines of experiments", sum(code[p] for p in evidence), 3_500, held=7_140),
        Measure(
            "code lines of all, with tools and book/_ext", sum(code.values()), 13_337, held=21_000
        ),
        Measure("lines of the largest file", lines[file], 400, file.relative_to(root)),
        Measure(
            "lines of the largest function, its docstring apart", functions[function], 60, function
        ),
        Measure("modules of the largest folder", folders[folder], 15, folder.relative_to(root)),
        Measure("rooms of pidlib", len(graph), 22),
        Measure("floors of imports between them", height, 10),
        Measure("circles of imports between them", int(circle != ""), 0, circle),
        Measure("imports of experiments in pidlib", upward, 0),
        Measure("rooms that pidlib.theory imports", len(graph["theory"]), 0),
    ]


def main() -> int:
    """Door of the command line."""
    every = measures()
    for measure in every:
        what, number, goal, where, _ = measure
        missed = "" if number <= goal else f"  not yet {where}".rstrip()
        missed = f"  MORE THAN {measure.most:,}: {where}" if number > measure.most else missed
        print(f"{what:<52}{number:>8,}  goal {goal:>6,}{missed}")
    return int(any(measure.number > measure.most for measure in every))


if __name__ == "__main__":
    sys.exit(main())
