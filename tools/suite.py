"""Run every check, whatever fails on the way, and say at the end what each stage found.

python tools/suite.py                 all stages, in order
python tools/suite.py lint chapters   some of them
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from book import BUILD, stored
from contents import ROOT, in_toc
from notebooks import environment

REPORTS = BUILD / "reports"
NBVAL = (
    "--nbval",
    "--nbval-current-env",
    "--nbval-sanitize-with",
    "tests/nbval_sanitize.cfg",
    "--nbval-cell-timeout",
    "600",
)
LINTERS = (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("codespell_lib",))


class Count(NamedTuple):
    """How many checks of a stage passed, failed and were skipped."""

    passed: int
    failed: int
    skipped: int


class Stage(NamedTuple):
    """One stage of the checks that was run."""

    name: str
    count: Count
    seconds: float


def read_report(report: Path, code: int) -> Count:
    """Count a pytest run by its XML report; one that broke off, or ran nothing, has failed."""
    passed = failed = skipped = 0
    if report.is_file():
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            tests, skips = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
            faults = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            passed, failed, skipped = (
                passed + tests - faults - skips,
                failed + faults,
                skipped + skips,
            )
    if code and not failed or passed + failed == 0:
        failed += 1
    return Count(passed, failed, skipped)


def run_pytest(arguments: Sequence[str], report: Path, env: dict[str, str] | None = None) -> Count:
    """Run pytest in a process of its own and count what it found."""
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *arguments]
    code = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
    return read_report(report, code)


def lint(workers: int) -> Count:
    """Style of the code and spelling of the prose."""
    codes = [
        subprocess.run([sys.executable, "-m", *words], cwd=ROOT, check=False).returncode
        for words in LINTERS
    ]
    failed = sum(code != 0 for code in codes)
    return Count(len(codes) - failed, failed, 0)


def site(workers: int) -> Count:
    """The site, built from the stored outputs with every warning an error."""
    failed = int(stored() != 0)
    return Count(1 - failed, failed, 0)


def spread(workers: int) -> list[str]:
    """Options that share tests out over processes, the tests of a file together."""
    return ["-n", str(workers), "--dist", "loadfile"]


def chapters(workers: int) -> Count:
    """Every cell of every chapter again, its output compared with the stored one."""
    # One thread each: the workers are as many as the cores.
    env = environment() | {"OMP_NUM_THREADS": "1"}
    paths = [str(path.relative_to(ROOT)) for path in in_toc()]
    return run_pytest([*spread(workers), *NBVAL, *paths], REPORTS / "chapters.xml", env)


def tests(workers: int) -> Count:
    """All other tests, and the examples in docstrings."""
    arguments = [*spread(workers), "--doctest-modules", "pidlib", "tests"]
    return run_pytest(arguments, REPORTS / "tests.xml", os.environ | {"OMP_NUM_THREADS": "1"})


STAGES: dict[str, Callable[[int], Count]] = {
    "lint": lint,
    "site": site,
    "chapters": chapters,
    "tests": tests,
}


def summary(stages: Sequence[Stage]) -> str:
    """Table of the stages; its last line is plain, for programs that read it."""
    lines = ["", f"{'stage':<10}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}"]
    for name, count, seconds in stages:
        lines.append(
            f"{name:<10}{count.passed:>8}{count.failed:>8}{count.skipped:>9}{seconds:>9.0f}"
        )
    total = Count(*(sum(part) for part in zip(*(s.count for s in stages), strict=True)))
    return "\n".join(
        [*lines, "", f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped"]
    )


def run(names: Sequence[str], workers: int) -> int:
    """Run stages in order; a stage that fails does not keep the next ones from running."""
    stages = []
    for name in names:
        print(f"\n== {name}: {STAGES[name].__doc__}", flush=True)
        start = time.perf_counter()
        count = STAGES[name](workers)
        stages.append(Stage(name, count, time.perf_counter() - start))
    print(summary(stages), flush=True)
    return int(any(stage.count.failed for stage in stages))


def main() -> int:
    """Door of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="*", choices=[*STAGES, []], metavar="STAGE")
    parser.add_argument("--workers", type=int, default=int(os.environ.get("WORKERS", "2")))
    asked = parser.parse_args()
    return run(asked.stages or list(STAGES), asked.workers)


if __name__ == "__main__":
    sys.exit(main())
