"""Plugin of pytest: nbval compares a chapter's stored outputs with those of its run in the cache.

nbval would start a kernel for each chapter and run it again. It also passes a cell that was never
run, and takes displays that were updated or cleared for other than what nbclient has recorded. Here
both sides were recorded by nbclient, and a cell that was not run fails.

pytest -p judge --nbval --nbval-current-env notebooks/01_dynamics.ipynb
"""

from __future__ import annotations

from pathlib import Path

from nbval.plugin import IPyNbCell, IPyNbFile, coalesce_streams

import runs


def setup(chapter: IPyNbFile) -> None:
    """Read the chapter's run."""
    chapter.run = runs.outputs(Path(chapter.fspath))
    chapter.setup_sanitize_files()


def runtest(test: IPyNbCell) -> None:
    """Compare what is stored of one cell with what it put out in the run."""
    if test.parent.run is None:
        test.raise_cell_error("The chapter has no run; run: python tools/book.py run")
    cells = [cell for cell in test.parent.run.cells if cell.cell_type == "code"]
    if test.cell.execution_count is None:
        test.raise_cell_error("The cell is stored without having been run")
    if test.options["check"]:
        ran, stored = (coalesce_streams(c.outputs) for c in (cells[test.cell_num], test.cell))
        if not test.compare_outputs(ran, stored):
            test.raise_cell_error("Cell outputs differ", "\n".join(test.comparison_traceback))


def pytest_configure() -> None:
    """Let nbval's items be judged so."""
    IPyNbFile.setup, IPyNbFile.teardown = setup, lambda chapter: None
    IPyNbCell.runtest = runtest
