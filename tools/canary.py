"""Try the newest versions that the ranges of pyproject.toml allow, without pins.

python tools/canary.py [PYTHON...]    default: python3.11 python3.12 python3.13, where found

Each Python gets an environment of its own in _build/canary, from the network: the library, its
extras `model` and `test`, and pip's choice of versions. The tests of the library run there, and
book/canary.json keeps what came of it. A Python that has been recorded today, with the library
and its tests as they are, is not tried again without --again; an environment that was installed
and not recorded is used again; a recorded one is deleted, unless --keep is given.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from book import fingerprint
from contents import ROOT
from notebooks import environment

PYTHONS = ("python3.11", "python3.12", "python3.13")
PLACE = ROOT / "_build" / "canary"
RECORD = ROOT / "book" / "canary.json"  # no result that a chapter reads
SOURCES = ("pidlib", "tests", "tools", "pyproject.toml")
TESTS = ("tests/unit", "tests/property", "tests/models")
EXTRAS = ("model", "test")
ABSENT = {
    "textattack": "attacks",
    "nltk": "attacks",
    "lemminflect": "attacks",
    "symspellpy": "attacks",
    "jupyter_cache": "book",
    "myst_nb": "book",
}
"""Modules of extras that the canary leaves out: TextAttack forbids the newest transformers."""

MISSING = re.compile(r"No module named '(\w+)[\w.]*'|pip install 'pidlib\[(\w+)\]'")
"""What Python says of a module that is not there, and pidlib of an extra."""


def needs(project: dict[str, Any], extras: Iterable[str] = ()) -> list[str]:
    """Requirements of the library and of some of its extras, as pyproject.toml states them."""
    return project["dependencies"] + [
        need for name in extras for need in project["optional-dependencies"][name]
    ]


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(text: str) -> dict[str, str]:
    """Versions that a file of requirements pins, by normalised name."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    pairs = (line.split("==", 1) for line in lines if "==" in line)
    return {canonicalize_name(name.strip()): version.strip() for name, version in pairs}


def public(version: str) -> str:
    """A version without its local suffix, such as `+cpu`."""
    return Version(version).public


def rows(
    wanted: Iterable[str], pinned: dict[str, str], tried: dict[str, str], latest: dict[str, str]
) -> list[dict[str, str | None]]:
    """One row for each requirement: its range, its pin, what was tried, what lies beyond that."""
    made = []
    for need in map(Requirement, wanted):
        name = canonicalize_name(need.name)
        held = public(tried[name])
        newest = latest.get(name)
        newer = newest is not None and Version(newest) > Version(held)
        made.append(
            {
                "package": need.name,
                "range": str(need.specifier),
                "pinned": pinned.get(name),
                "tried": held,
                "held_back_from": newest if newer else None,
            }
        )
    return made


def outcomes(report: Path) -> dict[str, Any]:
    """Counts of a JUnit report, and the first line of each failure.

    A test that failed because a module of `ABSENT` is not installed counts as left out, under
    the name of the extra; a file of tests that cannot be imported for that reason counts once.
    """
    counts, failed, left = Counter(), {}, Counter()
    for case in ET.parse(report).iter("testcase"):
        problems = [one for one in case if one.tag in ("failure", "error")]
        if not problems:
            counts["skipped" if case.find("skipped") is not None else "passed"] += 1
            continue
        told = "\n".join(f"{one.get('message')}\n{one.text}" for one in problems)
        named = {ABSENT.get(module, extra) for module, extra in MISSING.findall(told)}
        extras = named & set(ABSENT.values())
        if extras:
            left[min(extras)] += 1
        else:
            name = f"{case.get('classname')}.{case.get('name')}".strip(".")
            failed[name] = (problems[0].get("message") or "").strip().split("\n")[0][:200]
    return {
        "passed": counts["passed"],
        "failed": dict(sorted(failed.items())),
        "left_out": dict(sorted(left.items())),
        "skipped": counts["skipped"],
    }


def version_of(python: str) -> str | None:
    """Version of a Python by its name on the path, or None where there is none that runs."""
    if shutil.which(python) is None:
        return None
    ask = "import platform; print(platform.python_version())"
    done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def install(python: str, place: Path, wanted: list[str]) -> None:
    """Make an environment with the newest versions; one that was finished is used again."""
    stamp, told = place / ".installed", "\n".join(wanted)
    if stamp.exists() and stamp.read_text() == told:
        return
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(place)], check=True)
    pip(place, "install", "--quiet", "--upgrade", "pip")
    pip(place, "install", "--quiet", *wanted)
    pip(place, "install", "--quiet", "--no-deps", "--editable", str(ROOT))  # its metadata
    stamp.write_text(told)


def pip(place: Path, *words: str) -> str:
    """Output of a call of pip in an environment."""
    command = [str(place / "bin" / "python"), "-m", "pip", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def run_tests(place: Path) -> tuple[dict[str, Any], float]:
    """Run the tests of the library in an environment; their outcomes and seconds."""
    report = place / "tests.xml"
    env = environment() | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [str(place / "bin" / "python"), "-m", "pytest", "-q", "--tb=short"]
    command += ["-p", "no:cacheprovider", "--continue-on-collection-errors"]
    command += [f"--junitxml={report}", *TESTS]
    start = time.perf_counter()
    code = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
    if code not in (0, 1):
        raise RuntimeError(f"pytest ended with status {code} in {place}; see what it said above")
    return outcomes(report), time.perf_counter() - start


def attempt(python: str, version: str) -> dict[str, Any]:
    """What came of the newest versions on one Python."""
    place = PLACE / f"py{short(version)}"
    held, sources = project(), fingerprint(SOURCES)
    install(python, place, needs(held, EXTRAS))
    lists = [json.loads(pip(place, "list", "--format=json", *more)) for more in ([], ["-o"])]
    tried = {canonicalize_name(one["name"]): one["version"] for one in lists[0]}
    latest = {canonicalize_name(one["name"]): one["latest_version"] for one in lists[1]}
    pinned = pins((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    seen, seconds = run_tests(place)
    return {
        "date": today(),
        "python": version,
        "sources": sources,
        "minutes": round(seconds / 60, 1),
        **seen,
        "packages": rows(needs(held), pinned, tried, latest),
    }


def today() -> str:
    """The date, in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def short(version: str) -> str:
    """Such as 3.11 of 3.11.7."""
    return ".".join(version.split(".")[:2])


def recorded(path: Path | None = None) -> dict[str, dict[str, Any]]:
    """What was recorded, by short version of Python."""
    path = path or RECORD
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def record(run: dict[str, Any], path: Path | None = None) -> None:
    """Keep what came of one Python; the others stay as they were."""
    path = path or RECORD
    held = recorded(path) | {short(run["python"]): run}
    kept = dict(sorted(held.items(), key=lambda one: Version(one[0])))
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    os.replace(part, path)


def tell(run: dict[str, Any]) -> None:
    """Print what came of one Python."""
    left = sum(run["left_out"].values())
    print(
        f"\nPython {run['python']}, {run['date']}: {run['passed']} tests passed, "
        f"{len(run['failed'])} failed, {left} left out, {run['skipped']} skipped"
    )
    for row in run["packages"]:
        beyond = (
            f"  ({row['held_back_from']} exists; pip was kept from it)"
            if row["held_back_from"]
            else ""
        )
        print(f"  {row['package']:<18}{row['pinned'] or 'no pin':<14}{row['tried']}{beyond}")
    for name, why in run["failed"].items():
        print(f"  failed: {name}: {why}")


def main() -> int:
    """Door of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", default=list(PYTHONS), metavar="PYTHON")
    parser.add_argument("--again", action="store_true", help="also what was recorded today")
    parser.add_argument("--keep", action="store_true", help="do not delete the environments")
    asked = parser.parse_args()
    os.nice(5)
    versions = {python: version_of(python) for python in asked.pythons}
    print(*(f"{python}: not found" for python, seen in versions.items() if not seen), sep="\n")
    wrong = not any(versions.values())
    for python, version in versions.items():
        if version is None:
            continue
        run = recorded().get(short(version), {})
        fresh = (run.get("date"), run.get("sources")) == (today(), fingerprint(SOURCES))
        if asked.again or not fresh:
            run = attempt(python, version)
            record(run)
        if not asked.keep:
            shutil.rmtree(PLACE / f"py{short(version)}", ignore_errors=True)
        tell(run)
        wrong = wrong or bool(run["failed"])
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
