"""A configuration in TOML, the experiment that it describes, and the result file that follows."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pidbook.evaluation.results import configuration_hash, write_result
from pidlib.io.files import as_json, write_json
from pidlib.io.records import explained

CONFIGS = Path(__file__).parent / "configs"
FROZEN = Path(__file__).parent / "frozen.toml"
EXPERIMENTS = {
    "trial": "experiments.run_trial.TrialRun",
    "wiener": "experiments.run_trial.TrialRun",
}
Report = Callable[[str], None]  # gets a line of progress


@dataclass(frozen=True)
class Experiment:
    """Settings of an experiment; `run` gives what its result file holds besides them."""

    name = ""  # stem of the result file
    seed = 0
    parts = ()  # what can be run by itself
    later = ()  # fields added after results were recorded; left out where they are empty
    __pydantic_config__ = {"extra": "forbid", "strict": True, "allow_inf_nan": False}

    @property
    def configuration(self) -> dict[str, Any]:
        """All that decides the outcome besides data and model, as JSON holds it."""
        return as_json({k: v for k, v in asdict(self).items() if v or k not in self.later})

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Do the work; finished parts of it are kept in `runs`."""
        raise NotImplementedError


def all_known(what: str, values: Collection[Any], known: Collection[Any]) -> None:
    """Refuse a value that is none of those known, by name."""
    for value in values:
        if value not in known:
            raise ValueError(f"unknown {what} {value!r}; known: {list(known)}")


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
    """What was measured once and has left the tree: by name, the last commit that holds it."""
    return tomllib.loads(FROZEN.read_text(encoding="utf-8"))


def read_experiment(config: str | Path) -> Experiment:
    """Read a configuration: the name of one in `configs`, or a path; a wrong field is named."""
    path = _path(config)
    if not path.is_file():
        if commit := frozen().get(str(config)):
            raise ValueError(
                f"{config} was measured once and has left the tree; to run it again: "
                f"git checkout {commit}, make env, .venv/bin/python -m experiments run {config}"
            )
        raise FileNotFoundError(f"no configuration {str(config)!r}; known: {known_names()}")
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is not TOML ({error})") from None
    kind = given.pop("experiment", None)
    if kind not in list(EXPERIMENTS):
        raise ValueError(f"{path.name}: unknown experiment {kind!r}; known: {list(EXPERIMENTS)}")
    module, _, name = EXPERIMENTS[kind].rpartition(".")
    settings = getattr(import_module(module), name)
    if hasattr(settings, "kind"):  # one class for two of them
        given["kind"] = kind
    try:
        with explained(settings.__dataclass_fields__):
            return TypeAdapter(settings).validate_json(json.dumps(given, default=str))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def _path(config: str | Path) -> Path:
    path = Path(config)
    return path if path.suffix == ".toml" else CONFIGS / f"{config}.toml"


def record(
    experiment: Experiment,
    results: str | Path,
    runs: str | Path = "runs",
    report: Report = print,
    config: str | Path | None = None,
    only: str | None = None,
) -> dict[str, Any]:
    """Run an experiment, or one part of it, and write its result file."""
    results, runs, config = Path(results), Path(runs), config or experiment.name
    started = time.perf_counter()
    if only is not None and only.partition(", ")[0] not in experiment.parts:
        raise ValueError(f"no part {only!r} of {experiment.name}; known: {list(experiment.parts)}")
    fields = experiment.run(results, runs, report, *([] if only is None else [only]))
    if fields is None:  # a part that comes before the result
        return {}
    configuration = experiment.configuration
    for part in ("data", "model"):  # what is drawn at random has no file: the settings decide
        fields[part] = {"sha256": configuration_hash(configuration)} | fields[part]
    return write_result(
        results / f"{experiment.name}.json",
        command=f"python -m experiments run {config}",
        config=_path(config).name,
        configuration=configuration,
        seed=experiment.seed,
        **{"seconds": time.perf_counter() - started} | fields,
    )
