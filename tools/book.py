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
from pathlib import Path

import yaml

from chapter_runs import run_chapters
from contents import ROOT, in_toc, pages
from notebooks import environment

BUILD = ROOT / "_build"
SITE = BUILD / "html"
STORED = BUILD / "stored" / "_build" / "html"
PAGES = ("book", "notebooks", "tools", "_config.yml", "_toc.yml")
LIBRARY = ("pidlib", "requirements.txt", "book/results")
WORKERS = int(os.environ.get("WORKERS", "2"))


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


def build() -> int:
    """Run what changed and build the site."""
    start = time.perf_counter()
    library, pages = BUILD / ".library-hash", BUILD / ".pages-hash"
    # The cache knows a chapter by its cells alone, so a change of what they use must empty it.
    now = fingerprint(LIBRARY)
    if changed(library, now):
        shutil.rmtree(BUILD / ".jupyter_cache", ignore_errors=True)
    BUILD.mkdir(exist_ok=True)
    library.write_text(now)
    content = fingerprint(PAGES) + now
    whole = changed(pages, content)  # a glued number may stand on a page that did not change
    kept = environment()
    os.environ.clear()
    os.environ.update(kept)  # kernels inherit it
    if not run_chapters(WORKERS):
        print("The book was not built: a chapter failed, see above.", flush=True)
        return 1
    code = sphinx(["--all"] if whole else [], environment())
    if code:
        pages.unlink(missing_ok=True)
        print("The book was not built: see the first warning or error above.", flush=True)
        return code
    pages.write_text(content)
    times()
    print(f"Built in {time.perf_counter() - start:.0f} s. Open {SITE / 'index.html'}", flush=True)
    return 0


def taken() -> dict[Path, float]:
    """Seconds that each chapter took when it was last run by a build."""
    from jupyter_cache import get_cache

    cache = get_cache(str(BUILD / ".jupyter_cache"))
    found = {}
    for path in in_toc():
        records = [r for r in cache.list_cache_records() if Path(r.uri).name == path.name]
        last = max(records, key=lambda r: r.created, default=None)
        if last is not None and "execution_seconds" in last.data:
            found[path] = last.data["execution_seconds"]
    return found


def times() -> None:
    """Print how long each chapter took when it was last run."""
    found = taken()
    print("\nSeconds per chapter, when it was last run:")
    for path in in_toc():
        seconds = found.get(path)
        print(f"  {path.stem:<24}" + ("  not run" if seconds is None else f"{seconds:8.1f}"))


def record() -> int:
    """Write how long the chapters took in the last build."""
    import chapters

    found = taken()
    if not found:
        print("No build has run the chapters; run make book first.")
        return 1
    chapters.record(found)
    print(f"Wrote {len(found)} chapters into {chapters.RECORD.relative_to(ROOT)}")
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
        own = [str(Path(place) / one) for one in set(config["sphinx"]["local_extensions"].values())]
        paths = os.pathsep.join([*own, *filter(None, [os.environ.get("PYTHONPATH")])])
        env = environment() | {"BOOK_STORED_OUTPUTS": "1", "PYTHONPATH": paths}
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["build", "stored", "plain", "record", "dist"])
    doors = {"build": build, "stored": stored, "plain": plain, "record": record, "dist": dist}
    return doors[parser.parse_args().what]()


if __name__ == "__main__":
    sys.exit(main())
