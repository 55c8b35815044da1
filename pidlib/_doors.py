"""Packages whose names are loaded on first use, by the `__init__.pyi` beside their `__init__.py`."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import lazy_loader


class _Door(ModuleType):
    """A package in which a submodule never hides a name that the package offers."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in self.__all__):
            super().__setattr__(name, value)


def lazy_door(package: str, file: str) -> tuple[Any, Any, list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package that loads its names on first use."""
    sys.modules[package].__class__ = _Door
    return lazy_loader.attach_stub(package, file)
