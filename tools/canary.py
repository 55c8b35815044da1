"""Try the newest versions that the ranges of pyproject.toml allow, without pins.

python tools/canary.py [PYTHON...]    default: python3.11 python3.12 python3.13, where found

Each Python gets an environment of its own in _build/canary, from the network: the library, its
extras `model` and `test`, and pip's choice of versions. The tests of the library run there, and
book/canary.json keeps what came of it. Models are made ready anew, in a cache of its own. A
Python that has been recorded today, with the library and its tests as they are, is not tried again
without --again; an environment that was installed today and not recorded is used again; a recorded
one is deleted, unless --keep is given.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from tabulate import tabulate

from book import fingerprint
from contents import BUILD, ROOT, add_record, environment, read_record, today
from suite import cases, run_pytest

PYTHONS = ("python3.11", "python3.12", "python3.13")
PLACE = BUILD / "canary"
RECORD = ROOT / "book" / "canary.json"  # no result that a chapter reads
SOURCES = ("pidlib", "book/pidbook", "experiments", "tests", "tools", "pyproject.toml")
TESTS = ("tests/unit", "tests/property", "tests/models")
EXTRAS = ("model", "test")
ABSENT = dict.fromkeys(("textattack", "nltk", "lemminflect"), "attacks")
ABSENT |= dict.fromkeys(("bs4", "docutils", "jupyter_cache", "myst_nb"), "book")
"""Modules of extras that the canary leaves out: TextAttack forbids the newest transformers."""

MISSING = re.compile(r"No module named '(\w+)[\w.]*'|pip install \"\.\[(\w+)\]\"")
"""What Python says of a module that is not there, and pidlib of an extra."""


def needs(project: dict[str, Any], extras: Iterable[str] = ()) -> list[str]:
    """Requirements of the library and of some of its extras, as pyproject.toml states them."""
    return sum((project["optional-dependencies"][e] for e in extras), project["dependencies"])


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(text: str) -> dict[str, str]:
    """Versions that a file of requirements pins, by normalised name."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    pairs = (line.split("==", 1) for line in lines if "==" in line)
    return {canonicalize_name(name.strip()): version.strip() for name, version in pairs}


def rows(
    wanted: Iterable[str], pinned: dict[str, str], tried: dict[str, str], latest: dict[str, str]
) -> list[dict[str, str | None]]:
    """One row for each requirement: its range, its pin, what was tried, what lies beyond that."""
    lines = []
    for need in map(Requirement, wanted):
        name = canonicalize_name(need.name)
        version = Version(tried[name]).public  # without a local suffix, such as `+cpu`
        newer = name in latest and Version(latest[name]) > Version(version)
        lines.append(
            {
                "package": need.name,
                "range": str(need.specifier),
                "pinned": pinned.get(name),
                "tried": version,
                "held_back_from": latest[name] if newer else None,
            }
        )
    return lines


def outcomes(report: Path) -> dict[str, Any]:
    """Counts of a JUnit report, and the first line of each failure.

    A test that failed because a module of `ABSENT` is not installed counts as left out, under
    the name of the extra; a file of tests that cannot be imported for that reason counts once.
    """
    counts, failed, left = Counter(), {}, Counter()
    for case, faults in cases(report):
        text = "\n".join(f"{fault.get('message')}\n{fault.text}" for fault in faults)
        named = {ABSENT.get(module, extra) for module, extra in MISSING.findall(text)}
        if not faults:
            counts["passed" if case.find("skipped") is None else "skipped"] += 1
        elif extras := named & set(ABSENT.values()):
            left[min(extras)] += 1
        else:
            name = f"{case.get('classname')}.{case.get('name')}".strip(".")
            failed[name] = _first_line(faults[0].get("message"))
    return {
        "passed": counts["passed"],
        "failed": dict(sorted(failed.items())),
        "left_out": dict(sorted(left.items())),
        "skipped": counts["skipped"],
    }


def _first_line(message: str | None) -> str:
    """First line of a failure, without the address of this checkout."""
    return (message or "").strip().split("\n")[0].replace(f"{ROOT}/", "")[:200]


def version_of(python: str) -> str | None:
    """Version of a Python by its name on the path, or None where there is none that runs."""
    if shutil.which(python) is None:
        return None
    ask = "import platform; print(platform.python_version())"
    done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def install(python: str, place: Path, wanted: list[str]) -> None:
    """Make an environment with today's newest versions; one of today is used again."""
    stamp, told = place / ".installed", "\n".join([today(), *wanted])
    if stamp.exists() and stamp.read_text() == told:
        return
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(place)], check=True)
    pip(place, "install", "--quiet", "--upgrade", "pip")
    pip(place, "install", "--quiet", *wanted)
    bare = str(ROOT / "requirements-nodeps.txt")
    pip(place, "install", "--quiet", "--no-deps", "--requirement", bare)
    own = ("--editable", str(ROOT), "--editable", str(ROOT / "book"))
    pip(place, "install", "--quiet", "--no-deps", *own)
    stamp.write_text(told)


def pip(place: Path, *words: str) -> str:
    """Output of a call of pip in an environment."""
    command = [str(place / "bin" / "python"), "-m", "pip", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def run_tests(place: Path) -> tuple[dict[str, Any], float]:
    """Run the tests of the library in an environment; their outcomes and seconds."""
    report, start = place / "tests.xml", time.perf_counter()
    cache = place / "cache"  # models that other versions have made ready would hide a fault
    cache.mkdir(exist_ok=True)
    packages = os.pathsep.join([str(ROOT), str(ROOT / "book")])
    env = environment() | {"PYTHONPATH": packages, "OMP_NUM_THREADS": "1"}
    env["XDG_CACHE_HOME"] = str(cache)
    options = ["-q", "--tb=short", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    code = run_pytest([*options, *TESTS], report, env, str(place / "bin/python")).returncode
    if code not in (0, 1):
        raise RuntimeError(f"pytest ended with status {code} in {place}; see what it said above")
    return outcomes(report), time.perf_counter() - start


def attempt(python: str, version: str) -> dict[str, Any]:
    """What came of the newest versions on one Python."""
    place = PLACE / f"py{short(version)}"
    library, sources = project(), fingerprint(SOURCES)
    install(python, place, needs(library, EXTRAS))
    tried, latest = (
        {canonicalize_name(line["name"]): line[key] for line in json.loads(pip(place, *words))}
        for key, *words in (
            ("version", "list", "--format=json"),
            ("latest_version", "list", "--format=json", "-o"),
        )
    )
    pinned = pins((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    results, seconds = run_tests(place)
    return {
        "date": today(),
        "python": version,
        "sources": sources,
        "minutes": round(seconds / 60, 1),
        **results,
        "packages": rows(needs(library), pinned, tried, latest),
    }


def short(version: str) -> str:
    """Such as 3.11 of 3.11.7."""
    return ".".join(version.split(".")[:2])


def tell(run: dict[str, Any]) -> None:
    """Print what came of one Python."""
    left = sum(run["left_out"].values())
    print(
        f"\nPython {run['python']}, {run['date']}: {run['passed']} tests passed, "
        f"{len(run['failed'])} failed, {left} left out, {run['skipped']} skipped"
    )
    print(tabulate(run["packages"], headers="keys", tablefmt="plain", disable_numparse=True))
    for name, why in run["failed"].items():
        print(f"  failed: {name}: {why}")


def main() -> int:
    """Door of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", default=list(PYTHONS), metavar="PYTHON")
    parser.add_argument("--again", action="store_true", help="also what was recorded today")
    parser.add_argument("--keep", action="store_true", help="do not delete the environments")
    given = parser.parse_args()
    os.nice(5)
    versions = {python: version_of(python) for python in given.pythons}
    print(*(f"{python}: not found" for python, found in versions.items() if not found), sep="\n")
    failed = not any(versions.values())
    for python, version in versions.items():
        if version is None:
            continue
        run = read_record(RECORD).get(short(version), {})
        fresh = (run.get("date"), run.get("sources")) == (today(), fingerprint(SOURCES))
        if given.again or not fresh:
            run = attempt(python, version)
            add_record(RECORD, short(version), run)
        if not given.keep:
            shutil.rmtree(PLACE / f"py{short(version)}", ignore_errors=True)
        tell(run)
        failed = failed or bool(run["failed"])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
