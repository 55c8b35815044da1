"""Run the chapters that changed, several at a time, into the cache that Jupyter Book reads.

Jupyter Book runs one chapter after the other, and a chapter keeps less than two cores busy.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.base import ProjectNb
from jupyter_cache.cache.main import JupyterCacheBase
from jupyter_cache.executors.utils import (
    ExecutionResult,
    create_cache_bundle,
    single_nb_execution,
)

import chapters
from contents import ROOT, in_toc

CACHE = ROOT / "_build" / ".jupyter_cache"
TIMEOUT = 300  # seconds per cell, as in _config.yml


def unrun(cache: JupyterCacheBase, paths: Sequence[Path]) -> list[ProjectNb]:
    """Chapters whose cells are not in the cache, the slowest of the last record first."""
    for path in paths:
        cache.add_nb_to_project(str(path))
    wanted = {str(path) for path in paths}
    records = [r for r in cache.list_unexecuted() if r.uri in wanted]
    before = chapters.recorded()
    records.sort(key=lambda r: -before.get(Path(r.uri).stem, {}).get("seconds", 0.0))
    return [cache.get_project_notebook(record.pk) for record in records]


def execute(notebook: ProjectNb) -> ExecutionResult:
    """Run one chapter in the folder of the notebooks, until a cell fails."""
    folder = str(Path(notebook.uri).parent)
    return single_nb_execution(notebook.nb, cwd=folder, timeout=TIMEOUT, allow_errors=False)


def run_chapters(workers: int, folder: Path = CACHE, paths: Sequence[Path] | None = None) -> bool:
    """Run what changed; a failed chapter is named, with its error, and the others still run."""
    cache = get_cache(str(folder))
    todo = unrun(cache, in_toc() if paths is None else paths)
    workers = max(1, min(workers, len(todo)))
    if workers > 1:  # a thread for each chapter: they share the cores
        os.environ["OMP_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // workers))
    sound = True
    with ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(execute, notebook): notebook for notebook in todo}
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
