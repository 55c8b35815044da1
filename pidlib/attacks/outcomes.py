"""What an attack did to each example, and the file that holds it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import NonNegativeInt

from pidlib.data.edits import Edit, rebuild, row_hash
from pidlib.data.rows import as_rows
from pidlib.io.files import as_json
from pidlib.io.records import read_record
from pidlib.io.strict_json import parse_json

SCHEMA = "pidlib-outcomes/1"
STATUSES = ("succeeded", "failed", "skipped")


@dataclass(frozen=True)
class Outcome:
    """What an attack did to one example.

    Attributes
    ----------
    id, row : int, index of the row in its split, and str, hash of its text and label
    status : `"succeeded"` (the label was right and is wrong), `"failed"`, or `"skipped"` (was wrong)
    edits : tuple of Edit, of failed attacks too
    queries, forwards : int, answers asked for, and distinct texts that the model really computed
    """

    id: NonNegativeInt
    status: Literal[STATUSES]
    edits: tuple[Edit, ...]
    queries: NonNegativeInt
    forwards: NonNegativeInt
    row: str

    def as_json(self) -> str:
        """One line of JSON, without the line break."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str | bytes) -> Outcome:
        """Read the outcome from one line of JSON; a ValueError says what is wrong with it."""
        return read_record(cls, parse_json(line))


@dataclass(frozen=True)
class _Header:
    """What the first line of a file of outcomes holds, and more."""

    schema: Literal[SCHEMA]
    configuration: dict[str, Any]


class OutcomeFile(NamedTuple):
    """A file of outcomes.

    Attributes
    ----------
    header : dict, configuration of the attack, the first line
    outcomes : list of Outcome
    whole_bytes : int, where the last whole line ends; what follows was cut off
    """

    header: dict[str, Any]
    outcomes: list[Outcome]
    whole_bytes: int


def read_outcomes(path: str | Path) -> OutcomeFile:
    """Read a file of outcomes; a last line cut off in writing is dropped, other flaws are refused.

    Parameters
    ----------
    path : path of JSON lines, the first of them the header

    Returns
    -------
    OutcomeFile
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no outcomes at {path.name}; run an attack with log= first")
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1  # what follows the last line break was cut off
    lines = content[:whole].split(b"\n")[:-1]
    try:
        header = parse_json(lines[0] if lines else b"")
        read_record(_Header, header)
    except ValueError as problem:
        raise ValueError(
            f"{path.name} is not a file of outcomes ({SCHEMA}): {problem}; give another path"
        ) from None
    outcomes = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            outcomes.append(Outcome.from_json(line))
        except ValueError as problem:
            raise ValueError(f"{path.name}, line {number}, is no outcome: {problem}") from None
    return OutcomeFile(header, outcomes, whole)


class OutcomeLog:
    """A file of outcomes that grows by one line per example and can be resumed.

    Parameters
    ----------
    path : path, made when missing, its folder too
    configuration : mapping, what decides the outcomes; a file of another one is refused
    made : mapping, optional; what is only told (versions, machine) and may differ on resuming
    """

    def __init__(
        self,
        path: str | Path,
        configuration: Mapping[str, Any],
        made: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = Path(path)
        configuration = as_json(configuration)
        self.done: dict[int, Outcome] = {}
        if self.path.is_file() and self.path.read_bytes().count(b"\n"):
            header, outcomes, whole_bytes = read_outcomes(self.path)
            stored = header["configuration"]
            if changes := [
                f"{key}: {stored.get(key)!r} there, {configuration.get(key)!r} now"
                for key in sorted({*stored, *configuration})
                if stored.get(key) != configuration.get(key)
            ]:
                raise ValueError(
                    f"{self.path.name} was made with another configuration "
                    f"({'; '.join(changes)}); give another log, or delete it"
                )
            self.done = {outcome.id: outcome for outcome in outcomes}
            with self.path.open("r+b") as file:
                file.truncate(whole_bytes)
        else:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            header = {"schema": SCHEMA, "configuration": configuration, "made": dict(made or {})}
            self.path.write_text(json.dumps(header, ensure_ascii=False) + "\n", encoding="utf-8")

    def append(self, outcome: Outcome) -> None:
        """Add one outcome and hand it to the operating system at once."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(outcome.as_json() + "\n")
        self.done[outcome.id] = outcome


def transfer_rows(
    rows: Sequence[Mapping[str, Any]], outcomes: Iterable[Outcome], ids: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """Attacked rows, ready to be shown to another model; ValueError for a row that was not attacked.

    Parameters
    ----------
    rows : sequence of mappings, the rows attacked or the whole split
    outcomes : iterable of Outcome
    ids : sequence of int, optional; of `rows`, by default 0, 1, ...

    Returns
    -------
    list of dict, in the order of the outcomes, with `id` and `kind`, the status

    Examples
    --------
    >>> row = {"text": "a fine film", "label": 1}
    >>> outcome = Outcome(0, "succeeded", (Edit("text", 1, "nice"),), 9, 7, row_hash(row))
    >>> transfer_rows([row], [outcome])
    [{'text': 'a nice film', 'label': 1, 'id': 0, 'kind': 'succeeded'}]

    Source: §3.1 (examples made against the uncontrolled model).
    """
    rows = as_rows(rows)
    places = {int(k): place for place, k in enumerate(range(len(rows)) if ids is None else ids)}
    attacked = []
    for outcome in outcomes:
        if outcome.id not in places:
            raise ValueError(f"there is no row {outcome.id} among the {len(places)} rows given")
        row = rows[places[outcome.id]]
        if row_hash(row) != outcome.row:
            raise ValueError(f"row {outcome.id} is not the text that was attacked; load that data")
        attacked.append(rebuild(row, outcome.edits) | {"id": outcome.id, "kind": outcome.status})
    return attacked


class AttackCounts(NamedTuple):
    """Counts of an attack.

    Attributes
    ----------
    n, clean, attacked : int, rows, and right answers before and after
    succeeded, failed, skipped, forwards : int, rows by outcome, and texts that the model computed
    words_changed, queries : float, medians over successes, and over all that were not skipped
    """

    n: int
    clean: int
    attacked: int
    succeeded: int
    failed: int
    skipped: int
    words_changed: float
    queries: float
    forwards: int


def attack_table(outcomes: Sequence[Outcome]) -> AttackCounts:
    """Count what an attack did; medians are 0 where there is nothing to count.

    Parameters
    ----------
    outcomes : sequence of Outcome

    Returns
    -------
    AttackCounts

    Examples
    --------
    >>> attack_table([Outcome(0, "failed", (), 5, 4, ""), Outcome(1, "skipped", (), 1, 1, "")])[:6]
    (2, 1, 1, 0, 1, 1)
    """
    count = {status: sum(o.status == status for o in outcomes) for status in STATUSES}
    changed = [len(o.edits) for o in outcomes if o.status == "succeeded"] or [0]
    queries = [o.queries for o in outcomes if o.status != "skipped"] or [0]
    return AttackCounts(
        n=len(outcomes),
        clean=count["succeeded"] + count["failed"],
        attacked=count["failed"],
        **count,
        words_changed=statistics.median(changed),
        queries=statistics.median(queries),
        forwards=sum(o.forwards for o in outcomes),
    )
