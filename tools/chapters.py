"""What the chapters hold: exercises, figures, cells, and how long they took when last run.

python tools/chapters.py    print a line for each chapter
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat

from contents import FIGURES, ROOT, in_toc

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
    """One exercise, as the page says it.

    Attributes
    ----------
    chapter, title, name : str
        Stem of the chapter's file, heading, and function of `pidlib.check`.
    difficulty : str
        One of `DIFFICULTIES`.
    minutes : int
    paper : bool
        Whether it wants paper and pencil.
    """

    chapter: str
    title: str
    name: str
    difficulty: str
    minutes: int
    paper: bool


@dataclass(frozen=True)
class Chapter:
    """What one chapter holds.

    Attributes
    ----------
    stem, title : str
    cells, figures, reading, promised : int
        Code cells, figures, minutes to read, and minutes that it says its exercises take.
    exercises : tuple of Exercise
    code_sha256 : str
        Of the code cells, by which a recorded run knows what it ran.
    """

    stem: str
    title: str
    cells: int
    figures: int
    reading: int
    promised: int
    exercises: tuple[Exercise, ...]
    code_sha256: str


def read(path: Path) -> Chapter:
    """Read one chapter.

    Raises
    ------
    ValueError
        An exercise without a heading, or without difficulty and minutes; a chapter that
        does not say how long it takes to read.
    """
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    frame, title = FRAME.search(text), re.search(r"^# (.+)$", text, re.M)
    if frame is None or title is None:
        raise ValueError(f"{path.stem} has no line 'About N minutes to read, ...', or no title")
    promised = PROMISED.search(frame[0])
    return Chapter(
        path.stem,
        title[1],
        len(code),
        sum(any(set(FIGURES) & set(out.get("data", {})) for out in cell.outputs) for cell in code),
        int(frame[1]),
        int(promised[1]) if promised else 0,
        tuple(_exercises(path.stem, cells)),
        code_sha256(path),
    )


def _exercises(stem: str, cells: list) -> list[Exercise]:
    found = []
    for before, cell in zip(cells, cells[1:], strict=False):
        call = CALL.search(cell.source) if cell.cell_type == "code" else None
        if call is None:
            continue
        titles, efforts = TITLE.findall(before.source), list(EFFORT.finditer(before.source))
        if not titles or not efforts:
            raise ValueError(
                f"{stem}: the exercise check.{call[1]} lacks a heading '### ...' or a line that "
                "begins with '*Easy, 5 minutes.*' (Easy, Medium or Harder)"
            )
        difficulty, paper, minutes = efforts[-1].groups()
        found.append(
            Exercise(stem, titles[-1], call[1], difficulty, int(minutes), paper is not None)
        )
    return found


@cache
def chapters() -> tuple[Chapter, ...]:
    """All chapters, in the order of the book."""
    return tuple(map(read, in_toc()))


def code_sha256(path: Path) -> str:
    """Hash of a chapter's code cells: text and figures may change, and the run stands."""
    cells = nbformat.read(path, as_version=4).cells
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps(sources).encode()).hexdigest()


def recorded() -> dict[str, dict[str, Any]]:
    """Runs that were recorded, by chapter."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def record(taken: dict[Path, float], path: Path = RECORD) -> None:
    """Note how many seconds chapters took, when, and on what machine.

    Chapters that were not run keep the record that they had.
    """
    from pidlib.io.environment import machine, versions

    held = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    where = {key: machine()[key] for key in ("system", "processor", "cores", "gpu")}
    run = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": where,
        "versions": {key: versions()[key] for key in ("python", "torch") if key in versions()},
    }
    for notebook, seconds in taken.items():
        mark = {"seconds": round(seconds, 1), "code_sha256": code_sha256(notebook)}
        held[notebook.stem] = mark | run
    kept = {stem: held[stem] for stem in sorted(held)}
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    os.replace(part, path)


def effort(exercise: Exercise) -> str:
    """Difficulty and minutes, as a table shows them."""
    return f"{exercise.minutes} min" + (", paper" if exercise.paper else "")


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


def main() -> int:
    """Door of the command line."""
    for one in chapters():
        minutes = sum(exercise.minutes for exercise in one.exercises)
        print(
            f"{one.stem:<26}{one.cells:3} cells {one.figures:2} figures {one.reading:3} min "
            f"{len(one.exercises)} exercises {minutes:3} min (says {one.promised})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
