"""Run notebooks in place, write them in one form, and check what they hold.

python tools/notebooks.py run PATH...         execute, store the outputs and the seconds taken
python tools/notebooks.py store PATH...       store the outputs of the run that is in the cache
python tools/notebooks.py normalise PATH...   write in one form, run nothing
python tools/notebooks.py stamp PATH...       note the result files behind outputs that lack it
python tools/notebooks.py check [PATH...]     say what is wrong; default: all in _toc.yml
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import time
from collections import Counter
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import chapters
import runs
from contents import FIGURES, ROOT, environment, in_toc, write_whole
from sources import STAMP, stale, stamp

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
BYTES, PRINTED = 1_500_000, 12
BLANK = re.compile(r"\.\.\.(?s:.*)^check\.\w+\(", re.M)  # the cell of an exercise
# What a caption says last, where a figure shows something measured: model · data · attack
MEASURED = re.compile(r"\[Measured: [^][]+( · [^][]+){1,2}\]\{\.measured\}$")
PRIVATE = re.compile(r"(?<![\w.])/(?:home|root|tmp|usr|work|Users|opt)/[\w.-]+")


def normalise(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The same notebook without whatever differs from run to run."""
    notebook = runs.without_widgets(notebook)
    drawn = notebook.metadata.get(STAMP, {})
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    notebook.metadata["language_info"] = {"name": "python"}
    if drawn:
        notebook.metadata[STAMP] = nbformat.from_dict(dict(sorted(drawn.items())))
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    counts: Counter[str] = Counter()
    for cell in notebook.cells:
        cell.source = cell.source.rstrip()
        tag = hashlib.sha256((cell.cell_type + cell.source).encode()).hexdigest()[:8]
        counts[tag] += 1
        cell.id = tag if counts[tag] == 1 else f"{tag}-{counts[tag]}"
        if BLANK.search(cell.source):  # a site shows the task, not what an untouched blank prints
            cell.metadata["tags"] = sorted({*cell.metadata.get("tags", []), "remove-output"})
        kept = {"tags", "mystnb", "slideshow"} & set(cell.metadata)
        cell.metadata = nbformat.from_dict({k: cell.metadata[k] for k in sorted(kept)})
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    return notebook


def joined(outputs: list) -> list:
    """Outputs with neighbouring pieces of one stream put together."""
    kept: list = []
    for output in outputs:
        output.pop("transient", None)
        stream = output.output_type == "stream"
        if stream and kept and kept[-1].get("name") == output.name:
            kept[-1].text += output.text
            continue
        if "image/svg+xml" in output.get("data", {}):
            output.data.pop("image/png", None)
        kept.append(output)
    return kept


def write(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Write whole or not at all."""
    nbformat.validate(notebook)
    write_whole(path, nbformat.writes(notebook) + "\n")


def executed(
    path: Path, timeout: int = 600, folder: Path = ROOT / "notebooks"
) -> nbformat.NotebookNode:
    """A chapter, run anew in the folder of the notebooks; the file stays as it is."""
    notebook = normalise(nbformat.read(path, as_version=4))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    place = {"metadata": {"path": str(folder)}}
    options = {"timeout": timeout, "kernel_name": "python3", "record_timing": False}
    NotebookClient(notebook, resources=place, **options).execute(env=environment())
    return notebook


def run(path: Path) -> float:
    """Execute in place; return the seconds taken."""
    start = time.perf_counter()
    notebook = executed(path)
    seconds = time.perf_counter() - start
    stamp(notebook, run=True)
    write(normalise(notebook), path)
    return seconds


def store(path: Path) -> None:
    """Store what a chapter put out when it was last run for the book."""
    notebook, ran = nbformat.read(path, as_version=4), runs.outputs(path)
    if ran is None:
        raise FileNotFoundError("it has no run that counts: python tools/book.py run")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, other in zip(cells, ran.cells, strict=True):
        cell.outputs, cell.execution_count = other.outputs, other.execution_count
    stamp(notebook, run=True)
    write(normalise(notebook), path)


def problems(path: Path) -> list[str]:
    """What is wrong with a stored notebook, one line each."""
    if not path.exists():
        return ["the file is missing"]
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    found = []
    if path.stat().st_size > BYTES:
        found.append(f"{path.stat().st_size:,} bytes, at most {BYTES:,}")
    counts = [cell.execution_count for cell in cells]
    if counts != list(range(1, len(cells) + 1)):
        found.append(f"cells were not run once, in order: {counts}")
    found += stale(notebook)
    names = [c.metadata.get("mystnb", {}).get("figure", {}).get("name") for c in cells]
    twice = {name for name in names if name and names.count(name) > 1}
    found += [f"figure name {name!r} is used twice" for name in sorted(twice)]
    for number, cell in enumerate(cells, 1):
        found += [f"cell {number}: {text}" for text in cell_problems(cell)]
    return found


def cell_problems(cell: nbformat.NotebookNode) -> list[str]:
    """What is wrong with one code cell."""
    found, tags = [], cell.metadata.get("tags", [])
    printed = sum(map(printed_lines, cell.outputs))
    if printed > PRINTED and "remove-output" not in tags:
        found.append(f"{printed} lines printed, at most {PRINTED}: draw them, or show a table")
    for output in cell.outputs:
        if output.output_type == "error" and "raises-exception" not in tags:
            found.append(f"error output {output.ename}: {output.evalue[:80]}")
        if output.output_type == "stream" and output.name == "stderr":
            found.append(f"text on stderr: {output.text.strip()[:80]!r}")
        data = output.get("data", {})
        text = output.get("text", "") or str(data.get("text/plain", ""))
        if (private := PRIVATE.search(text)) and "nbval-ignore-output" not in tags:
            found.append(f"a path of this machine in the output: {private.group()!r}")
        if any(kind in data for kind in FIGURES):
            mystnb = cell.metadata.get("mystnb", {})
            if len(mystnb.get("image", {}).get("alt", "")) < 20:
                found.append("figure without alt text (metadata mystnb.image.alt)")
            lacking = [k for k in ("name", "caption") if not mystnb.get("figure", {}).get(k)]
            found += [f"figure without {k} (metadata mystnb.figure.{k})" for k in lacking]
            caption = mystnb.get("figure", {}).get("caption", "")
            if "Measured:" in caption and not MEASURED.search(caption):
                found.append("a caption ends [Measured: model · data · attack]{.measured}")
    return found


def printed_lines(output: nbformat.NotebookNode) -> int:
    """Lines of text that a page shows of an output."""
    data = output.get("data", {})
    drawn = {"text/html", *FIGURES} & set(data)
    text = output.get("text", "") or ("" if drawn else str(data.get("text/plain", "")))
    glued = "scrapbook" in output.get("metadata", {})  # shown elsewhere, by its key
    return 0 if glued else len(text.strip().splitlines())


def main() -> int:
    """Door of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "store", "normalise", "stamp", "check"])
    parser.add_argument("paths", nargs="*", type=Path)
    given = parser.parse_args()
    failed, taken = 0, {}
    for path in [path.resolve() for path in given.paths] or in_toc():
        try:
            if given.what == "run":
                taken[path] = run(path)
                print(f"{path.name}: ran in {taken[path]:.1f} s", flush=True)
            elif given.what == "store":
                store(path)
            elif given.what != "check":
                notebook = normalise(nbformat.read(path, as_version=4))
                if given.what == "stamp":
                    stamp(notebook, run=False)
                write(notebook, path)
        except (CellExecutionError, TimeoutError, FileNotFoundError) as error:
            print(f"{path.name}: failed; the file was left as it was\n{error}", flush=True)
            failed += 1
            continue
        for text in problems(path):
            print(f"{path.name}: {text}", flush=True)
            failed += given.what == "check"
    if taken:
        chapters.record({path: taken[path] for path in taken if path in in_toc()})
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
