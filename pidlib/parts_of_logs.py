"""Logs of attacks by several processes: each writes its own, and one is made of them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pidlib.outcomes import read_outcomes
from pidlib.processes import Processes


def part_of(log: str | Path, team: Processes) -> Path:
    """Name of the log of one process.

    Examples
    --------
    >>> part_of("out.jsonl", Processes(1, 2)).name
    'out.jsonl.1-of-2'

    Source: ours.
    """
    return Path(log).with_name(f"{Path(log).name}.{team.rank}-of-{team.count}")


def begin_part(log: str | Path, part: Path, ids: Sequence[int]) -> None:
    """Begin the log of one process with what an earlier run found out about its rows.

    A part that is there already is left as it is.

    Source: ours.
    """
    if not part.is_file() and Path(log).is_file():
        wanted = set(ids)
        _write(part, log, [o.as_json() for o in read_outcomes(log).outcomes if o.id in wanted])


def merge_parts(log: str | Path, count: int) -> None:
    """Put the outcomes of all processes into one log, by row, and remove the parts.

    Raises
    ------
    ValueError
        Parts of different attacks.

    Source: ours.
    """
    parts = [part_of(log, Processes(k, count)) for k in range(count)]
    there = [part for part in parts if part.is_file()]
    found = {}
    for path in [p for p in (Path(log), *there) if p.is_file()]:
        file = read_outcomes(path)
        if file.header["configuration"] != read_outcomes(there[0]).header["configuration"]:
            raise ValueError(f"{path.name} is of another attack than {there[0].name}")
        found |= {o.id: o for o in file.outcomes}
    _write(Path(log), there[0], [found[k].as_json() for k in sorted(found)])
    for part in there:
        part.unlink()


def _write(path: Path, like: str | Path, lines: Sequence[str]) -> None:
    """Write a log with the header of another, whole or not at all."""
    header = json.dumps(read_outcomes(like).header, ensure_ascii=False)
    partial = path.with_name(path.name + ".partial")
    partial.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    os.replace(partial, path)
