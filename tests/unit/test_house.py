"""Imports run one way, and what is measured of the house counts truly."""

from __future__ import annotations

from graphlib import CycleError

import pytest

import house

# Sizes are printed, not held: a limit of lines is met by longer lines.
STRUCTURE = [measure for measure in house.measures() if "import" in measure.what]


@pytest.mark.parametrize("measure", STRUCTURE, ids=lambda measure: measure.what)
def test_imports_run_one_way(measure):
    assert measure.number <= measure.most


FILE = '''
"""What it is."""

import numpy  # for arrays

def f(x):
    """Say.

    More.
    """
    text = """one

    three"""
    return (
        x,

        text,
    )
'''


@pytest.fixture
def small(tmp_path):
    """A house of three rooms: gain imports theory, and theory nothing."""
    files = {
        "pidlib/__init__.py": "",
        "pidlib/gain.py": "def f():\n    from pidlib.theory.gains import alphas\n\n    return alphas\n",
        "pidlib/theory/__init__.py": "from pidlib.theory.gains import alphas\n",
        "pidlib/theory/gains.py": "import numpy\n\nalphas = numpy.ones\n",
        "experiments/trial.py": "from pidlib import gain\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_code_is_neither_comment_nor_docstring_nor_empty(tmp_path):
    path = tmp_path / "a.py"
    path.write_text(FILE)
    assert house.code_lines(path) == 9


def test_rooms_stand_on_floors(small):
    graph = house.arrows(small)
    assert graph == {"__init__": set(), "gain": {"theory"}, "theory": set()}
    assert house.floors(graph) == {"__init__": 1, "theory": 1, "gain": 2}
    numbers = {measure.what: measure.number for measure in house.measures(small)}
    assert numbers["files at the top of pidlib"] == 2
    assert numbers["code lines of pidlib"] == 6 and numbers["all lines of pidlib"] == 8
    assert numbers["code lines of experiments"] == 1
    assert numbers["lines of the largest function, its docstring apart"] == 4
    assert numbers["lines of the largest file"] == 4
    assert numbers["modules of the largest folder"] == 1
    assert numbers["floors of imports between them"] == 2


def test_arrows_that_point_the_wrong_way_are_counted(small, monkeypatch, capsys):
    with (small / "pidlib/theory/gains.py").open("a") as file:
        file.write("from pidlib import gain\nfrom experiments.trial import run\n")
    with pytest.raises(CycleError):
        house.floors(house.arrows(small))
    numbers = {measure.what: measure.number for measure in house.measures(small)}
    assert numbers["circles of imports between them"] == 1
    assert numbers["imports of experiments in pidlib"] == 1
    assert numbers["rooms that pidlib.theory imports"] == 1
    wrong = house.measures(small)
    monkeypatch.setattr(house, "measures", lambda: wrong)
    assert house.main() == 1
    assert capsys.readouterr().out.count("MORE THAN") == 3
