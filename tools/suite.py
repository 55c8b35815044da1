"""Run every check, whatever fails on the way, and say at the end what each stage found.

python tools/suite.py                 all stages, in order
python tools/suite.py lint chapters   some of them
python tools/suite.py long            minutes of what shorter tests sample: not in `make test`

Chapters that `make book` has run are not run again: their outputs are compared with the stored ones.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tabulate import tabulate

import book
from contents import BUILD, ROOT, add_record, in_toc, today

REPORTS = BUILD / "reports"
RECORD = ROOT / "book" / "checks.json"  # of checks that `make test` leaves out
ONE_THREAD = os.environ | {"OMP_NUM_THREADS": "1"}  # the workers are as many as the cores
NBVAL = (
    "--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/nbval_sanitize.cfg",
    "--nbval-cell-timeout", "600",
)  # fmt: skip
LINTERS = (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("codespell_lib",))


class Count(NamedTuple):
    """How many checks of a stage passed, failed and were skipped."""

    passed: int
    failed: int
    skipped: int


class Stage(NamedTuple):
    """One stage of the checks that was run; processor seconds are those of its processes, too."""

    name: str
    count: Count
    seconds: float
    processor: float


def read_report(report: Path, code: int) -> Count:
    """Count a pytest run by its XML report; one that broke off, or ran nothing, has failed."""
    suites = list(ElementTree.parse(report).iter("testsuite")) if report.is_file() else []
    keys = ("tests", "failures", "errors", "skipped")
    tests, failures, errors, skipped = (sum(int(s.get(k, 0)) for s in suites) for k in keys)
    failed = failures + errors
    passed = tests - failed - skipped
    if code and not failed or passed + failed == 0:
        failed += 1
    return Count(passed, failed, skipped)


def cases(report: Path) -> Iterator[tuple[ElementTree.Element, list[ElementTree.Element]]]:
    """Each test of a report, and what is said of its failure."""
    for case in ElementTree.parse(report).iter("testcase") if report.is_file() else ():
        yield case, [part for part in case if part.tag in ("failure", "error")]


def run_pytest(
    arguments: Sequence[str],
    report: Path,
    env: dict[str, str] | None = None,
    python: str = sys.executable,
    **more: Any,
) -> subprocess.CompletedProcess:
    """Run pytest in a process of its own that leaves a report."""
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", f"--junitxml={report}", *arguments]
    return subprocess.run(command, **{"cwd": ROOT, "env": env, "check": False} | more)


def counted(arguments: Sequence[str], report: Path, env: dict[str, str] | None = None) -> Count:
    """Run pytest and count what it found."""
    return read_report(report, run_pytest(arguments, report, env).returncode)


def lint(workers: int) -> Count:
    """Style of the code and spelling of the prose."""
    codes = [
        subprocess.run([sys.executable, "-m", *words], cwd=ROOT, check=False).returncode
        for words in LINTERS
    ]
    failed = sum(code != 0 for code in codes)
    return Count(len(codes) - failed, failed, 0)


def models(workers: int) -> Count:
    """What several chapters use: the language model and the shared fit; at once when they are there."""
    return _one(book.prepare())


def chapters(workers: int) -> Count:
    """Every cell of every chapter, run where it changed, its output compared with the stored one."""
    steps = [sys.executable, "tools/book.py", "run"]
    subprocess.run(steps, cwd=ROOT, env=os.environ | {"WORKERS": str(workers)}, check=False)
    paths = [str(path.relative_to(ROOT)) for path in in_toc()]
    return counted(["-q", "-p", "judge", *NBVAL, *paths], REPORTS / "chapters.xml")


def site(workers: int) -> Count:
    """The site, with every warning an error; at once when it stands."""
    return _one(book.site())


def _one(code: int) -> Count:
    """Count a stage that is one check."""
    return Count(int(not code), int(bool(code)), 0)


def spread(workers: int) -> list[str]:
    """Options that share tests out over processes by the groups that tests/conftest.py names."""
    return ["-n", str(workers), "--dist", "loadgroup"]


def tests(workers: int) -> Count:
    """All other tests, and the examples in docstrings."""
    examples = ["--doctest-modules", "pidlib"]  # book/_ext as a package would hide tools/book.py
    arguments = [*spread(workers), *examples, "tests"]
    return counted(arguments, REPORTS / "tests.xml", ONE_THREAD)


def long(workers: int) -> Count:
    """What shorter tests sample, in full; the result is noted for the page on reliability."""
    count = counted([*spread(workers), "-m", "long", "tests"], REPORTS / "long.xml", ONE_THREAD)
    add_record(RECORD, "long", {"date": today(), **count._asdict()})
    return count


STAGES: dict[str, Callable[[int], Count]] = {
    stage.__name__: stage for stage in (lint, models, chapters, site, tests)
}


ALL = STAGES | {"long": long}


def summary(stages: Sequence[Stage]) -> str:
    """Table of the stages; its last line is plain, for programs that read it."""
    rows = [(stage.name, *stage.count, stage.seconds, stage.processor) for stage in stages]
    heads = ("stage", *Count._fields, "seconds", "processor seconds")
    passed, failed, skipped = map(sum, zip(*(stage.count for stage in stages), strict=True))
    text = tabulate(rows, heads, tablefmt="plain", floatfmt=".0f")
    return f"\n{text}\n\n{passed} passed, {failed} failed, {skipped} skipped"


def remarks(names: Sequence[str], most: int = 10) -> str:
    """Slowest tests of each stage that has a report, and every test that was skipped, with its reason."""
    lines = []
    for name in names:
        every = [case for case, _ in cases(REPORTS / f"{name}.xml")]
        title = {case: f"{case.get('classname')}::{case.get('name')}" for case in every}
        slow = sorted(every, key=lambda case: -float(case.get("time", 0)))[:most]
        lines += [f"\n{name}, the slowest:"] * bool(slow)
        lines += [f"  {float(case.get('time', 0)):6.1f} s  {title[case]}" for case in slow]
        left_out = [(case, part) for case in every for part in case.iter("skipped")]
        lines += [f"  skipped: {title[case]}: {part.get('message')}" for case, part in left_out]
    return "\n".join(lines)


def processor_seconds() -> float:
    """User and system time of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def run(names: Sequence[str], workers: int) -> int:
    """Run stages in order; a stage that fails does not keep the next ones from running."""
    stages = []
    for name in names:
        print(f"\n== {name}: {ALL[name].__doc__}", flush=True)
        (REPORTS / f"{name}.xml").unlink(missing_ok=True)
        start, used = time.perf_counter(), processor_seconds()
        count = ALL[name](workers)
        took = time.perf_counter() - start, processor_seconds() - used
        stages.append(Stage(name, count, *took))
    print(remarks(names), summary(stages), sep="\n", flush=True)
    return int(any(stage.count.failed for stage in stages))


def main() -> int:
    """Door of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="*", choices=[*ALL, []], metavar="STAGE")
    parser.add_argument("--workers", type=int, default=int(os.environ.get("WORKERS", "2")))
    given = parser.parse_args()
    return run(given.stages or list(STAGES), given.workers)


if __name__ == "__main__":
    sys.exit(main())
