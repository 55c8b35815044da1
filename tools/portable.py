"""Run the chapters and the numeric tests as other processors would.

python tools/portable.py                    all settings, then the table
python tools/portable.py plain zen          some of them
python tools/portable.py plain --only "0[1-7]_*"   some chapters or groups of tests
python tools/portable.py --record           and write the table into book/results

Libraries for arithmetic choose their routines by the processor, and a sum taken in another
order ends in another last digit. Each setting makes them choose as an older or another
processor would. What is done is kept: a run that was broken off goes on where it stopped.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tabulate import tabulate

from contents import (
    BUILD,
    RESULTS,
    ROOT,
    cells,
    environment,
    in_toc,
    read_record,
    write_whole,
)  # fmt: skip
from runs import fingerprint, sources_sha256
from suite import NBVAL, Count, cases, read_report, run_pytest

RESULT = RESULTS / "bench-portable.json"
# Tests whose results depend on arithmetic; of models those that are quick.
NUMERIC = {
    "tests-unit": ("tests/unit",),
    "tests-property": ("tests/property",),
    "tests-models": tuple(
        f"tests/models/test_{name}.py"
        for name in (
            "alignment", "blocks", "controller", "error_profiles", "estimator", "generation",
            "pontryagin",
        )
    ),
}  # fmt: skip
PINS = ("requirements.txt", "requirements-nodeps.txt")
WHOLE = (
    "pidlib", "experiments", "tests/unit", "tests/property", "tests/models", "notebooks", *PINS,
)  # fmt: skip
BEYOND_SSE = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
BEYOND_AVX2 = "X86_V4 AVX512_ICL AVX512_SPR"


class Setting(NamedTuple):
    """How arithmetic is done: which routines the libraries choose, and on how many threads."""

    routines: str
    blas: str
    torch: str
    mkl: str
    onednn: str
    numpy_without: str
    threads: int
    needs: str

    def environment(self) -> dict[str, str]:
        """Variables that make the libraries choose so."""
        return {
            "ATEN_CPU_CAPABILITY": self.torch,
            "MKL_CBWR": self.mkl,
            "OPENBLAS_CORETYPE": self.blas,
            "ONEDNN_MAX_CPU_ISA": self.onednn,
            "NPY_DISABLE_CPU_FEATURES": self.numpy_without,
            "OMP_NUM_THREADS": str(self.threads),
            "OPENBLAS_NUM_THREADS": str(self.threads),
            "OMP_WAIT_POLICY": "PASSIVE",  # two processes of two threads share two cores
        }


SETTINGS = {
    "plain": Setting("SSE3", "Prescott", "default", "COMPATIBLE", "SSE41", BEYOND_SSE, 1, "SSE3"),
    "sandybridge": Setting("AVX", "Sandybridge", "default", "AVX", "AVX", BEYOND_SSE, 1, "AVX"),
    "haswell": Setting("AVX2", "Haswell", "avx2", "AVX2", "AVX2", BEYOND_AVX2, 1, "AVX2"),
    "zen": Setting("AVX2", "Zen", "avx2", "AUTO", "AVX2", BEYOND_AVX2, 2, "AVX2"),
    "skylake": Setting(
        "AVX-512", "SkylakeX", "avx512", "AVX512", "AVX512_CORE", "AVX512_SPR", 1, "AVX512_SKX"
    ),
}


class Unit(NamedTuple):
    """One notebook or one group of tests under one setting, as it ended."""

    name: str
    count: Count
    differing: list[str]
    seconds: float


def lacking(setting: Setting) -> bool:
    """Whether this processor lacks what the setting asks for."""
    from numpy._core._multiarray_umath import __cpu_features__

    return not __cpu_features__.get(setting.needs, False)


def unit_paths(only: str = "*") -> dict[str, list[Path]]:
    """Chapters in the order of the book, each by itself, then the groups of numeric tests."""
    units = {path.stem: [path] for path in in_toc()}
    units |= {name: [ROOT / path for path in paths] for name, paths in NUMERIC.items()}
    return {name: paths for name, paths in units.items() if fnmatch.fnmatch(name, only)}


def is_chapter(name: str) -> bool:
    """Whether a unit is a chapter."""
    return name not in NUMERIC


def content_hash(name: str, paths: Sequence[Path]) -> str:
    """Hash of a unit and of all that it uses: of tests the whole library and all chapters."""
    if not is_chapter(name):
        return fingerprint((*WHOLE, *(str(p.relative_to(ROOT)) for p in _results())))
    [path] = paths
    stored = fingerprint((str(path.relative_to(ROOT)), "tests/nbval_sanitize.cfg"))
    return hashlib.sha256((sources_sha256(path) + stored).encode()).hexdigest()


def _results() -> list[Path]:
    return sorted(path for path in RESULTS.rglob("*.json*") if path != RESULT)


def run_unit(setting: str, name: str, paths: Sequence[Path]) -> Unit:
    """Run one unit under one setting, or read how it ended."""
    folder = BUILD / "portable" / setting
    ended, report = folder / f"{name}.json", folder / f"{name}.xml"
    content = content_hash(name, paths)
    before = read_record(ended)
    if before.pop("of", None) == content:
        return Unit(**before | {"count": Count(*before["count"])})
    arguments = ["-q", "-p", "no:cacheprovider", *(NBVAL if is_chapter(name) else ())]
    env = environment() | SETTINGS[setting].environment()
    start = time.perf_counter()
    output = {"capture_output": True, "text": True}
    done = run_pytest([*arguments, *map(str, paths)], report, env, cwd=ROOT, **output)
    seconds = round(time.perf_counter() - start, 1)
    (folder / f"{name}.log").write_text(done.stdout + done.stderr)
    differing = [case.get("name", "") for case, faults in cases(report) if faults]
    unit = Unit(name, read_report(report, done.returncode), differing, seconds)
    write_whole(ended, json.dumps({"of": content, **unit._asdict()}))
    say = ", ".join(differing) or ("the run broke off" if unit.count.failed else "the same")
    print(f"{setting:<12}{name:<26}{unit.seconds:>6.0f} s  {say}", flush=True)
    return unit


def run_setting(name: str, only: str = "*") -> list[Unit]:
    """Run all units under one setting, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda unit: run_unit(name, *unit), unit_paths(only).items()))


def uncompared() -> int:
    """Cells of the chapters whose outputs are not compared."""
    every = [cell for path in in_toc() for cell in cells(path, "code")]
    return sum("nbval-ignore-output" in cell.metadata.get("tags", []) for cell in every)


def row(name: str, units: Sequence[Unit] | None) -> dict[str, Any]:
    """One setting as a row of counts; None for one that this processor cannot run."""
    setting = SETTINGS[name]
    line = {"setting": name, "routines": setting.routines, "threads": setting.threads}
    if units is None:
        return line | {"run": False}
    for kind in ("cells", "tests"):
        counts = [unit.count for unit in units if is_chapter(unit.name) == (kind == "cells")]
        failed = sum(count.failed for count in counts)
        line[kind] = sum(count.passed for count in counts) + failed
        line[f"{kind}_differ"] = failed
    names = [f"{unit.name}: {name}" for unit in units for name in unit.differing]
    seconds = round(sum(unit.seconds for unit in units), 1)
    return line | {"run": True, "differing": names, "seconds": seconds}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as text; the last line is plain, for programs that read it."""
    ran = [line for line in rows if line["run"]]
    keys = ("setting", "routines", "threads", "cells", "cells_differ", "tests", "tests_differ")
    counts = [[line[key] for key in (*keys, "seconds")] for line in ran]
    text = tabulate(counts, (*keys, "seconds"), tablefmt="plain", floatfmt=".0f")
    lines = [f"{line['setting']}: {name}" for line in ran for name in line["differing"]]
    lines += [f"{r['setting']}: this processor cannot run it" for r in rows if not r["run"]]
    failed = sum(line["cells_differ"] + line["tests_differ"] for line in ran)
    passed = sum(line["cells"] + line["tests"] for line in ran) - failed
    return "\n".join(["", text, *lines, "", f"{passed} passed, {failed} failed"])


def record(rows: Sequence[dict[str, Any]]) -> None:
    """Write the table into a result file."""
    from pidbook.evaluation.results import configuration_hash, write_result

    settings = {name: setting._asdict() for name, setting in SETTINGS.items()}
    hashes = {name: content_hash(name, paths) for name, paths in unit_paths().items()}
    data = {"n": len(hashes), "sha256": configuration_hash(hashes)}
    data = {"name": "chapters and numeric tests"} | data
    write_result(
        RESULT,
        command=".venv/bin/python tools/portable.py --record",
        configuration={"settings": settings, "numeric": NUMERIC},
        data=data,
        model=data,
        seed=0,
        counts=list(rows),
        uncompared=uncompared(),
        seconds=sum(line.get("seconds", 0) for line in rows),
    )


def main() -> int:
    """Door of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", nargs="*", metavar="SETTING", help=", ".join(SETTINGS))
    parser.add_argument("--only", default="*", help="pattern of names")
    parser.add_argument("--record", action="store_true", help="write book/results")
    given = parser.parse_args()
    unknown = [name for name in given.settings if name not in SETTINGS]
    if unknown:
        parser.error(f"unknown setting {unknown[0]!r}; there are {', '.join(SETTINGS)}")
    if not unit_paths(given.only):
        parser.error(f"no chapter or group of tests is called {given.only!r}")
    if given.record and (given.settings or given.only != "*"):
        parser.error("only a run of everything is recorded; leave SETTING and --only away")
    rows = [
        row(name, None if lacking(SETTINGS[name]) else run_setting(name, given.only))
        for name in given.settings or SETTINGS
    ]
    print(table(rows), flush=True)
    if given.record:
        record(rows)
    return int(any(line["run"] and (line["cells_differ"] + line["tests_differ"]) for line in rows))


if __name__ == "__main__":
    sys.exit(main())
