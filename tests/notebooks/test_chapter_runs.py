"""Chapters run side by side, each once, and a failing one is named."""

from __future__ import annotations

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from book import run_chapters
from notebooks import normalise, write


def chapter(folder, name, source):
    path = folder / f"{name}.ipynb"
    note = f"with open({str(folder / 'ran')!r}, 'a') as f: _ = f.write({name!r})\n"
    write(normalise(new_notebook(cells=[new_code_cell(note + source)])), path)
    return path


def test_each_chapter_runs_once_and_a_failing_one_is_named(tmp_path, capsys):
    paths = [chapter(tmp_path, "a", "1 + 1"), chapter(tmp_path, "b", "1 / 0")]
    cache, ran = tmp_path / "cache", tmp_path / "ran"
    assert not run_chapters(2, cache, paths)
    told = capsys.readouterr().out
    assert "a.ipynb: ran in" in told
    assert "b.ipynb failed" in told and "ZeroDivisionError" in told
    assert sorted(ran.read_text()) == ["a", "b"]
    chapter(tmp_path, "b", "1 / 1")
    assert run_chapters(2, cache, paths)
    assert sorted(ran.read_text()) == ["a", "b", "b"]
    assert run_chapters(2, cache, paths) and len(ran.read_text()) == 3


def test_jupyter_book_finds_the_run_in_the_cache(tmp_path):
    from jupyter_cache import get_cache

    path = chapter(tmp_path, "a", "print(6 * 7)")
    assert run_chapters(1, tmp_path / "cache", [path])
    stored = nbformat.read(path, as_version=4)
    _, merged = get_cache(str(tmp_path / "cache")).merge_match_into_notebook(stored)
    assert merged.cells[0].outputs[0].text == "42\n"
