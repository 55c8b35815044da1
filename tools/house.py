"""How much there is to read, and whether imports run one way: today's numbers beside the goals.

python tools/house.py    print them; exit 1 when imports go round or the wrong way
"""

from __future__ import annotations

import ast
import io
import json
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"pidlib": "pidlib", "pidbook": "book/pidbook", "experiments": "experiments"}
GAUGE = (*PACKAGES.values(), "tools", "book/_ext", "notebooks")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
NAMES = ("COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER")
LAYOUT = {getattr(tokenize, name) for name in NAMES}  # no tokens of code


class Measure(NamedTuple):
    """One number and its goal; what is held may not be more, and all else is only printed."""

    what: str
    number: int
    goal: int
    where: object = ""
    held: bool = False


def source(path: Path) -> str:
    """Code of a file; of a notebook, of all its code cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = [c["source"] for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
    lines = "\n".join("".join(cell) for cell in cells).splitlines()
    return "\n".join(line for line in lines if line[:1] not in ("%", "!")) + "\n"


def files(place: str, root: Path = ROOT) -> list[Path]:
    """Files of code in a folder."""
    kinds = (".py", ".ipynb")
    found = sorted(path for path in (root / place).rglob("*") if path.suffix in kinds)
    return [path for path in found if ".ipynb_checkpoints" not in path.parts]


def tokens(path: Path) -> list[tokenize.TokenInfo]:
    """Tokens of a file, its comments and docstrings apart."""
    code = source(path)
    nodes = [n for n in ast.walk(ast.parse(code)) if isinstance(n, DOCUMENTED)]
    texts = [n.body[0] for n in nodes if n.body and ast.get_docstring(n) is not None]
    documented = {line for n in texts for line in range(n.lineno, n.end_lineno + 1)}
    every = tokenize.generate_tokens(io.StringIO(code).readline)
    return [t for t in every if t.type not in LAYOUT and t.start[0] not in documented]


def code_lines(path: Path) -> int:
    """Lines that hold a token that is neither a comment nor a docstring."""
    return len({k for t in tokens(path) for k in range(t.start[0], t.end[0] + 1)})


def imports(path: Path) -> Iterator[str]:
    """Dotted names that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def arrows(root: Path = ROOT) -> dict[str, set[str]]:
    """Modules of the packages by dotted name, and the modules that each imports."""
    named = {}
    for package, place in PACKAGES.items():
        for path in files(place, root):
            inner = path.relative_to(root / place).with_suffix("").parts
            named[".".join((package, *inner)).removesuffix(".__init__")] = path
    graph: dict[str, set[str]] = {name: set() for name in named}
    for name, path in named.items():
        for target in imports(path):
            while target and target not in graph:
                target = target.rpartition(".")[0]
            graph[name] |= {target} - {"", name}
    return graph


def wrong_way(graph: dict[str, set[str]]) -> list[str]:
    """Imports that go against the order: mathematics, library, the book's package, experiments."""
    order = {name: k for k, name in enumerate(PACKAGES)}
    found = []
    for name, targets in graph.items():
        for target in sorted(targets):
            up = order[target.partition(".")[0]] > order[name.partition(".")[0]]
            out = name.startswith("pidlib.theory") and not target.startswith("pidlib.theory")
            if up or (out and target not in ("pidlib", "pidlib._doors")):
                found.append(f"{name} > {target}")
    return found


def offered(root: Path = ROOT) -> Counter[str]:
    """Names that pidlib's doors offer, by where each is defined; how many doors offer it."""
    found: Counter[str] = Counter()
    for stub in sorted((root / "pidlib").rglob("__init__.pyi")):
        door = ".".join(stub.parent.relative_to(root).parts)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                found.update(f"{door}.{node.module}.{alias.name}" for alias in node.names)
    return found


def defined_twice(root: Path = ROOT) -> list[str]:
    """Public functions and classes of one name in two modules of the packages.

    Not counted: the door of a script, `main`, and drawings, which a chapter writes `draw.name`.
    """
    homes: Counter[str] = Counter()
    for place in PACKAGES.values():
        for path in files(place, root):
            body = ast.parse(path.read_text(encoding="utf-8")).body
            kinds = (ast.FunctionDef, ast.ClassDef)
            if path.parent.name != "drawings":
                homes.update(n.name for n in body if isinstance(n, kinds) and n.name[0] != "_")
    return sorted(name for name, n in homes.items() if n > 1 and name != "main")


def measures(root: Path = ROOT) -> list[Measure]:
    """Everything that is measured."""
    graph = arrows(root)
    try:
        circle = ""
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle = " > ".join(error.args[1])
    wrong, twice = wrong_way(graph), defined_twice(root)
    sizes = {place: sum(len(tokens(p)) for p in files(place, root)) for place in GAUGE}
    lines = {
        place: sum(map(code_lines, files(place, root))) for place in (*PACKAGES.values(), "tests")
    }
    parts = ", ".join(f"{place} {n:,}" for place, n in sizes.items())
    return [
        Measure("code lines of pidlib", lines["pidlib"], 6_000),
        Measure("public names of pidlib", len(offered(root)), 120),
        Measure("code lines of pidbook", lines["book/pidbook"], 5_000),
        Measure("code lines of experiments", lines["experiments"], 5_000),
        Measure("code lines of tests", lines["tests"], 11_000),
        Measure("tokens", sum(sizes.values()), 320_000, parts),
        Measure("names defined twice", len(twice), 0, ", ".join(twice)),
        Measure("circles of imports", int(circle != ""), 0, circle, held=True),
        Measure("imports the wrong way", len(wrong), 0, ", ".join(wrong), held=True),
    ]


def main() -> int:
    """Door of the command line."""
    every = measures()
    for what, number, goal, where, _ in every:
        print(f"{what:<28}{number:>9,}  goal {goal:>8,}  {where}".rstrip())
    return int(any(measure.held and measure.number > measure.goal for measure in every))


if __name__ == "__main__":
    sys.exit(main())
