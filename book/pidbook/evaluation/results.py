"""Result files: what was run, on what, and every count, in one JSON each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pidlib.io.files import write_json
from pidlib.io.strict_json import read_json, shorten

RESULTS = Path(__file__).resolve().parents[2] / "results"
SCHEMA = 1
LARGEST = 1 << 26  # bytes; the largest that was recorded has 117 kB

# What every result file holds, with its type; most hold more. Not a pydantic class, and what only
# writing needs is loaded there: imports take longer than the reading.
_FIELDS: dict[str, Any] = {
    "name": str,
    "command": str,
    "configuration": dict,
    "configuration_sha256": str,
    "data": dict,
    "model": dict,
    "seed": int,
    "counts": dict | list,
    "seconds": int | float,
    "versions": dict,
    "machine": dict,
    "date": str,
}
_PARTS = {"data": ("sha256",), "model": ("sha256",), "versions": ("torch", "transformers")}


def configuration_hash(configuration: dict) -> str:
    """Sha256 of a configuration, whatever the order of its keys."""
    text = json.dumps(configuration, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_result(
    path: Path,
    *,
    command: str,
    configuration: dict,
    data: dict,
    model: dict,
    seed: int,
    counts: Any,
    seconds: float,
    **more: Any,
) -> dict:
    """Write a result file: the command that makes it again, all that decides it, and whole counts."""
    from pidlib.io.environment import machine, versions

    path = Path(path)
    if path.suffix != ".json":
        raise ValueError(f"a result file ends in .json, not {path.name!r}")
    for name, part in (("data", data), ("model", model)):
        if "sha256" not in part:
            raise ValueError(f"{name} has the fields {sorted(part)}; sha256 is missing")
    result = {
        "schema": SCHEMA,
        "name": path.stem,
        "command": command,
        "configuration": configuration,
        "configuration_sha256": configuration_hash(configuration),
        "data": data,
        "model": model,
        "seed": seed,
        "counts": counts,
        **more,
        "seconds": round(seconds, 1),
        "versions": versions(),
        "machine": machine(),
        "commit": commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
    result["content_sha256"] = _content_hash(result)
    write_json(path, result)
    return result


def _content_hash(result: dict) -> str:
    """Sha256 of all that a result file holds besides this sum."""
    plain = json.loads(json.dumps({k: v for k, v in result.items() if k != "content_sha256"}))
    return configuration_hash(plain)


def _check_fields(record: dict, fields: Mapping[str, Any], place: str = "") -> None:
    """Refuse a record in which a field is missing or has another type."""
    for name, kind in fields.items():
        if name not in record:
            raise ValueError(f"{place}{name} is missing")
        value = record[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            known = getattr(kind, "__name__", kind)
            raise ValueError(f"{place}{name} is {shorten(value)}; it has to be {known}")


def read_result(path: Path) -> dict:
    """Read a result file, and refuse one that is not whole or was changed after it was written.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no result file {path.name}; `python -m experiments run` writes it"
        )
    try:
        result = read_json(path, LARGEST)
    except ValueError as error:
        raise ValueError(f"{path.name} is not a whole JSON file ({error})") from None
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        raise ValueError(f"{path.name} is not a result file of schema {SCHEMA}")
    try:
        _check_fields(result, _FIELDS)
        for part, names in _PARTS.items():
            _check_fields(result[part], dict.fromkeys(names, str), f"{part}.")
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    if configuration_hash(result["configuration"]) != result["configuration_sha256"]:
        raise ValueError(f"{path.name}: the configuration was changed after it was written")
    if "content_sha256" in result and _content_hash(result) != result["content_sha256"]:
        raise ValueError(f"{path.name} was changed after it was written; record it again")
    return result


class Names(dict):
    """A mapping that says which names it has when it is asked for another."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"no {name!r}; there are {[*self]}")


def _named(value: Any) -> Any:
    """A value of JSON, each mapping in it as Names."""
    if isinstance(value, dict):
        return Names({name: _named(part) for name, part in value.items()})
    return [_named(part) for part in value] if isinstance(value, list) else value


def load_result(name: str) -> dict[str, Any]:
    """Return the recorded result of a name; one that it has not is refused wherever it is asked for."""
    path = RESULTS / f"{name}.json"
    if not path.is_file():
        near = get_close_matches(name, [of.stem for of in RESULTS.glob("*.json")], 4, cutoff=0)
        raise FileNotFoundError(f"no result {name!r}; on record with like names: {', '.join(near)}")
    return _named(read_result(path))


def is_stale(
    result: Mapping[str, Any],
    *,
    model: str | None = None,
    rows: Sequence[Mapping[str, Any]] | None = None,
) -> list[str]:
    """Name what differs between a result and what a page expects (empty: it is fresh).

    Parameters
    ----------
    result : dict
    model, rows : str, sequence of mappings, optional
        What is left out is not compared.

    Returns
    -------
    list of str
    """
    from pidlib.data.nli import fingerprint
    from pidlib.models import training_record  # torch is slow, and reading a result needs none

    reasons = []
    if rows is not None and result["data"]["sha256"] != fingerprint(rows):
        reasons.append("the data changed")
    if model and result["model"]["sha256"] != training_record(model)["adapter"]["sha256"]:
        reasons.append("the model changed")
    return reasons


def commit() -> str | None:
    """Commit of the checkout that pidlib was imported from, or None outside one."""
    import subprocess

    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=12", "HEAD"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
