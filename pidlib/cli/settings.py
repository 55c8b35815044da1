"""Settings of the commands: named, checked, read from TOML, and written into results."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from pidlib.attacks.attack import RECIPES
from pidlib.attacks.synonyms import OFFLINE, RESOURCES
from pidlib.data.perturbations import MIXES
from pidlib.io.records import explained
from pidlib.settings import LARGEST, LAWS, STRICT, ControlSettings, Place

ESTIMATED = {"wiener": "regression", "terminal": "terminal"}  # laws that are rules of `Estimator`

Count = Annotated[int, Field(ge=1, le=LARGEST)]
Weight = Annotated[float, Field(ge=0)]  # NaN is not


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Settings:
    """What every command takes."""

    model: str = "minilm-nli"
    data: str = "captions"
    split: str | None = None
    n: Count | None = None

    @classmethod
    def read(cls, path: Path | None, options: Mapping[str, Any]) -> Self:
        """Read a TOML file; options that are given win over it."""
        settings: dict[str, Any] = {}
        where = "the options"
        if path is not None:
            where = Path(path).name
            if not Path(path).is_file():
                raise FileNotFoundError(f"no settings in {where}: there is no such file")
            try:
                settings = tomllib.loads(Path(path).read_text(encoding="utf-8"))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{where} is not TOML ({str(error)[:200]})") from None
        known = cls.__pydantic_fields__
        given = {k: v for k, v in options.items() if k in known and v is not None}
        try:
            with explained(known):
                return cls(**settings | given)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FitSettings(Settings, ControlSettings):
    """What `fit` takes besides; see `pidlib.PIDController.fit`."""

    n: Count | None = 2000
    law: Literal[(*LAWS, *ESTIMATED)] = ControlSettings.law
    correct_only: bool = True
    rank: Count | None = None
    mix: Literal[tuple(MIXES)] = "both"
    resources: Literal[OFFLINE[:2]] = "lexicon"
    rho: Weight | None = None
    batch_size: Count = 32
    max_length: Count = 256
    every: Weight = 20.0


@dataclass(frozen=True, kw_only=True, config=STRICT)
class EvaluateSettings(Settings):
    """What `evaluate` takes besides."""

    n: Count | None = 1000
    control: str | None = None
    batch_size: Count = 64


@dataclass(frozen=True, kw_only=True, config=STRICT)
class AttackSettings(Settings):
    """What `attack` takes besides; see `pidlib.attack`."""

    n: Count | None = 100
    control: str | None = None
    recipe: Literal[RECIPES] = "textfooler"
    resources: Literal[RESOURCES] = "lexicon"
    start: Place = 0
    budget: Annotated[int, Field(ge=2, le=LARGEST)] | None = None
    max_length: Count = 256
    seed: Place = 0
