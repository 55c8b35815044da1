"""What pidlib offers its users at its doors, how that is documented, and who uses it.

python tools/library.py    say which public names are not documented as they should be
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import pidlib
from contents import code, in_toc, prose

# What users import from: folders, whose `__init__` says what they offer, and files of the method.
DOORS = ("attacks", "data", "estimation", "evaluation", "theory")
METHOD = ("controller", "diagnosis", "gain", "hooks", "laws", "models", "pid", "settings")
SUMMARY = 110  # characters that a summary may have
TAG = re.compile(r"^(Source|Departure):\s+(.+(?:\n.+)*)", re.M)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)  # code that a page shows
CONSTANT = re.compile(r"^([A-Z][A-Z0-9_]*)\b[^=\n]* = ", re.M)
MEMBERS = (FunctionType, property, cached_property, classmethod, staticmethod)


def public() -> list[str]:
    """Modules for users; what is in no one of them may change from version to version."""
    return sorted((*DOORS, *METHOD))


def load(module: str) -> ModuleType:
    """A module of the library by its name without `pidlib`."""
    return import_module(f"pidlib.{module}")


@cache
def offered(module: str) -> dict[str, Any]:
    """Functions and classes that a public module offers: a folder those of its `__init__.pyi`."""
    real = load(module)
    names, wanted = list(vars(real)), f"{real.__name__}."
    if hasattr(real, "__path__"):
        names, wanted = sorted(real.__all__, key=str.lower), "pidlib."
    return {
        name: value
        for name in names
        if callable(value := getattr(real, name))
        and f"{getattr(value, '__module__', '')}.".startswith(wanted)
        and not name.startswith("_")
    }


def constants(module: str) -> dict[str, Any]:
    """Public constants of a module, and those that a folder offers."""
    real = load(module)
    names = getattr(real, "__all__", None) or CONSTANT.findall(inspect.getsource(real))
    return {name: getattr(real, name) for name in names if name.isupper() and hasattr(real, name)}


def members(value: Any) -> dict[str, Any]:
    """Public methods and properties that a class itself defines."""
    own = vars(value).items() if inspect.isclass(value) else ()
    return {n: held for n, held in own if not n.startswith("_") and isinstance(held, MEMBERS)}


@cache
def places() -> dict[str, str]:
    """Public address of each function and class, by the address where it is defined."""
    return {
        f"{value.__module__}.{value.__qualname__}": f"pidlib.{module}.{name}"
        for module in public()
        for name, value in offered(module).items()
    }


def front_door() -> dict[str, str]:
    """Names of the package itself, and the addresses where they are defined."""
    return {
        name: f"{value.__module__}.{name}"
        for name in pidlib.__all__
        if hasattr(value := getattr(pidlib, name), "__module__")
    }


def sections(doc: str) -> dict[str, str]:
    """Parts of a docstring by heading, "" for what stands first; without its tags."""
    head, *rest = re.split(r"^(\w+)\n-{3,}$", TAG.sub("", doc), flags=re.M)
    return {"": head.strip()} | dict(zip(rest[::2], rest[1::2], strict=True))


def summary(value: Any) -> str:
    """First paragraph of a docstring."""
    return sections(inspect.cleandoc(value.__doc__))[""].split("\n\n")[0]


def names_in(text: str) -> list[str]:
    """Names that a section like Parameters lists, stars taken off."""
    heads = [line.partition(" : ")[0] for line in text.splitlines() if re.match(r"\S", line)]
    return sorted(name.strip().lstrip("*") for head in heads for name in head.split(","))


def parameters(value: Any) -> list[str]:
    """What a function or a class is called with; of a record its fields."""
    if hasattr(value, "_fields"):
        return sorted(value._fields)
    if is_dataclass(value):
        own = {f.name for f in fields(value) if f.init} & set(value.__annotations__)
        return sorted(name for name in own if not name.startswith("_"))
    value = vars(value).get("__init__") if inspect.isclass(value) else value
    names = inspect.signature(value).parameters if value else ()
    return sorted(name for name in names if name not in ("self", "cls") and name[0] != "_")


def problems(label: str, value: Any) -> list[str]:
    """What the docstring of a name lacks, its members' included."""
    inner = [text for n, v in members(value).items() for text in problems(f"{label}.{n}", v)]
    bare = getattr(value, "__func__", getattr(value, "func", value))
    if not bare.__doc__:
        return [f"{label}: no docstring", *inner]
    parts, first, wrong = sections(inspect.cleandoc(bare.__doc__)), summary(bare), []
    if "\n" in first or len(first) > SUMMARY or not first.endswith((".", "?")):
        wrong.append("the summary is not one sentence on one line")
    record = is_dataclass(value) or hasattr(value, "_fields")
    told = parts.get("Parameters", "") + (parts.get("Attributes", "") if record else "")
    # Functions at the doors say all; methods and helpers of the method may be short.
    door, _, name = label.rpartition(".")
    short = door in METHOD and name not in front_door()
    full = inspect.isfunction(value) and value.__name__ == value.__qualname__ and not short
    if record or (not isinstance(value, property) and (full or len(parts) > 1)):
        have = names_in(told)
        if have != parameters(bare):
            wrong.append(f"it tells of the parameters {have}, and has {parameters(bare)}")
    back = bare.__annotations__.get("return") if full else None
    if back and ("Returns" in parts or "Yields" in parts) == (back in ("None", "Iterator[None]")):
        wrong.append(f"it returns {back}; the section Returns or Yields says otherwise")
    return [f"{label}: {text}" for text in wrong] + inner


@cache
def uses() -> dict[str, list[str]]:
    """Chapters whose code, in cells or shown in the text, uses a name, by its address."""
    found: dict[str, list[str]] = {}
    for path in in_toc():
        shown = [block for block in BLOCK.findall(prose(path)) if "import" in block]
        for key in sorted(set(used("\n".join([*code(path), *shown])))):
            found.setdefault(key, []).append(path.stem)
    return found


def used(source: str) -> Iterator[str]:
    """Address of every name of pidlib that some code uses, where it is defined."""
    modules: dict[str, str] = {}
    nodes = list(ast.walk(ast.parse(source)))
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {a.asname: a.name for a in node.names if a.name.startswith("pidlib.")}
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("pidlib."):
            for alias in node.names:
                value = _value(node.module, alias.name)
                if isinstance(value, ModuleType):
                    modules[alias.asname or alias.name] = value.__name__
                else:
                    yield _address(node.module, alias.name)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in modules:
                yield _address(modules[node.value.id], node.attr)


def _value(module: str, name: str) -> Any:
    real = import_module(module)
    return getattr(real, name) if hasattr(real, name) else import_module(f"{module}.{name}")


def _address(module: str, name: str) -> str:
    value = _value(module, name)
    return f"{value.__module__}.{name}" if callable(value) else f"{module}.{name}"


def main() -> int:
    """Door of the command line."""
    found = [f"{name}: no docstring" for name in public() if not load(name).__doc__]
    found += [t for m in public() for n, v in offered(m).items() for t in problems(f"{m}.{n}", v)]
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
