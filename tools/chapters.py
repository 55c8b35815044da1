"""What the chapters hold: exercises, figures, cells, and how long they took when last run."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import contents
from contents import FIGURES, ROOT, cells, code, in_toc, prose

RECORD = ROOT / "book" / "chapters.json"  # no result that a chapter reads
DIFFICULTIES = ("Easy", "Medium", "Harder")
CALL = re.compile(r"^check\.(\w+)\(", re.M)
TITLE = re.compile(r"^### (.+)$", re.M)
EFFORT = re.compile(
    rf"^\*({'|'.join(DIFFICULTIES)})( with paper(?: and pencil)?)?, (\d+) minutes\.\*", re.M
)
FRAME = re.compile(r"^About (\d+) minutes to read, .*$", re.M)
PROMISED = re.compile(r"(?:Exercises: about|One exercise:) (\d+) minutes")


@dataclass(frozen=True)
class Exercise:
    """One exercise, as the page says it."""

    chapter: str  # stem of its file
    title: str
    name: str  # a function of pidbook.check
    difficulty: str  # one of DIFFICULTIES
    minutes: int
    paper: bool  # whether it wants paper and pencil


@dataclass(frozen=True)
class Chapter:
    """What one chapter holds."""

    stem: str
    title: str
    cells: int
    figures: int
    reading: int  # minutes
    promised: int  # minutes that it says its exercises take
    exercises: tuple[Exercise, ...]
    code_sha256: str  # by which a recorded run knows what it ran

    @property
    def minutes(self) -> int:
        """Minutes that its exercises take."""
        return sum(exercise.minutes for exercise in self.exercises)


def read(path: Path) -> Chapter:
    """Read one chapter.

    Raises
    ------
    ValueError
        An exercise without a heading, or without difficulty and minutes; a chapter that
        does not say how long it takes to read.
    """
    text, run = prose(path), cells(path, "code")
    frame, title = FRAME.search(text), re.search(r"^# (.+)$", text, re.M)
    if frame is None or title is None:
        raise ValueError(f"{path.stem} has no line 'About N minutes to read, ...', or no title")
    promised = PROMISED.search(frame[0])
    return Chapter(
        path.stem,
        title[1],
        len(run),
        sum(any(set(FIGURES) & set(out.get("data", {})) for out in cell.outputs) for cell in run),
        int(frame[1]),
        int(promised[1]) if promised else 0,
        tuple(_exercises(path)),
        code_sha256(path),
    )


def _exercises(path: Path) -> Iterator[Exercise]:
    for before, cell in pairwise(cells(path, "code", "markdown")):
        call = CALL.search(cell.source) if cell.cell_type == "code" else None
        if call is None:
            continue
        titles, efforts = TITLE.findall(before.source), EFFORT.findall(before.source)
        if not titles or not efforts:
            raise ValueError(
                f"{path.stem}: the exercise check.{call[1]} lacks a heading '### ...' or a line "
                "that begins with '*Easy, 5 minutes.*' (Easy, Medium or Harder)"
            )
        difficulty, paper, minutes = efforts[-1]
        yield Exercise(path.stem, titles[-1], call[1], difficulty, int(minutes), bool(paper))


@cache
def chapters() -> tuple[Chapter, ...]:
    """All chapters, in the order of the book."""
    return tuple(map(read, in_toc()))


def code_sha256(path: Path) -> str:
    """Hash of a chapter's code cells: text and figures may change, and the run stands."""
    return hashlib.sha256(json.dumps(code(path)).encode()).hexdigest()


def recorded() -> dict[str, dict[str, Any]]:
    """Runs that were recorded, by chapter."""
    return contents.read_record(RECORD)


def record(seconds: dict[Path, float], path: Path = RECORD) -> None:
    """Note how many seconds chapters took, when, and on what machine.

    Chapters that were not run keep the record that they had.
    """
    from pidlib.io.environment import machine, versions

    run = {
        "date": contents.today(),
        "machine": {key: machine()[key] for key in ("system", "processor", "cores", "gpu")},
        "versions": {key: versions()[key] for key in ("python", "torch") if key in versions()},
    }
    for notebook, taken in seconds.items():
        mark = {"seconds": round(taken, 1), "code_sha256": code_sha256(notebook)}
        contents.add_record(path, notebook.stem, mark | run)


def duration(minutes: int) -> str:
    """Minutes in words, to the half hour when there are many."""
    if minutes < 90:
        return f"{minutes} minutes"
    halves = round(minutes / 30)
    return f"about {halves // 2}{'½' if halves % 2 else ''} hours"


def slug(title: str) -> str:
    """Name that Sphinx gives to a section."""
    from docutils.nodes import make_id

    return make_id(re.sub(r"\{\w+\}|[`$*]", "", title))
