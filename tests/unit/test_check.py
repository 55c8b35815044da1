"""Exercises: every printed solution passes, every blank and wrong answer fails."""

import ast
import re
from functools import cache
from inspect import isfunction

import nbformat
import numpy as np
import pytest
import torch

from contents import ROOT, in_toc
from pidbook import check
from pidbook.check.judge import exercise

BLANK = re.compile(r"^check\.(\w+)", re.M)
SOLUTION = re.compile(r"\{dropdown\} Solution\n.*?```python\n(.*?)```", re.S)
IMPORTS = (ast.Import, ast.ImportFrom)


@cache
def exercises():
    """(imports, blank cell, solution) of each exercise, as printed on the page."""
    found = []
    for path in in_toc():
        cells = nbformat.read(path, as_version=4).cells
        codes = [ast.parse(cell.source).body for cell in cells if cell.cell_type == "code"]
        imports = [node for body in codes for node in body if type(node) in IMPORTS]
        first = "\n".join(map(ast.unparse, imports))
        for cell, after in zip(cells, cells[1:] + [None], strict=True):
            if cell.cell_type == "code" and (blank := BLANK.search(cell.source)):
                solution = SOLUTION.search(after.source)
                assert solution, f"{path.stem}: no solution beneath check.{blank[1]}"
                name = f"{path.stem}-{blank[1]}"
                found.append(pytest.param(first, cell.source, solution[1], id=name))
    return found


def verdict(capsys, *sources: str) -> str:
    space: dict = {"__name__": "exercise"}
    with torch.enable_grad():  # some chapters switch gradients off: not for the tests that follow
        for source in sources:
            exec(source, space)
    return capsys.readouterr().out


def test_every_exercise_is_on_a_page_once():
    names = [BLANK.search(case.values[1])[1] for case in exercises()]
    every = [name for name in check.__all__ if isfunction(getattr(check, name))]
    assert sorted(names) == sorted(every)


@pytest.mark.parametrize(("first", "blank", "solution"), exercises())
def test_blank_fails_and_printed_solution_passes(monkeypatch, capsys, first, blank, solution):
    monkeypatch.chdir(ROOT / "notebooks")  # where a chapter runs: its first cell may read a result
    told = verdict(capsys, first, blank)
    assert told.startswith("not yet: nothing is returned\nhint: ")
    last = re.search(r"^check\..*", blank, re.M)[0]
    told = verdict(capsys, first, solution, last)
    assert told.startswith("right: ") and told.count("\n") == 1


def said(capsys, answer, wanted, *given, hint="think"):
    """What an exercise of one case says of an answer."""

    @exercise(hint)
    def task(answer):
        yield wanted, answer(*given)
        return "done"

    task(answer)
    return capsys.readouterr().out


@pytest.mark.parametrize("hint", ["short", "a long hint that goes on and on " * 5])
def test_hints_fit_the_page(capsys, hint):
    lines = said(capsys, None, 1, hint=hint).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert " ".join(line.strip() for line in lines[1:]) == f"hint: {hint.strip()}"


ANSWERS = [
    (4.0, 5.0, "given 2, array (2, 3), the function sin, 'a'; wanted 4, came out 5"),
    ((1.0, 2.0), (1.0, 3.0), "value 2 of 2: wanted 2, came out 3"),
    (np.arange(9), np.arange(9) + (np.arange(9) == 7), "entry [7]: wanted 7, came out 8"),
    ([1, 2], [1, 3], "wanted [1, 2], came out [1, 3]"),
    (np.eye(3), np.ones(3), "wanted array (3, 3), came out [1, 1, 1]"),
    ((1.0, 2.0), (1.0,), "wanted (1, 2), came out (1)"),
    (1.0, np.ones(1), "right value, wrong shape: an array of shape (1,), not a number"),
    (1.0, [[1.0]], "right value, wrong shape: an array of shape (1, 1), not a number"),
    ((1.0, np.ones(2)), (np.ones(1), np.ones(2)), "(an array of shape (1,), an array of"),
    ((1.0, np.ones(2)), (1.0, [1.0, 1.0]), "right: done"),
    (1.0, "ab", "not yet: ValueError"),
]


@pytest.mark.parametrize(("wanted", "came", "says"), ANSWERS)
def test_what_came_out_is_shown(capsys, wanted, came, says):
    told = said(capsys, lambda *given: came, wanted, 2, np.ones((2, 3)), np.sin, "a")
    assert says in " ".join(told.split())
    assert told.startswith("right" if says.startswith("right: ") else "not yet: ")


def test_a_raised_error_is_reported(capsys):
    assert "not yet: TypeError" in said(capsys, lambda z: z, 1.0)
    assert "not yet: ZeroDivisionError" in said(capsys, lambda: 1 / 0, 1.0)


def test_the_case_is_shown_as_it_was_before_the_answer_changed_it(capsys):
    def changes(x):
        x *= 0
        return 0.0

    assert "given [1, 1]; wanted 1, came out 0" in said(capsys, changes, 1.0, np.ones(2))


def test_one_wrong_case_of_many_is_enough(capsys):
    @exercise("square it")
    def square(answer):
        """Check a function k -> its square."""
        for k in range(5):
            yield k * k, answer(k)
        return "squares"

    square(lambda k: k * k if k < 4 else 0)
    assert capsys.readouterr().out.startswith("not yet: a test case comes out differently")
    square(lambda k: k * k)
    assert capsys.readouterr().out == "right: squares\n"
    assert square.__doc__ == "Check a function k -> its square."


def test_an_answer_that_changes_its_arguments_is_judged_by_what_it_returns(capsys):
    def flipped(x, V_P, V_D, alpha):
        Q = np.eye(7) - (V_P @ V_P.T + V_D @ V_D.T) / 2
        u = -(1 - alpha) * Q @ x
        x *= 0
        return u

    check.pd_control(flipped)
    assert capsys.readouterr().out.startswith("right: ")
