"""Chapters are run once: into the cache from which the site is built and outputs are compared.

A run counts as long as the chapter's code, what it imports of the project, the result files that it
reads, the assets and the pinned packages are what they were.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.cache.db import NbCacheRecord
from jupyter_cache.cache.main import JupyterCacheBase
from jupyter_cache.executors.utils import single_nb_execution

import chapters
from contents import BUILD, RESULTS, ROOT, code, in_toc
from forked_kernels import ForkedKernelManager
from sources import files_of

CACHE = BUILD / ".jupyter_cache"  # where Jupyter Book looks
PACKAGES = {"pidlib": ROOT / "pidlib", "pidbook": ROOT / "book" / "pidbook"}
PAPER = "book/pidbook/evaluation/paper_tables.json"
SHARED = ("pidlib/assets", PAPER, "requirements.txt", "requirements-nodeps.txt")
WIDGET = "application/vnd.jupyter.widget-view+json"
TIMEOUT = 300  # seconds per cell, as in _config.yml


def fingerprint(names: Sequence[str], root: Path = ROOT) -> str:
    """Hash of the names and contents of files and of all files in folders."""
    total = hashlib.sha256()
    for name in names:
        place = root / name
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and "__pycache__" not in path.parts:
                total.update(str(path.relative_to(root)).encode() + b"\0")
                total.update(_digest(path, path.stat().st_mtime_ns))
    return total.hexdigest()


@cache
def _digest(path: Path, modified: int) -> bytes:
    """Hash of a file, which is read again when it was written again."""
    return hashlib.sha256(path.read_bytes()).digest()


OFFERED = re.compile(r"^from \.([\w.]+) import (\([^)]*\)|[^\n]*)", re.M)
NAMED = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w+)*")
IMPORTED = re.compile(rf"from ({NAMED.pattern}) import (\([^)]*\)|[^\n]*)")


@cache
def homes() -> dict[str, set[str]]:
    """Module of each name that a package's `__init__.pyi` offers, and of a package all of them."""
    found: dict[str, set[str]] = {}
    for package, place in PACKAGES.items():
        for stub in place.rglob("__init__.pyi"):
            door = ".".join([package, *stub.parent.relative_to(place).parts])
            for module, names in OFFERED.findall(stub.read_text(encoding="utf-8")):
                for name in re.findall(r"(\w+) as", names):
                    found[f"{door}.{name}"] = {f"{door}.{module}"}
                    if door != package:  # who takes the whole library is read name by name
                        found.setdefault(door, {door}).add(f"{door}.{module}")
    return found


def project_files(text: str) -> set[Path]:
    """Files of the project's packages that some code imports, and what those import in turn."""
    files, todo = set(), [text]
    while todo:
        source = todo.pop()
        names = set(NAMED.findall(IMPORTED.sub("", source)))
        for module, what in IMPORTED.findall(source):
            names |= {f"{module}.{name}" for name in re.findall(r"\w+", what)}
        for home in {m for name in names for m in homes().get(name, {name})} - set(PACKAGES):
            package, *inner = home.split(".")
            place = PACKAGES[package].joinpath(*inner)
            within = PACKAGES[package].joinpath(*inner[:-1])  # of a name in a module
            for file in (
                place.with_suffix(".py"),
                place / "__init__.py",
                within.with_suffix(".py"),
            ):
                if file.is_file() and file not in files:
                    files.add(file)
                    todo.append(file.read_text(encoding="utf-8"))
    return files


def sources_sha256(path: Path) -> str:
    """Hash of all that decides what a chapter's cells put out: code, results read, assets, pins."""
    cells = code(path)
    results = files_of(nbformat.read(path, as_version=4))
    used = {RESULTS / name for names in results.values() for name in names}
    used |= project_files("\n".join(cells))
    names = (*SHARED, *(str(file.relative_to(ROOT)) for file in sorted(used)))
    return hashlib.sha256(f"{cells} {fingerprint(names)}".encode()).hexdigest()


def run_of(path: Path, cache: JupyterCacheBase) -> NbCacheRecord | None:
    """Return the record of a chapter's run, if there is one that still counts; forget any other."""
    try:
        record = cache.match_cache_notebook(nbformat.read(path, as_version=4))
    except KeyError:
        return None
    if record.data.get("sources") == sources_sha256(path):
        return record
    cache.remove_cache(record.pk)
    return None


def run_chapters(workers: int, folder: Path | None = None, paths: Sequence[Path] = ()) -> bool:
    """Run the chapters that have no run that counts, several at a time; return whether none failed.

    A chapter that fails is named, with its error, and the others still run.
    """
    cache = get_cache(str(folder or CACHE))
    before = chapters.recorded()
    todo = [path for path in paths or in_toc() if run_of(path, cache) is None]
    todo.sort(key=lambda path: -before.get(path.stem, {}).get("seconds", 0.0))  # slowest first
    workers = max(1, min(workers, len(todo)))
    if workers > 1:  # a thread for each chapter: they share the cores
        os.environ["OMP_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // workers))
    sound = True
    with ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(_run, path): path for path in todo}
        for done in as_completed(running):
            path, result = running[done], done.result()
            if result.err is not None:
                print(f"{path.name} failed\n{result.exc_string}", flush=True)
                sound = False
                continue
            data = {"execution_seconds": result.time, "sources": sources_sha256(path)}
            bundle = CacheBundleIn(without_widgets(result.nb), str(path), data=data)
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
            print(f"{path.name}: ran in {result.time:.1f} s", flush=True)
    return sound


def without_widgets(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The same notebook without widgets: a first run's progress bars, whose script lies elsewhere."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [
                output for output in cell.outputs if WIDGET not in output.get("data", {})
            ]
    return notebook


def _run(path: Path):
    notebook = nbformat.read(path, as_version=4)
    return single_nb_execution(
        notebook, str(path.parent), TIMEOUT, False, kernel_manager_class=ForkedKernelManager
    )


def seconds(folder: Path | None = None) -> Iterator[tuple[Path, float]]:
    """Each chapter that has a run that counts, and the seconds that it took."""
    cache = get_cache(str(folder or CACHE))
    for path in in_toc():
        if record := run_of(path, cache):
            yield path, record.data["execution_seconds"]


def outputs(path: Path, folder: Path | None = None) -> nbformat.NotebookNode | None:
    """Return a chapter with the outputs of its run, or None where it has none that counts."""
    cache = get_cache(str(folder or CACHE))
    record = run_of(path, cache)
    return record and cache.get_cache_bundle(record.pk).nb
