"""Settings of the commands: named, checked, read from TOML, and written into results."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field

from pidlib.attacks.attack import RECIPES
from pidlib.attacks.synonyms import OFFLINE, RESOURCES
from pidlib.data.perturbations import MIXES
from pidlib.io.strict_json import explained

ESTIMATED = {"wiener": "regression", "terminal": "terminal"}  # laws that are rules of `Estimator`
_LARGEST = 2**63 - 1  # no file holds a larger whole number

Count = Annotated[int, Field(ge=1, le=_LARGEST)]
Place = Annotated[int, Field(ge=0, le=_LARGEST)]
Share = Annotated[float, Field(gt=0, le=1)]
Weight = Annotated[float, Field(ge=0)]  # NaN is not


class Settings(BaseModel, frozen=True, strict=True, extra="forbid"):
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
        known = {k: v for k, v in options.items() if k in cls.model_fields and v is not None}
        try:
            with explained(cls.model_fields):
                return cls(**settings | known)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None


class FitSettings(Settings):
    """What `fit` takes besides; see `pidlib.PIDController.fit`."""

    n: Count | None = 2000
    scheme: str = "PD"
    variance: Share = 0.99
    c: Weight = 1e-3
    law: str = "averaged"
    gains: str = "normalised"
    layers: list[Place] | None = None
    skip_first: Place = 0
    correct_only: bool = True
    rank: Count | None = None
    mix: Literal[tuple(MIXES)] = "both"
    resources: Literal[OFFLINE[:2]] = "lexicon"
    rho: Weight | None = None
    batch_size: Count = 32
    max_length: Count = 256
    every: Weight = 20.0


class EvaluateSettings(Settings):
    """What `evaluate` takes besides."""

    n: Count | None = 1000
    control: str | None = None
    batch_size: Count = 64


class AttackSettings(Settings):
    """What `attack` takes besides; see `pidlib.attack`."""

    n: Count | None = 100
    control: str | None = None
    recipe: Literal[RECIPES] = "textfooler"
    resources: Literal[RESOURCES] = "lexicon"
    start: Place = 0
    budget: Annotated[int, Field(ge=2, le=_LARGEST)] | None = None
    max_length: Count = 256
    seed: Place = 0
