"""Pages made of what the chapters hold, as MyST text: the exercises, and the status.

Also what the canary recorded, and what was measured: the result files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

import chapters
from chapters import DIFFICULTIES, Chapter
from contents import RESULTS, ROOT, number, read_record, table
from experiments.experiment import command_again, frozen

SENTENCES = ROOT / "book" / "measured.toml"
CANARY = ROOT / "book" / "canary.json"  # by tools/canary.py
CHECKS = ROOT / "book" / "checks.json"  # by tools/suite.py
VERSIONS = ROOT / "book" / "versions.json"  # measured by tests/models/test_versions.py
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def exercises() -> str:
    """All exercises, by difficulty, in the order of the chapters."""
    every = [(chapter, task) for chapter in chapters.chapters() for task in chapter.exercises]
    minutes = sum(task.minutes for _, task in every)
    parts = [
        f"There are {len(every)} exercises in {len(chapters.chapters())} chapters; all of them "
        f"together take {chapters.duration(minutes)}."
    ]
    for difficulty in DIFFICULTIES:
        rows = [
            {
                "exercise": f"{{chapter-section}}`{task.title.replace('|', chr(92) + '|')} "
                f"<{chapter.stem}#{chapters.slug(task.title)}>`",
                "chapter": place(chapter),
                "minutes": f"{task.minutes}, on paper" if task.paper else task.minutes,
                "checked by": f"`{task.name}`",
            }
            for chapter, task in every
            if task.difficulty == difficulty
        ]
        total = sum(task.minutes for _, task in every if task.difficulty == difficulty)
        parts.append(f"## {difficulty}\n\n{len(rows)} exercises, {total} minutes.")
        parts.append(table(rows))
    return "\n\n".join(parts)


def place(chapter: Chapter) -> str:
    """Link to a chapter, with its number."""
    return f"[{number(chapter.stem)}{chapter.title}](/notebooks/{chapter.stem}.ipynb)"


def status() -> str:
    """What each chapter holds, and how long it took when it was last recorded."""
    runs, every = chapters.recorded(), chapters.chapters()
    machines = list(dict.fromkeys(circumstances(runs[c.stem]) for c in every if c.stem in runs))
    rows = [
        {
            "chapter": place(chapter),
            "minutes to read": chapter.reading,
            "seconds to run": seconds(chapter, runs.get(chapter.stem), machines),
            "code cells": chapter.cells,
            "figures": chapter.figures,
            "exercises": len(chapter.exercises),
            "minutes for them": chapter.minutes,
        }
        for chapter in every
    ]
    fresh = [
        runs[chapter.stem]["seconds"]
        for chapter in every
        if runs.get(chapter.stem, {}).get("code_sha256") == chapter.code_sha256
    ]
    total = "No run of the chapters as they are has been recorded."
    if fresh:
        total = (
            f"The recorded runs of {len(fresh)} of the {len(every)} chapters took "
            f"{sum(fresh) / 60:.1f} minutes together."
        )
    reading = chapters.duration(sum(chapter.reading for chapter in every))
    minutes = chapters.duration(sum(chapter.minutes for chapter in every))
    whole = f"All chapters take {reading} to read, their exercises {minutes} more. {total}"
    notes = "\n".join(f"{mark}. {text}" for mark, text in zip(LETTERS, machines, strict=False))
    return "\n\n".join([whole, table(rows), notes])


def seconds(chapter: Chapter, run: dict[str, Any] | None, machines: list[str]) -> str:
    """How long a chapter took, the letter of the machine, and whether it has changed since."""
    if run is None:
        return "not recorded"
    mark = LETTERS[machines.index(circumstances(run))]
    since = "" if run["code_sha256"] == chapter.code_sha256 else ", changed since"
    return f"{run['seconds']:.1f} ({mark}){since}"


def circumstances(run: dict[str, Any]) -> str:
    """Date, machine and versions of a recorded run, in words."""
    machine, versions = run["machine"], run["versions"]
    card = machine.get("gpu") or "no graphics card"
    return (
        f"Run on {run['date']}: {machine['system']}, {machine['processor']}, "
        f"{machine['cores']} processor cores, {card}, Python {versions['python']}, "
        f"torch {versions['torch']}"
    )


def sentences() -> dict[str, str]:
    """What each result file holds, by its name."""
    return tomllib.loads(SENTENCES.read_text(encoding="utf-8"))


def measured() -> str:
    """Every result file: what it holds, rows, minutes, date, the command, the commit if frozen."""
    paths = sorted(RESULTS.glob("*.json"), key=lambda path: path.stem)
    results = {path.stem: read_record(path) for path in paths}
    commits = frozen()
    live = {name: of for name, of in results.items() if name not in commits}
    parts = ["## Can be run again", result_table(live), commands([*live])]
    for commit in dict.fromkeys(commits.values()):
        once = {name: results[name] for name, at in commits.items() if at == commit}
        said = f"Commit `{commit}` holds what these were measured with."
        first = f"git checkout {commit}\nmake env\n"
        parts += [f"## Frozen at {commit[:12]}", said, result_table(once), commands([*once], first)]
    return "\n\n".join(parts)


def result_table(results: dict[str, dict[str, Any]]) -> str:
    """One line for each result file."""
    said = sentences()
    rows = [
        {
            "what it holds, and its name": f"{said[name]} `{name}`",
            "rows": f"{result['data']['n']:,}" if result["data"]["n"] else "",
            "minutes": f"{result['seconds'] / 60:,.1f}",
            "date": result["date"],
        }
        for name, result in results.items()
    ]
    return table(rows)


def commands(names: Sequence[str], first: str = "") -> str:
    """The commands of some results, folded, after what has to be typed first."""
    lines = "\n".join(f"# {name}\n{command_again(name)}" for name in names)
    return f":::{{dropdown}} Commands\n```bash\n{first}{lines}\n```\n:::"


def canary(runs: dict[str, dict[str, Any]] | None = None) -> str:
    """What came of the newest versions of the packages, on each Python."""
    runs = read_record(CANARY) if runs is None else runs
    rows = [
        {
            "Python": run["python"],
            "date": run["date"],
            "tests passed": f"{run['passed']:,}",
            "failed": len(run["failed"]),
            "left out": ", ".join(f"{e} {n}" for e, n in run["left_out"].items()) or 0,
            "skipped": run["skipped"],
            "minutes": f"{run['minutes']:.0f}",
        }
        for run in runs.values()
    ]
    wrong = [f"- Python {r['python']}: `{name}`" for r in runs.values() for name in r["failed"]]
    failed = "Tests that failed:\n\n" + "\n".join(wrong) if wrong else "No test failed."
    return "\n\n".join(filter(None, [table(rows), failed, _packages(runs), _untried(runs)]))


def versions() -> str:
    """What two versions of transformers do otherwise, by kind of model; tested on the one installed."""
    rows, said = [], set()
    for row in read_record(VERSIONS):
        what = row["what"]
        rows.append(
            {"": "" if what in said else what, "models": ", ".join(row["models"])}
            | {f"in {version}": row[version] for version in ("4.57", "5.24")}
        )
        said.add(what)
    return table(rows)


def left_out() -> str:
    """Checks that are too long for `make test`: what each is, and how it ended when last run."""
    newest = max(read_record(CANARY).values(), key=lambda run: run["date"])
    arithmetic = read_record(RESULTS / "bench-portable.json")
    lines = [line for line in arithmetic["counts"] if line["run"]]
    differ = sum(line["cells_differ"] + line["tests_differ"] for line in lines)
    every = sum(line["cells"] + line["tests"] for line in lines)
    rows = [
        ("long", "in full what shorter tests sample", read_record(CHECKS).get("long")),
        (
            "portable",
            f"chapters and numeric tests in {len(lines)} kinds of arithmetic",
            {"date": arithmetic["date"], "passed": every - differ, "failed": differ},
        ),
        (
            "canary",
            "the library's tests on the newest packages",
            {"date": newest["date"], "passed": newest["passed"], "failed": len(newest["failed"])},
        ),
    ]
    return table(
        [
            {
                "command": f"`make {name}`",
                "what": what,
                "last run": run["date"] if run else "not recorded yet",
                "passed": f"{run['passed']:,}" if run else "",
                "failed": run["failed"] if run else "",
            }
            for name, what, run in rows
        ]
    )


def _untried(runs: dict[str, dict[str, Any]]) -> str:
    """Packages that the library came to need after some of the runs."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [need.split(">")[0].split("<")[0] for need in needed["dependencies"]]
    lacking = {
        python: [name for name in names if name not in {row["package"] for row in run["packages"]}]
        for python, run in runs.items()
    }
    told = [f"{', '.join(new)} (Python {python})" for python, new in lacking.items() if new]
    return f"Needed since then, and not tried: {'; '.join(told)}." if told else ""


def _packages(runs: dict[str, dict[str, Any]]) -> str:
    """One line for each version of a package that was tried, with the Pythons it passed on."""
    tried: dict[tuple, dict[bool, list[str]]] = {}
    for python, run in runs.items():
        for row in run["packages"]:
            key = tuple(row[k] for k in ("package", "range", "pinned", "tried", "held_back_from"))
            tried.setdefault(key, {True: [], False: []})[not run["failed"]].append(python)
    order = list(dict.fromkeys(key[0] for key in tried))
    rows = []
    for key in sorted(tried, key=lambda key: order.index(key[0])):  # versions of one together
        name, wanted, pinned, version, beyond = key
        passed, lost = (", ".join(tried[key][well]) for well in (True, False))
        rows.append(
            {
                "package": name,
                "range": f"`{wanted}`",
                "pinned": pinned or "not pinned",
                "newest tried": f"{version} ({beyond} exists)" if beyond else version,
                "passed on Python": "; ".join(filter(None, [passed, lost and f"failed on {lost}"])),
            }
        )
    return table(rows)
