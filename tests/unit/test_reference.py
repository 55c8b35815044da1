"""Every public name is documented, and the readers of source and chapters see what is wrong."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from pkgutil import iter_modules

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import api_pages
import chapter_pages
import chapters
import library
import pidlib
from contents import ROOT
from notebooks import write
from pidlib import check


@pytest.mark.parametrize("module", library.public())
def test_every_public_name_is_documented(module):
    assert library.read(module).doc.splitlines()[0].endswith((".", "?"))
    assert library.offered(module) or library.read(module).constants
    assert [text for entry in library.offered(module) for text in library.problems(entry)] == []


def test_every_door_offers_what_it_imports():
    assert set(library.public()) <= set(library.names())
    for door in library.DOORS:
        offers = {entry.name for entry in library.offered(door)} | set(library.read(door).constants)
        real = vars(importlib.import_module(f"pidlib.{door}"))
        assert offers and offers <= set(real)
    shown = {entry.name for entry in library.offered("check")}
    assert shown == EXERCISES


def test_pages_show_every_public_module_once():
    asked = [
        line.split("{api}", 1)[1].split()
        for path in sorted((ROOT / "book").glob("api-*.md"))
        for line in path.read_text().splitlines()
        if "{api}" in line
    ]
    assert sorted(name for names in asked for name in names) == library.public()


EXERCISES = {name for name, value in vars(check).items() if inspect.isfunction(value)}


def names_of(module: str) -> set[str]:
    known = {entry.name for entry in library.offered(module)}
    known |= {m.name for entry in library.offered(module) for m in entry.members}
    return known | set(library.read(module).constants)


def is_public(home: str, name: str) -> bool:
    """Whether a name, given by the module that defines it, stands on a page of the reference."""
    constants = {(h, n) for door in library.DOORS for n, h in library.read(door).gathered.items()}
    own = home in library.public() and name in names_of(home)
    return own or (home, name) in library.places() or (home, name) in constants


def test_chapters_use_public_names_only():
    found = library.uses()
    assert len(found) > 100
    assert {name for home, name in found if home.startswith("check.")} == EXERCISES
    assert [key for key in found if not is_public(*key) and key != ("attacks", "recipes")] == []


@pytest.mark.parametrize("name", ["README.md", "book/how-to-run.md"])
def test_pages_tell_of_public_names_only(name):
    blocks = library.BLOCK.findall((ROOT / name).read_text())
    asked = set(library.used("\n".join(blocks)))
    assert asked
    assert [key for key in asked if not is_public(*key)] == []


def test_names_in_running_text_are_public():
    pages = [(ROOT / name).read_text() for name in ("README.md", "book/how-to-run.md")]
    named = set(re.findall(r"`pidlib\.([\w.]+)", "\n".join(pages)))
    assert "estimation.load_control" in named
    known = set(library.public()) | {
        f"{door}.{n}" for door in library.public() for n in names_of(door)
    }
    assert named - known == set()


def test_no_exported_name_is_a_submodules():
    assert set(library.doors()) == set(pidlib.__all__) - {"__version__"}
    assert set(pidlib.__all__) & {module.name for module in iter_modules(pidlib.__path__)} == set()


def test_an_exported_name_stays_itself_after_its_module_is_imported():
    code = (
        "import pidlib.evaluation.fair_trial; from pidlib import fair_trial; import sys;"
        "sys.exit(not callable(fair_trial))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(
    "module",
    ["theory.gains", "evaluation.accuracy", "theory.subspaces", "data.nli", "cli.settings"],
)
def test_source_is_read_as_python_reads_it(module):
    real = importlib.import_module(f"pidlib.{module}")
    for entry in library.read(module).entries:
        value = getattr(real, entry.name)
        assert inspect.getdoc(value) == entry.doc
        if entry.kind == "function":
            assert tuple(inspect.signature(value).parameters) == entry.parameters
        for member in entry.members:
            if member.kind in library.METHODS:
                of = inspect.signature(getattr(value, member.name.split(".")[1]))
                assert tuple(name for name in of.parameters if name != "self") == member.parameters


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
        """Add them.

        Returns
        -------
        int
        """
'''


def found(source: str) -> str:
    entry = library._entry("some", ast.parse(source).body[0])
    return "\n".join(library.problems(entry))


@pytest.mark.parametrize(
    ("source", "old", "new", "says"),
    [
        (GOOD, "part, whole : float", "part : float", "Parameters are"),
        (GOOD, "part, whole : float", "part, whole, half : float", "Parameters are"),
        (GOOD, "*more)", "*more, half)", "Parameters are"),
        (GOOD, "Returns\n    -------\n    float\n", "", "no section Returns"),
        (GOOD, "-> float", "-> None", "Returns, of nothing"),
        (GOOD, "Share of a part.", "Share of a part\n    of a whole.", "on one line"),
        (GOOD, "Share of a part.", "Share of a part", "one sentence"),
        (RECORD, "first, second : int", "first : int", "Attributes are"),
        (RECORD, "-> int", "-> int | None", ""),
        (RECORD, '"""Add them.', '"""', "some.Pair.sum: no docstring"),
    ],
)
def test_what_is_not_documented_is_seen(source, old, new, says):
    assert found(source) == ""
    spoilt = source.replace(old, new)
    assert spoilt != source
    if says.endswith("no docstring"):
        spoilt = re.sub(r'"""\n\n        Returns.*?"""', "pass", spoilt, flags=re.S)
    assert says in found(spoilt) if says else found(spoilt) == ""


def test_a_reference_entry_shows_all_of_a_docstring():
    entry = library._entry("theory.gains", ast.parse(GOOD).body[0])
    chapters_of = {("theory.gains", "share"): ["04_gains"]}
    text = api_pages.entry_text("theory", entry, chapters_of)
    assert text.startswith("::::::{py:function} share(part, whole=1.0, *more)\n")
    for part in ("`part`, `whole`\n: float", "`*more`", "What else there is.", "*Source:* ours."):
        assert part in text
    assert "[4 gains](/notebooks/04_gains.ipynb)" in text


def test_text_of_docstrings_is_no_markup():
    told = api_pages.inline("x_0 * y_1 and `a_b`: <b> $c$ [d](e)", "theory")
    assert told == r"x\_0 \* y\_1 and `a_b`: \<b\> \$c\$ \[d\](e)"
    linked = api_pages.inline("see `rate`", "theory")
    assert linked == "see {py:obj}`rate <pidlib.theory.rate>`"
    assert api_pages.inline("see `rate`", "theory", {"rate"}) == "see `rate`"
    assert api_pages.inline('take "P-D" or "any word"', "theory") == 'take `"P-D"` or "any word"'
    assert api_pages.inline("1. one", "theory") == r"1\. one"
    told = api_pages.types("Proportion or None", "evaluation")
    assert told.startswith("{py:obj}`Proportion <pidlib.eval")
    assert api_pages.types("Path", "results") == "Path"  # pathlib's
    assert api_pages.types("Path", "chains") == "{py:obj}`Path <pidlib.theory.chains.Path>`"
    assert "pidlib.theory.chains.Path" not in api_pages.module_pages(
        ["adapters", "results", "training"]
    )
    made = api_pages.source("Proposition 2; equations gains-alpha, no-such.", "theory")
    assert made == "Proposition 2; equations {eq}`gains-alpha`, no-such."
    assert api_pages.source("theorem-one", "theory") == "{prf:ref}`theorem-one`"


def test_exercises_tell_difficulty_and_minutes():
    every = [task for one in chapters.chapters() for task in one.exercises]
    assert sorted(task.name for task in every) == sorted(EXERCISES)
    assert {task.difficulty for task in every} == set(chapters.DIFFICULTIES)
    assert all(3 <= task.minutes <= 30 for task in every)
    for one in chapters.chapters():
        titles = [task.title for task in one.exercises]
        assert titles and len(set(titles)) == len(titles), one.stem


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
    assert "1.3 (a) |" in chapter_pages._chapter(chapters.read(path), run, [])
    write(new_notebook(cells=[new_markdown_cell(HEAD), new_code_cell("1")]), path)
    assert "1.3 (a), changed since |" in chapter_pages._chapter(chapters.read(path), run, [])
    assert "not recorded |" in chapter_pages._chapter(chapters.read(path), None, [])


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
        assert chapter_pages.told(run)


def test_seconds_come_from_the_last_build(tmp_path, monkeypatch):
    from jupyter_cache import get_cache

    import book

    path = chapter(tmp_path)
    monkeypatch.setattr(book, "BUILD", tmp_path)
    monkeypatch.setattr(book, "in_toc", lambda: [path])
    monkeypatch.setattr(chapters, "RECORD", ROOT / "none.json")
    assert book.record() == 1
    cache = get_cache(str(tmp_path / ".jupyter_cache"))
    told = {"uri": str(path), "data": {"execution_seconds": 4.25}, "check_validity": False}
    cache.cache_notebook_file(path, **told)
    assert book.taken() == {path: 4.25}
