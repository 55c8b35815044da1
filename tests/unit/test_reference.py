"""Every public name is documented, and the readers of source and chapters see what is wrong."""

import json
import re
from pkgutil import iter_modules

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import chapter_pages
import chapters
import contents
import library
import pidlib
from contents import ROOT
from notebooks import write


@pytest.mark.parametrize("module", library.public())
def test_every_public_name_is_documented(module):
    assert library.load(module).__doc__.splitlines()[0].endswith((".", "?"))
    offered = library.offered(module)
    assert offered or library.constants(module)
    wrong = [library.problems(f"{module}.{name}", value) for name, value in offered.items()]
    assert not any(wrong)


def test_pages_show_every_public_module_once():
    pages = [path.read_text() for path in (ROOT / "book").glob("api-*.md")]
    shown = [
        name for names in re.findall(r"\{api\}(.*)", "\n".join(pages)) for name in names.split()
    ]
    assert sorted(shown) == library.public()


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
    text = (ROOT / name).read_text()
    addresses = set(library.used("\n".join(library.BLOCK.findall(text))))
    assert addresses and addresses <= PUBLIC
    doors = {f"pidlib.{module}" for module in library.public()}
    named = set(re.findall(r"`(pidlib\.[\w.]+)", text))
    assert named <= doors | CONSTANTS | set(library.places().values())


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
    assert not set(pidlib.__all__) & {module.name for module in iter_modules(pidlib.__path__)}


GOOD = '''
def share(part, whole=1.0) -> float:
    """Share of a part.

    Parameters
    ----------
    part, whole : float

    Returns
    -------
    float

    Source: ours.
    """
'''


def problems(source: str) -> str:
    space = {"__name__": "pidlib.some"}
    exec("from __future__ import annotations\n" + source, space)
    return "\n".join(library.problems("share", space["share"]))


SPOILT = [
    ("part, whole : float", "part : float", "the parameters ['part']"),
    ("part, whole : float", "part, whole, half : float", "and has ['part', 'wh"),
    ("Returns\n    -------\n    float\n", "", "it returns float"),
    ("-> float", "-> None", "it returns None"),
    ("Share of a part.", "Share of a part\n    of a whole.", "on one line"),
    ("Share of a part.", "Share of a part", "one sentence"),
]


@pytest.mark.parametrize(("old", "new", "says"), SPOILT)
def test_what_is_not_documented_is_seen(old, new, says):
    assert problems(GOOD) == "" and GOOD.replace(old, new) != GOOD
    assert says in problems(GOOD.replace(old, new))


def test_exercises_tell_difficulty_and_minutes():
    every = [task for one in chapters.chapters() for task in one.exercises]
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


def test_recorded_runs_are_of_chapters():
    stems = {one.stem for one in chapters.chapters()}
    for stem, run in chapters.recorded().items():
        assert stem in stems
        assert run["seconds"] > 0 and re.fullmatch(r"\d{4}-\d\d-\d\d", run["date"])
        assert chapter_pages.circumstances(run)
