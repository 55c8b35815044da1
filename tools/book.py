"""Build the book.

python tools/book.py build    run the chapters that changed, build the site, say where it is
python tools/book.py prepare  make what several chapters use: the language model, the shared fit
python tools/book.py run      run the chapters that changed, into the cache
python tools/book.py site     build the site of the chapters' runs
python tools/book.py plain    the same by plain Sphinx, without Jupyter Book's builder
python tools/book.py record   note in book/chapters.json how long each chapter took when last run
python tools/book.py dist     put the built site into dist/book.zip
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from contents import BUILD, ROOT, environment, in_toc, pages
from runs import fingerprint

SITE = BUILD / "html"
PAGES = ("book", "notebooks", "tools", "experiments", "_config.yml", "_toc.yml")
LIBRARY = ("pidlib", "requirements.txt", "requirements-nodeps.txt", "book/results")
WORKERS = int(os.environ.get("WORKERS", "2"))


def changed(stamp: Path, value: str) -> bool:
    """Whether the stamp is missing or holds another value."""
    return not stamp.exists() or stamp.read_text() != value


def sphinx(extra: list[str], env: dict[str, str], root: Path = ROOT) -> int:
    """Jupyter Book with every warning an error."""
    program = str(Path(sys.executable).with_name("jupyter-book"))
    command = [program, "build", ".", "-W", "-n", "--keep-going", *extra]
    return subprocess.run(command, cwd=root, env=env, check=False).returncode


def prepare() -> int:
    """Make what several chapters use, so that none waits for another."""
    from pidbook.fits import captions_folder
    from pidlib.io.embedded import SMOLLM2, embedded_folder

    try:
        embedded_folder(SMOLLM2.name)
        captions_folder()
    except (OSError, ValueError) as error:
        print(f"The chapters cannot be run: {error}", flush=True)
        return 1
    return 0


def run() -> int:
    """Run the chapters that changed; kernels inherit the readers' environment."""
    import runs

    readers = environment()
    os.environ.clear()
    os.environ.update(readers)
    return int(not runs.run_chapters(WORKERS))


def site() -> int:
    """Build the site of the chapters' runs; at once where nothing has changed since the last build."""
    stamp, content = BUILD / ".pages-hash", fingerprint(PAGES + LIBRARY)
    if not changed(stamp, content) and (SITE / "index.html").exists():
        print("The site stands as it was built; nothing has changed.", flush=True)
        return 0
    # A glued number may stand on a page that did not change: all pages are written.
    code = sphinx(["--all"], environment())
    if code:
        stamp.unlink(missing_ok=True)
        print("The site was not built: see the first warning or error above.", flush=True)
    else:
        stamp.write_text(content)
    return code


def build() -> int:
    """Run what changed and build the site."""
    start = time.perf_counter()
    BUILD.mkdir(exist_ok=True)
    for step in (prepare, run, site):
        if step():
            print(
                f"The book was not built: its step {step.__name__!r} failed, see above.", flush=True
            )
            return 1
    seconds = taken()
    print("\nSeconds per chapter, when it was last run:")
    for path in in_toc():
        print(f"  {path.stem:<24}" + (f"{seconds[path]:8.1f}" if path in seconds else "  not run"))
    print(f"Built in {time.perf_counter() - start:.0f} s. Open {SITE / 'index.html'}", flush=True)
    return 0


def taken() -> dict[Path, float]:
    """Seconds that each chapter took when it was last run."""
    import runs

    return dict(runs.seconds())


def record() -> int:
    """Write how long the chapters took in the last build."""
    import chapters

    seconds = taken()
    if not seconds:
        print("No build has run the chapters; run make book first.")
        return 1
    chapters.record(seconds)
    print(f"Wrote {len(seconds)} chapters into {chapters.RECORD.relative_to(ROOT)}")
    return 0


def plain(root: Path = ROOT, twin: Path = SITE) -> int:
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
    steps = (build, prepare, run, site, plain, record, dist)
    doors = {step.__name__: step for step in steps}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=list(doors))
    return doors[parser.parse_args().what]()


if __name__ == "__main__":
    sys.exit(main())
