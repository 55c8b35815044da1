"""Chapters run side by side, each once, and what is stored of them is compared with that run."""

import subprocess
import sys
import time
from copy import deepcopy

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbval.plugin import IPyNbCell, IPyNbFile

import runs
from contents import ROOT
from notebooks import executed, normalise, write
from runs import run_chapters, sources_sha256
from suite import NBVAL, read_report


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of the test's own."""
    monkeypatch.setattr(runs, "CACHE", tmp_path / "cache")


def chapter(folder, name, *sources):
    path = folder / f"{name}.ipynb"
    note = f"with open({str(folder / 'ran')!r}, 'a') as f: _ = f.write({name!r})\n"
    cells = [new_code_cell(note + sources[0]), *map(new_code_cell, sources[1:])]
    write(normalise(new_notebook(cells=cells)), path)
    return path


def test_each_chapter_runs_once_and_a_failing_one_is_named(tmp_path, capsys):
    paths = [chapter(tmp_path, "a", "1 + 1"), chapter(tmp_path, "b", "1 / 0")]
    ran = tmp_path / "ran"
    assert not run_chapters(2, paths=paths)
    told = capsys.readouterr().out
    assert "a.ipynb: ran in" in told
    assert "b.ipynb failed" in told and "ZeroDivisionError" in told
    assert sorted(ran.read_text()) == ["a", "b"]
    chapter(tmp_path, "b", "1 / 1")
    assert run_chapters(2, paths=paths)
    assert sorted(ran.read_text()) == ["a", "b", "b"]
    assert run_chapters(2, paths=paths) and len(ran.read_text()) == 3


def test_a_kernel_is_fresh_and_sees_no_more_than_an_ordinary_one(tmp_path):
    names = "sorted(k for k in globals() if k[0] != '_')"
    path = chapter(tmp_path, "a", f"import os, sys\nprint(sys.path, os.getcwd(), {names})")
    assert run_chapters(1, paths=[path])
    [forked], [ordinary] = runs.outputs(path).cells, executed(path, folder=tmp_path).cells
    assert forked.outputs[0].text == ordinary.outputs[0].text


def test_a_bar_of_a_first_run_is_neither_kept_nor_stored(tmp_path):
    path = chapter(tmp_path, "a", "from tqdm.notebook import tqdm\nlist(tqdm([1]))")
    stored = normalise(executed(path, folder=tmp_path))
    assert run_chapters(1, paths=[path])
    kept = runs.outputs(path)
    for notebook in (stored, kept):
        assert [o.output_type for o in notebook.cells[0].outputs] == ["execute_result"]
        assert "widgets" not in notebook.metadata


def test_a_kernel_ends_with_the_process_that_asked_for_it(tmp_path):
    note = f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))"
    path = chapter(tmp_path, "a", f"{note}\ntime.sleep(600)")
    code = (
        f"import sys\nsys.path[:0] = {[str(ROOT / 'tools'), str(ROOT)]}\nimport runs\n"
        f"if __name__ == '__main__':\n    runs._run(__import__('pathlib').Path({str(path)!r}))\n"
    )
    (tmp_path / "asks.py").write_text(code)
    asking = subprocess.Popen([sys.executable, tmp_path / "asks.py"], stdout=subprocess.DEVNULL)
    _wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    kernel = psutil.Process(int((tmp_path / "pid").read_text()))
    asking.kill()
    asking.wait()
    _wait_until(lambda: not kernel.is_running() or kernel.status() == psutil.STATUS_ZOMBIE)


def _wait_until(done, seconds=300):
    """Wait for something that must come; a busy machine may take long."""
    for _ in range(10 * seconds):
        if done():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come")


def test_jupyter_book_finds_the_run_in_the_cache(tmp_path):
    from jupyter_cache import get_cache

    path = chapter(tmp_path, "a", "print(6 * 7)")
    assert run_chapters(1, paths=[path])
    stored = nbformat.read(path, as_version=4)
    _, merged = get_cache(str(runs.CACHE)).merge_match_into_notebook(stored)
    assert merged.cells[0].outputs[0].text == "42\n"


@pytest.mark.parametrize(
    "changed", ["book/pidbook/theory/riccati.py", "book/results/bench-fit.json", "requirements.txt"]
)
def test_a_run_counts_while_all_that_it_used_is_the_same(tmp_path, monkeypatch, changed):
    read = 'read_result(RESULTS / "bench-fit.json")'
    path = chapter(tmp_path, "a", f"import pidbook.theory.riccati\nif False:\n    {read}")
    before, plain = sources_sha256(path), chapter(tmp_path, "b", "1 + 1")
    untouched = sources_sha256(plain)
    content = runs.fingerprint

    def other(names, *root):
        return content(names, *root) + ("other" if changed in names else "")

    monkeypatch.setattr(runs, "fingerprint", other)
    assert sources_sha256(path) != before
    assert (sources_sha256(plain) == untouched) == (changed != "requirements.txt")
    assert run_chapters(1, paths=[path]) and runs.outputs(path)
    monkeypatch.undo()
    assert sources_sha256(path) == before


def judged(path, folder, monkeypatch):
    """Count of the cells that nbval passed, failed and skipped against the run in the cache."""
    for owner, name in ((IPyNbFile, "setup"), (IPyNbFile, "teardown"), (IPyNbCell, "runtest")):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # the plugin's change ends here
    report = folder / "report.xml"
    code = pytest.main(["-q", "-p", "judge", *NBVAL, f"--junitxml={report}", str(path)])
    return read_report(report, code)


DISPLAYS = (
    "from IPython.display import clear_output, display\n"
    "handle = display('first', display_id=True)\nhandle.update('second')",
    "print('gone')\nclear_output()\nprint('stays')",
    "import ipywidgets\nout = ipywidgets.Output()\nwith out:\n    print('inside')\ndisplay(out)",
    "print('a')\nprint('b')\n1 + 1",
)


CHANGES = [
    (3, {"outputs": [new_output("stream", text="a\nc\n")]}),
    (1, {"outputs": []}),
    (1, {"outputs": [], "execution_count": None}),
]


def test_what_was_just_recorded_is_the_same_and_what_differs_or_was_never_run_fails(
    tmp_path, monkeypatch
):
    path = chapter(tmp_path, "a", *DISPLAYS)
    notebook = normalise(executed(path, folder=tmp_path))
    write(notebook, path)
    assert run_chapters(1, paths=[path])
    assert judged(path, tmp_path, monkeypatch) == (4, 0, 0)
    for cell, change in CHANGES:
        changed = deepcopy(notebook)
        changed.cells[cell].update(change)
        write(changed, path)
        assert judged(path, tmp_path, monkeypatch) == (3, 1, 0)


def test_a_chapter_without_a_run_fails(tmp_path, monkeypatch):
    path = chapter(tmp_path, "a", *DISPLAYS)
    assert judged(path, tmp_path, monkeypatch) == (0, 4, 0)
