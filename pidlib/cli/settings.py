"""Settings of the commands: named, checked, read from TOML, and written into results."""

from __future__ import annotations

import tomllib
import types
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self, Union, get_args, get_origin, get_type_hints

from pidlib.attacks.attack import RECIPES
from pidlib.attacks.synonyms import OFFLINE, RESOURCES
from pidlib.data.perturbations import MIXES

ESTIMATED = {"wiener": "regression", "terminal": "terminal"}  # laws that are rules of `Estimator`


@dataclass(frozen=True)
class Settings:
    """What every command takes."""

    model: str = "minilm-nli"
    data: str = "captions"
    split: str | None = None
    n: int | None = None

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for field in fields(self):
            value = getattr(self, field.name)
            if not _fits(value, hints[field.name]):
                huge = isinstance(value, int) and abs(value) >= 2**63
                told = "a huge number" if huge else repr(value)[:200]
                raise ValueError(f"{field.name} is {told}; it takes {_told(hints[field.name])}")
        self._at_least(1, "n", "batch_size", "max_length")
        self._at_least(0, "seed", "start", "rho", "c", "every")
        self._at_least(2, "budget")

    def _at_least(self, least: float, *names: str) -> None:
        for name in names:
            value = getattr(self, name, None)
            if value is not None and not value >= least:
                raise ValueError(f"{name} is {value}; it must be at least {least}")

    def _one_of(self, name: str, known: tuple[str, ...]) -> None:
        if getattr(self, name) not in known:
            raise ValueError(f"{name} is {getattr(self, name)!r}; choose one of {list(known)}")

    @classmethod
    def of(cls, given: Mapping[str, Any], where: str = "the settings") -> Self:
        """Make settings of a mapping; what is left out gets its default."""
        known = [field.name for field in fields(cls)]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ValueError(f"{where}: unknown {unknown[0]!r}; known: {known}")
        try:
            return cls(**given)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None

    @classmethod
    def read(cls, path: Path | None, changes: Mapping[str, Any]) -> Self:
        """Read a TOML file and change what was given besides."""
        given: dict[str, Any] = {}
        where = "the options"
        if path is not None:
            path = Path(path)
            if not path.is_file():
                raise FileNotFoundError(f"no settings in {path.name}: there is no such file")
            try:
                given = tomllib.loads(path.read_text(encoding="utf-8"))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path.name} is not TOML ({str(error)[:200]})") from None
            where = path.name
        given |= {name: value for name, value in changes.items() if value is not None}
        return cls.of(given, where)

    def told(self) -> dict[str, Any]:
        """All settings as JSON can hold them, for the result."""
        return asdict(self)


@dataclass(frozen=True)
class FitSettings(Settings):
    """What `fit` takes besides; see `pidlib.PIDController.fit`."""

    n: int | None = 2000
    scheme: str = "PD"
    variance: float = 0.99
    c: float = 1e-3
    law: str = "averaged"
    gains: str = "normalised"
    layers: list[int] | None = None
    mix: str = "both"
    resources: str = "lexicon"
    rho: float | None = None
    batch_size: int = 32
    max_length: int = 256
    every: float = 20.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._one_of("mix", tuple(MIXES))
        self._one_of("resources", OFFLINE[:2])


@dataclass(frozen=True)
class EvaluateSettings(Settings):
    """What `evaluate` takes besides."""

    n: int | None = 1000
    control: str | None = None
    batch_size: int = 64


@dataclass(frozen=True)
class AttackSettings(Settings):
    """What `attack` takes besides; see `pidlib.attack`."""

    n: int | None = 100
    control: str | None = None
    recipe: str = "textfooler"
    resources: str = "lexicon"
    start: int = 0
    budget: int | None = None
    max_length: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._one_of("recipe", RECIPES)
        self._one_of("resources", RESOURCES)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind: int is a float, bool is no int."""
    if get_origin(kind) in (Union, types.UnionType):
        return any(_fits(value, one) for one in get_args(kind))
    if kind is type(None):
        return value is None
    if get_origin(kind) is list:
        inner = get_args(kind)[0]
        return isinstance(value, list) and all(_fits(one, inner) for one in value)
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, int) and abs(value) >= 2**63:
        return False
    if kind is float:
        return isinstance(value, (int, float)) and value == value  # not NaN
    return isinstance(value, kind)


def _told(kind: Any) -> str:
    names = {int: "a whole number", float: "a number", str: "a text", type(None): "nothing"}
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join(_told(one) for one in get_args(kind) if one is not type(None))
    if get_origin(kind) is list:
        return "a list, each " + _told(get_args(kind)[0])
    return names.get(kind, kind.__name__)
