"""Imports run one way, and what is measured of the house counts truly."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import pytest

import house


@pytest.mark.parametrize(
    "measure", [m for m in house.measures() if m.held], ids=lambda measure: measure.what
)
def test_imports_run_one_way(measure):
    assert (measure.number, measure.where) == (0, "")


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
NOTEBOOK = """{"cells": [
 {"cell_type": "code", "source": ["%matplotlib inline\\n", "x = 1\\n", "print(x)"]},
 {"cell_type": "markdown", "source": ["# Title"]}
]}"""


@pytest.fixture
def small(tmp_path):
    """A house of three packages: experiments import pidbook, that pidlib, and theory nothing."""
    texts = {
        "pidlib/__init__.py": "",
        "pidlib/__init__.pyi": "from .gain import f as f\n",
        "pidlib/gain.py": "def f():\n    from pidlib.theory.gains import alphas\n\n    return alphas\n",
        "pidlib/theory/__init__.py": "from pidlib.theory.gains import alphas\n",
        "pidlib/theory/gains.py": "import numpy\n\nalphas = numpy.ones\n",
        "book/pidbook/plots.py": "from pidlib import gain\n\n\ndef f():\n    pass\n",
        "experiments/trial.py": "from pidbook import plots\n",
        "notebooks/01.ipynb": NOTEBOOK,
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_code_is_neither_comment_nor_docstring_nor_empty(tmp_path):
    path = tmp_path / "a.py"
    path.write_text(FILE)
    assert house.code_lines(path) == 9


def test_what_is_measured_of_a_small_house(small):
    numbers = {measure.what: measure.number for measure in house.measures(small)}
    assert numbers["code lines of pidlib"] == 6
    assert numbers["code lines of pidbook"] == 3
    assert numbers["code lines of experiments"] == 1
    assert numbers["public names of pidlib"] == 1
    assert numbers["names defined twice"] == 1  # f
    assert numbers["circles of imports"] == numbers["imports the wrong way"] == 0
    assert len(house.tokens(small / "notebooks/01.ipynb")) == 7


def test_imports_that_go_round_or_the_wrong_way_are_found(small, monkeypatch):
    with (small / "pidlib/theory/gains.py").open("a") as file:
        file.write("from pidlib.gain import f\nfrom experiments.trial import run\n")
    graph = house.arrows(small)
    with pytest.raises(CycleError):
        list(TopologicalSorter(graph).static_order())
    assert house.wrong_way(graph) == [
        "pidlib.theory.gains > experiments.trial",
        "pidlib.theory.gains > pidlib.gain",
    ]
    wrong = house.measures(small)
    monkeypatch.setattr(house, "measures", lambda: wrong)
    assert house.main() == 1
