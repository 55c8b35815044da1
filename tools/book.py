"""Build the book.

python tools/book.py build    run the chapters that changed, build the site, say where it is
python tools/book.py stored   build from the stored outputs, run nothing (for the tests)
python tools/book.py plain    the same by plain Sphinx, without Jupyter Book's builder
python tools/book.py record   note in book/chapters.json how long each chapter took when last run
python tools/book.py dist     put the built site into dist/book.zip
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from operator import attrgetter
from pathlib import Path

import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import ProjectNb
from jupyter_cache.cache.main import JupyterCacheBase
from jupyter_cache.executors.utils import create_cache_bundle, single_nb_execution

import chapters
from contents import BUILD, ROOT, environment, in_toc, pages
from pidlib.io.embedded import SMOLLM2, embedded_folder

SITE = BUILD / "html"
STORED = BUILD / "stored" / "_build" / "html"
PAGES = ("book", "notebooks", "tools", "experiments", "_config.yml", "_toc.yml")
LIBRARY = ("pidlib", "requirements.txt", "requirements-nodeps.txt", "book/results")
WORKERS = int(os.environ.get("WORKERS", "2"))
TIMEOUT = 300  # seconds per cell, as in _config.yml


def fingerprint(names: tuple[str, ...], root: Path = ROOT) -> str:
    """Hash of the names and contents of files and of all files in folders."""
    total = hashlib.sha256()
    for name in names:
        place = root / name
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and "__pycache__" not in path.parts:
                total.update(str(path.relative_to(root)).encode() + b"\0")
                total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def changed(stamp: Path, value: str) -> bool:
    """Whether the stamp is missing or holds another value."""
    return not stamp.exists() or stamp.read_text() != value


def sphinx(extra: list[str], env: dict[str, str], root: Path = ROOT) -> int:
    """Jupyter Book with every warning an error."""
    program = str(Path(sys.executable).with_name("jupyter-book"))
    command = [program, "build", ".", "-W", "-n", "--keep-going", *extra]
    return subprocess.run(command, cwd=root, env=env, check=False).returncode


def unrun(cache: JupyterCacheBase, paths: Sequence[Path]) -> list[ProjectNb]:
    """Chapters whose cells are not in the cache, the slowest of the last record first."""
    for path in paths:
        cache.add_nb_to_project(str(path))
    wanted = {str(path) for path in paths}
    records = [r for r in cache.list_unexecuted() if r.uri in wanted]
    before = chapters.recorded()
    records.sort(key=lambda r: -before.get(Path(r.uri).stem, {}).get("seconds", 0.0))
    return [cache.get_project_notebook(record.pk) for record in records]


def run_chapters(workers: int, folder: Path | None = None, paths: Sequence[Path] = ()) -> bool:
    """Run what changed, several chapters at a time, into the cache that Jupyter Book reads.

    Jupyter Book runs one after the other, and a chapter keeps less than two cores busy. A failed
    chapter is named, with its error, and the others still run.
    """
    cache = get_cache(str(folder or BUILD / ".jupyter_cache"))
    todo = unrun(cache, paths or in_toc())
    workers = max(1, min(workers, len(todo)))
    if workers > 1:  # a thread for each chapter: they share the cores
        os.environ["OMP_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // workers))
    sound = True
    with ThreadPoolExecutor(workers) as pool:
        running = {}
        for notebook in todo:
            place = {"cwd": str(Path(notebook.uri).parent), "timeout": TIMEOUT}
            run = pool.submit(single_nb_execution, notebook.nb, allow_errors=False, **place)
            running[run] = notebook
        for done in as_completed(running):
            notebook, result = running[done], done.result()
            name = Path(notebook.uri).name
            if result.err is not None:
                print(f"{name} failed\n{result.exc_string}", flush=True)
                sound = False
                continue
            bundle = create_cache_bundle(notebook, result.cwd, None, result.time, None)
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
            print(f"{name}: ran in {result.time:.1f} s", flush=True)
    return sound


def build() -> int:
    """Run what changed and build the site."""
    start = time.perf_counter()
    library_stamp, page_stamp = BUILD / ".library-hash", BUILD / ".pages-hash"
    # The cache knows a chapter by its cells alone, so a change of what they use must empty it.
    library = fingerprint(LIBRARY)
    if changed(library_stamp, library):
        shutil.rmtree(BUILD / ".jupyter_cache", ignore_errors=True)
    BUILD.mkdir(exist_ok=True)
    library_stamp.write_text(library)
    content = fingerprint(PAGES) + library
    whole = changed(page_stamp, content)  # a glued number may stand on a page that did not change
    readers = environment()
    os.environ.clear()
    os.environ.update(readers)  # kernels inherit it
    try:
        embedded_folder(SMOLLM2.name)  # before the chapters: two would wait for one another
    except (OSError, ValueError) as error:
        print(f"The book was not built: {error}", flush=True)
        return 1
    if not run_chapters(WORKERS):
        print("The book was not built: a chapter failed, see above.", flush=True)
        return 1
    code = sphinx(["--all"] if whole else [], environment())
    if code:
        page_stamp.unlink(missing_ok=True)
        print("The book was not built: see the first warning or error above.", flush=True)
        return code
    page_stamp.write_text(content)
    seconds = taken()
    print("\nSeconds per chapter, when it was last run:")
    for path in in_toc():
        print(f"  {path.stem:<24}" + (f"{seconds[path]:8.1f}" if path in seconds else "  not run"))
    print(f"Built in {time.perf_counter() - start:.0f} s. Open {SITE / 'index.html'}", flush=True)
    return 0


def taken() -> dict[Path, float]:
    """Seconds that each chapter took when it was last run by a build."""
    runs = sorted(
        get_cache(str(BUILD / ".jupyter_cache")).list_cache_records(), key=attrgetter("created")
    )
    last = {Path(run.uri).name: run.data.get("execution_seconds") for run in runs}
    return {path: last[path.name] for path in in_toc() if last.get(path.name) is not None}


def record() -> int:
    """Write how long the chapters took in the last build."""
    seconds = taken()
    if not seconds:
        print("No build has run the chapters; run make book first.")
        return 1
    chapters.record(seconds)
    print(f"Wrote {len(seconds)} chapters into {chapters.RECORD.relative_to(ROOT)}")
    return 0


def stored() -> int:
    """Build a second site from the stored outputs."""
    env = environment() | {"BOOK_STORED_OUTPUTS": "1"}
    shutil.rmtree(BUILD / "stored", ignore_errors=True)
    return sphinx(["--all", "--path-output", str(BUILD / "stored")], env)


def plain(root: Path = ROOT, twin: Path = STORED) -> int:
    """Build by Sphinx itself, in a copy that holds a conf.py, and compare the set of pages.

    Every page of _toc.yml must be there and, where the twin was built, the same pages as in it.
    """
    site = root / "_build" / "plain"
    shutil.rmtree(site, ignore_errors=True)
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place:
        # conf.py names the book's own extensions and leaves out where they are.
        own = [str(Path(place) / p) for p in set(config["sphinx"]["local_extensions"].values())]
        paths = os.pathsep.join([*own, *filter(None, [os.environ.get("PYTHONPATH")])])
        env = environment() | {"BOOK_STORED_OUTPUTS": "1", "PYTHONPATH": paths}
        env["BOOK_LIVE"] = str(root / "_build" / "live")  # the weights are not made twice
        for name in {Path(name).parts[0] for name in PAGES + LIBRARY} & set(os.listdir(root)):
            path = root / name
            copy = shutil.copytree if path.is_dir() else shutil.copyfile
            copy(path, Path(place) / name)
        book = [str(Path(sys.executable).with_name("jupyter-book")), "config", "sphinx", "."]
        build = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "-n", "--keep-going", "-q"]
        for command in (book, [*build, ".", str(site)]):
            code = subprocess.run(command, cwd=place, env=env, check=False).returncode
            if code:
                return code
    built = {str(path.relative_to(site)) for path in site.rglob("*.html")}
    lost = {f"{page}.html" for page in pages(root)} - built
    other = {str(path.relative_to(twin)) for path in twin.rglob("*.html")}
    only = sorted(built ^ other) if other else []
    beside = f"{len(other)} by Jupyter Book" if other else "no build by Jupyter Book beside it"
    print(f"{len(built)} pages in {site}, {beside}", flush=True)
    if lost or only:
        print(f"Not built: {sorted(lost)}; built by one of the two only: {only}", flush=True)
    return int(bool(lost or only))


def dist() -> int:
    """Pack the built site."""
    if not (SITE / "index.html").exists():
        print("There is no built site; run make book first.")
        return 1
    (ROOT / "dist").mkdir(exist_ok=True)
    part = shutil.make_archive(str(ROOT / "dist" / "book.part"), "zip", SITE)
    os.replace(part, ROOT / "dist" / "book.zip")
    print(f"Wrote dist/book.zip, {(ROOT / 'dist' / 'book.zip').stat().st_size / 1e6:.1f} MB")
    return 0


def main() -> int:
    """Door of the command line."""
    doors = {"build": build, "stored": stored, "plain": plain, "record": record, "dist": dist}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=list(doors))
    return doors[parser.parse_args().what]()


if __name__ == "__main__":
    sys.exit(main())
