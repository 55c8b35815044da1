"""Every public name is documented, and the readers of source and chapters see what is wrong."""

from __future__ import annotations

import inspect
import json
import re
from importlib import import_module
from pkgutil import iter_modules
from typing import NamedTuple

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import chapter_pages
import chapters
import contents
import library
import pidlib
from contents import ROOT, code
from notebooks import write
from pidbook import check


@pytest.mark.parametrize("module", library.public())
def test_every_public_name_is_documented(module):
    assert library.load(module).__doc__.splitlines()[0].endswith((".", "?"))
    offered = library.offered(module)
    assert offered or library.constants(module)
    wrong = [library.problems(f"{module}.{name}", value) for name, value in offered.items()]
    assert not any(wrong)


def test_every_exercise_is_one_of_a_chapter():
    used = {name for path in contents.in_toc() for name in CHECKED.findall("\n".join(code(path)))}
    assert used == EXERCISES


def test_pages_show_every_public_module_once():
    shown = [
        line.split("{api}", 1)[1].split()
        for path in sorted((ROOT / "book").glob("api-*.md"))
        for line in path.read_text().splitlines()
        if "{api}" in line
    ]
    assert sorted(name for names in shown for name in names) == library.public()


CHECKED = re.compile(r"\bcheck\.(\w+)")
EXERCISES = {name for name in check.__all__ if inspect.isfunction(getattr(check, name))}
CONSTANTS = {f"pidlib.{m}.{name}" for m in library.public() for name in library.constants(m)}
PUBLIC = library.places().keys() | CONSTANTS


def test_chapters_use_public_names_only():
    addresses = library.uses().keys()
    assert len(addresses) > 30
    # The recipes themselves: chapter 9 prints what they say; their module imports TextAttack.
    inner = {"pidlib.attacks.recipes.RECIPES"}
    assert addresses - PUBLIC == inner


@pytest.mark.parametrize("name", ["README.md", "book/how-to-run.md"])
def test_pages_tell_of_public_names_only(name):
    blocks = library.BLOCK.findall((ROOT / name).read_text())
    addresses = set(library.used("\n".join(blocks)))
    assert addresses
    assert addresses - PUBLIC == set()


def test_names_in_running_text_are_public():
    pages = [(ROOT / name).read_text() for name in ("README.md", "book/how-to-run.md")]
    named = set(re.findall(r"`(pidlib\.[\w.]+)", "\n".join(pages)))
    assert "pidlib.estimation.load_control" in named
    doors = {f"pidlib.{module}" for module in library.public()}
    assert named - doors - CONSTANTS - set(library.places().values()) == set()


def test_the_use_of_a_name_is_seen_however_it_is_imported():
    lines = [
        "from pidlib import PIDController, theory",
        "from pidlib.evaluation import statistics",
        "import pidlib.data as d",
        "theory.alphas, statistics.compare, d.LABELS, other.name",
    ]
    assert set(library.used("\n".join(lines))) == {
        "pidlib.pid.PIDController",
        "pidlib.theory.gains.alphas",
        "pidlib.evaluation.statistics.compare",
        "pidlib.data.LABELS",
    }


def test_no_exported_name_is_a_submodules():
    assert set(library.front_door()) == set(pidlib.__all__) - {"__version__"}
    assert set(pidlib.__all__) & {module.name for module in iter_modules(pidlib.__path__)} == set()


def test_an_exported_name_stays_itself_after_its_module_is_imported():
    module = import_module("pidlib.evaluation.fair_trial")
    assert pidlib.fair_trial is pidlib.evaluation.fair_trial is module.fair_trial


GOOD = '''
def share(part, whole=1.0, *more) -> float:
    """Share of a part.

    Parameters
    ----------
    part, whole : float
    *more : float
        What else there is.

    Returns
    -------
    float

    Source: ours.
    """
'''
RECORD = '''
class Pair(NamedTuple):
    """Two numbers.

    Attributes
    ----------
    first, second : int

    Source: ours.
    """

    first: int
    second: int = 0

    def sum(self) -> int:
        """Add them."""
'''


def problems(source: str) -> str:
    space = {"NamedTuple": NamedTuple, "__name__": "pidlib.some"}
    exec("from __future__ import annotations\n" + source, space)
    name = re.search(r"(?:def|class) (\w+)", source)[1]
    return "\n".join(library.problems(name, space[name]))


@pytest.mark.parametrize(
    ("source", "old", "new", "says"),
    [
        (GOOD, "part, whole : float", "part : float", "the parameters ['more', 'part']"),
        (GOOD, "part, whole : float", "part, whole, half : float", "and has ['more', 'part', 'wh"),
        (GOOD, "*more)", "*more, half)", "the parameters"),
        (GOOD, "Returns\n    -------\n    float\n", "", "it returns float"),
        (GOOD, "-> float", "-> None", "it returns None"),
        (GOOD, "Share of a part.", "Share of a part\n    of a whole.", "on one line"),
        (GOOD, "Share of a part.", "Share of a part", "one sentence"),
        (RECORD, "first, second : int", "first : int", "the parameters ['first']"),
        (RECORD, "-> int", "-> int | None", ""),
        (RECORD, '"""Add them."""', "pass", "Pair.sum: no docstring"),
    ],
)
def test_what_is_not_documented_is_seen(source, old, new, says):
    assert problems(source) == ""
    spoilt = source.replace(old, new)
    assert spoilt != source
    assert says in problems(spoilt) if says else problems(spoilt) == ""


def test_exercises_tell_difficulty_and_minutes():
    every = [task for one in chapters.chapters() for task in one.exercises]
    assert sorted(task.name for task in every) == sorted(EXERCISES)
    assert {task.difficulty for task in every} == set(chapters.DIFFICULTIES)
    assert all(3 <= task.minutes <= 30 for task in every)
    for one in chapters.chapters():
        titles = [task.title for task in one.exercises]
        assert (titles or contents.number(one.stem) == "") and len(set(titles)) == len(titles)


@pytest.mark.parametrize("one", chapters.chapters(), ids=lambda one: one.stem)
def test_chapter_says_how_long_its_exercises_take(one):
    assert abs(one.promised - sum(task.minutes for task in one.exercises)) <= 5


HEAD = "# A\n\nAbout 5 minutes to read, a second to run. Exercises: about 5 minutes more."
TASK = "### Half\n\n*Easy with paper, 5 minutes.* Halve it."


def chapter(tmp_path, task=TASK, code="half = ...\ncheck.half(half)"):
    cells = [new_markdown_cell(HEAD), new_markdown_cell(task), new_code_cell(code)]
    path = tmp_path / "01_a.ipynb"
    write(new_notebook(cells=cells), path)
    return path


def test_an_exercise_is_read_from_its_page(tmp_path):
    one = chapters.read(chapter(tmp_path))
    assert one.exercises == (chapters.Exercise("01_a", "Half", "half", "Easy", 5, True),)
    assert (one.reading, one.promised, one.cells, one.figures) == (5, 5, 1, 0)


@pytest.mark.parametrize("old", ["### Half", "*Easy with paper, 5 minutes.*", "Easy", "5 minutes"])
def test_an_exercise_without_its_line_is_refused(tmp_path, old):
    with pytest.raises(ValueError, match=r"check\.half lacks"):
        chapters.read(chapter(tmp_path, TASK.replace(old, "Some")))


def test_a_recorded_run_is_kept_and_known_by_its_code(tmp_path, monkeypatch):
    path, record = chapter(tmp_path), tmp_path / "chapters.json"
    record.write_text(json.dumps({"00_old": {"seconds": 3.0}}))
    chapters.record({path: 1.26}, record)
    held = json.loads(record.read_text())
    assert list(held) == ["00_old", "01_a"] and held["00_old"] == {"seconds": 3.0}
    run = held["01_a"]
    assert run["seconds"] == 1.3 and run["machine"]["cores"] >= 1
    assert "host" not in json.dumps(held).lower()
    places = [chapter_pages.circumstances(run)]
    assert chapter_pages.seconds(chapters.read(path), run, places) == "1.3 (a)"
    write(new_notebook(cells=[new_markdown_cell(HEAD), new_code_cell("1")]), path)
    assert chapter_pages.seconds(chapters.read(path), run, places) == "1.3 (a), changed since"
    assert chapter_pages.seconds(chapters.read(path), None, places) == "not recorded"


def test_long_times_are_told_to_the_half_hour():
    told = [chapters.duration(minutes) for minutes in (85, 90, 570, 590, 600)]
    assert told[:2] == ["85 minutes", "about 1½ hours"]
    assert told[2:] == ["about 9½ hours", "about 10 hours", "about 10 hours"]
    reading = chapters.duration(sum(one.reading for one in chapters.chapters()))
    assert f"All chapters take {reading} to read" in chapter_pages.status()


def test_recorded_runs_are_of_chapters():
    stems = {one.stem for one in chapters.chapters()}
    for stem, run in chapters.recorded().items():
        assert stem in stems
        assert run["seconds"] > 0 and re.fullmatch(r"\d{4}-\d\d-\d\d", run["date"])
        assert chapter_pages.circumstances(run)


def test_seconds_come_from_the_last_build(tmp_path, monkeypatch):
    import book
    import runs

    path = chapter(tmp_path)
    monkeypatch.setattr(runs, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(runs, "in_toc", lambda: [path])
    monkeypatch.setattr(chapters, "RECORD", ROOT / "none.json")
    assert book.record() == 1
    data = {"execution_seconds": 4.25, "sources": runs.sources_sha256(path)}
    told = {"uri": str(path), "data": data, "check_validity": False}
    runs.get_cache(str(runs.CACHE)).cache_notebook_file(path, **told)
    assert book.taken() == {path: 4.25}
