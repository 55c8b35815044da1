"""A configuration in TOML, the trial that it describes, and the result file that follows."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from experiments.trial import Trial
from pidbook.evaluation.results import load_result
from pidlib.io.files import as_json, write_json
from pidlib.io.records import explained

CONFIGS = Path(__file__).parent / "configs"
FROZEN = Path(__file__).parent / "frozen.toml"


def cached_json(
    path: Path, settings: Mapping[str, Any], compute: Callable[[], dict]
) -> dict[str, Any]:
    """What was computed under some settings: read from a file that tells them, or computed now."""
    stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if stored.get("of") != as_json(settings):
        stored = as_json({"of": settings} | compute())
        write_json(path, stored)  # last: the work is whole
    return {key: value for key, value in stored.items() if key != "of"}


def known_names() -> list[str]:
    """Names of the configurations that can be run."""
    return sorted(path.stem for path in CONFIGS.glob("*.toml"))


def frozen() -> dict[str, str]:
    """What was measured once and has left the tree: by name, a commit that holds it."""
    return tomllib.loads(FROZEN.read_text(encoding="utf-8"))


def command_again(name: str) -> str:
    """What measures a result again, at its commit if it is frozen; a trial was once asked of pidlib."""
    recorded = load_result(name)["command"]
    return f"python -m experiments run {name}" if "-m pidlib" in recorded else recorded


def read_experiment(config: str | Path) -> Trial:
    """Read a configuration: the name of one in `configs`, or a path; a wrong field is named."""
    path = config_path(config)
    if not path.is_file():
        if commit := frozen().get(str(config)):
            raise ValueError(
                f"{config} was measured once and has left the tree; to run it again: "
                f"git checkout {commit}, make env, .venv/bin/{command_again(str(config))}"
            )
        raise FileNotFoundError(f"no configuration {str(config)!r}; known: {known_names()}")
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is not TOML ({error})") from None
    if (kind := given.pop("experiment", None)) != "trial":
        raise ValueError(f"{path.name}: unknown experiment {kind!r}; known: 'trial'")
    try:
        with explained(Trial.__dataclass_fields__):
            return TypeAdapter(Trial).validate_json(json.dumps(given, default=str))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def config_path(config: str | Path) -> Path:
    """Where a configuration is: a name of one in `configs`, or a path."""
    path = Path(config)
    return path if path.suffix == ".toml" else CONFIGS / f"{config}.toml"
