"""Pages made of what the chapters hold, as MyST text: the exercises, and the status.

Also on the page of the status: the result files, and what the canary recorded.
"""

from __future__ import annotations

import json
from typing import Any

import chapters
from chapters import DIFFICULTIES, Chapter, Exercise
from contents import ROOT

RESULTS = ROOT / "book" / "results"
CANARY = ROOT / "book" / "canary.json"


def exercises() -> str:
    """All exercises, by difficulty, in the order of the chapters."""
    every = [(one, task) for one in chapters.chapters() for task in one.exercises]
    minutes = sum(task.minutes for _, task in every)
    parts = [
        f"There are {len(every)} exercises in {len(chapters.chapters())} chapters; all of them "
        f"together take {chapters.duration(minutes)}."
    ]
    for difficulty in DIFFICULTIES:
        found = [(one, task) for one, task in every if task.difficulty == difficulty]
        total = sum(task.minutes for _, task in found)
        rows = [_exercise(one, task) for one, task in found]
        head = "| exercise | chapter | minutes | checked by |\n|---|---|---|---|\n"
        parts.append(f"## {difficulty}\n\n{len(found)} exercises, {total} minutes.")
        parts.append(head + "\n".join(rows))
    return "\n\n".join(parts)


def _exercise(chapter: Chapter, task: Exercise) -> str:
    title = task.title.replace("|", "\\|")
    link = f"{{chapter-section}}`{title} <{chapter.stem}#{chapters.slug(task.title)}>`"
    minutes = f"{task.minutes}, on paper" if task.paper else str(task.minutes)
    return (
        f"| {link} | {place(chapter)} | {minutes} "
        f"| {{py:obj}}`{task.name} <pidlib.check.{task.name}>` |"
    )


def place(chapter: Chapter) -> str:
    """Link to a chapter, with its number."""
    return f"[{int(chapter.stem[:2])} {chapter.title}](/notebooks/{chapter.stem}.ipynb)"


def status() -> str:
    """What each chapter holds, and how long it took when it was last recorded."""
    runs, found = chapters.recorded(), chapters.chapters()
    places: list[str] = []
    rows = [_chapter(one, runs.get(one.stem), places) for one in found]
    head = (
        "| chapter | minutes to read | seconds to run | code cells | figures | exercises "
        "| minutes for them |\n|---|---|---|---|---|---|---|\n"
    )
    fresh = [
        runs[one.stem]["seconds"]
        for one in found
        if one.stem in runs and runs[one.stem]["code_sha256"] == one.code_sha256
    ]
    total = (
        f"The recorded runs of {len(fresh)} of the {len(found)} chapters took "
        f"{sum(fresh) / 60:.1f} minutes together."
        if fresh
        else "No run of the chapters as they are has been recorded."
    )
    told = "\n".join(f"{_mark(k)}. {text}" for k, text in enumerate(places))
    reading = sum(one.reading for one in found)
    minutes = sum(task.minutes for one in found for task in one.exercises)
    whole = (
        f"All chapters take {chapters.duration(reading)} to read, their exercises "
        f"{chapters.duration(minutes)} more. {total}"
    )
    return "\n\n".join([whole, head + "\n".join(rows), told])


def _chapter(one: Chapter, run: dict[str, Any] | None, places: list[str]) -> str:
    if run is None:
        seconds = "not recorded"
    else:
        where = told(run)
        if where not in places:
            places.append(where)
        seconds = f"{run['seconds']:.1f} ({_mark(places.index(where))})"
        if run["code_sha256"] != one.code_sha256:
            seconds += ", changed since"
    minutes = sum(task.minutes for task in one.exercises)
    return (
        f"| {place(one)} | {one.reading} | {seconds} | {one.cells} | {one.figures} "
        f"| {len(one.exercises)} | {minutes} |"
    )


def _mark(k: int) -> str:
    return chr(ord("a") + k)


def told(run: dict[str, Any]) -> str:
    """Date, machine and versions of a recorded run, in words."""
    machine, versions = run["machine"], run["versions"]
    card = machine.get("gpu") or "no graphics card"
    return (
        f"Run on {run['date']}: {machine['system']}, {machine['processor']}, "
        f"{machine['cores']} processor cores, {card}, Python {versions['python']}, "
        f"torch {versions['torch']}"
    )


def results() -> str:
    """Result files that pages read: rows, minutes, date, and the commands."""
    rows, commands = [], []
    for path in sorted(RESULTS.glob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        count = f"{held['data']['n']:,}" if held["data"]["n"] else ""
        rows.append(
            f"| `{path.name}` | {count} "
            f"| {held['seconds'] / 60:,.1f} | {held['machine']['cores']} | {held['date']} |"
        )
        commands.append(f"# {path.name}\n{held['command']}")
    head = "| file | rows | minutes | cores | date |\n|---|---|---|---|---|\n"
    told = "\n".join(commands)
    return f"{head}{chr(10).join(rows)}\n\n:::{{dropdown}} Commands\n```bash\n{told}\n```\n:::"


def canary(runs: dict[str, dict[str, Any]] | None = None) -> str:
    """What came of the newest versions of the packages, on each Python."""
    if runs is None:
        runs = json.loads(CANARY.read_text(encoding="utf-8"))
    head = (
        "| Python | date | tests passed | failed | left out | skipped | minutes |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    lines = [
        f"| {run['python']} | {run['date']} | {run['passed']:,} | {len(run['failed'])} "
        f"| {', '.join(f'{extra} {count}' for extra, count in run['left_out'].items()) or 0} "
        f"| {run['skipped']} | {run['minutes']:.0f} |"
        for run in runs.values()
    ]
    wrong = [
        f"- Python {run['python']}: `{name}`" for run in runs.values() for name in run["failed"]
    ]
    failed = "Tests that failed:\n\n" + "\n".join(wrong) if wrong else "No test failed."
    return "\n\n".join([head + "\n".join(lines), failed, _packages(runs)])


def _packages(runs: dict[str, dict[str, Any]]) -> str:
    """One line for each version of a package that was tried, with the Pythons it passed on."""
    seen: dict[tuple, list[tuple[str, bool]]] = {}
    for python, run in runs.items():
        for row in run["packages"]:
            key = tuple(row[k] for k in ("package", "range", "pinned", "tried", "held_back_from"))
            seen.setdefault(key, []).append((python, not run["failed"]))
    order = {name: k for k, name in enumerate(dict.fromkeys(key[0] for key in seen))}
    lines = []
    for key in sorted(seen, key=lambda key: order[key[0]]):  # several versions of one together
        name, wanted, pinned, tried, beyond = key
        passed = ", ".join(python for python, well in seen[key] if well)
        lost = ", ".join(python for python, well in seen[key] if not well)
        told = "; ".join(filter(None, [passed, lost and f"failed on {lost}"]))
        newest = f"{tried} ({beyond} exists)" if beyond else tried
        lines.append(f"| {name} | `{wanted}` | {pinned or 'not pinned'} | {newest} | {told} |")
    head = "| package | range | pinned | newest tried | passed on Python |\n|---|---|---|---|---|\n"
    return head + "\n".join(lines)
