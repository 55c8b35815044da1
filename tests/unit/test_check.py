"""Exercises: every printed solution passes, every blank and wrong answer fails."""

from __future__ import annotations

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
LEAST = 3  # exercises of a chapter of theory


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
    asked = [case.values[1] for case in exercises()]
    names = [BLANK.search(source)[1] for source in asked]
    assert sorted(names) == sorted(
        name for name in check.__all__ if isfunction(getattr(check, name))
    )


@pytest.mark.parametrize("path", in_toc(), ids=[path.stem for path in in_toc()])
def test_chapters_of_theory_have_enough_exercises(path):
    if int(path.stem[:2]) <= 7:
        asked = [case for case in exercises() if case.id.startswith(path.stem)]
        assert len(asked) >= LEAST


@pytest.mark.parametrize(("first", "blank", "solution"), exercises())
def test_blank_fails_and_printed_solution_passes(monkeypatch, capsys, first, blank, solution):
    monkeypatch.chdir(ROOT / "notebooks")  # where a chapter runs: its first cell may read a result
    said = verdict(capsys, first, blank)
    assert said.startswith("not yet: nothing is returned\nhint: ")
    last = re.search(r"^check\..*", blank, re.M)[0]
    said = verdict(capsys, first, solution, last)
    assert said.startswith("right: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("hint", ["short", "a long hint that goes on and on " * 5])
def test_hints_fit_the_page(capsys, hint):
    @exercise(hint)
    def task(answer):
        yield 1, answer()

    task(None)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert " ".join(line.strip() for line in lines[1:]) == f"hint: {hint.strip()}"


def test_a_raised_error_is_reported(capsys):
    check.split(lambda z: z)
    assert "not yet: TypeError" in capsys.readouterr().out
    check.exit_error(lambda on, off, costs: 1 / 0)
    assert "not yet: ZeroDivisionError" in capsys.readouterr().out


def test_shapes_must_match(capsys):
    check.split(lambda z, V: (1.0, 2.0, 3.0))
    assert capsys.readouterr().out.startswith("not yet")
    check.two_projections(lambda phi: "ab")
    assert "not yet: ValueError" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "shapes"),
    [
        (lambda k: np.full(1, k * k), "an array of shape (1,), not a number"),
        (lambda k: [[k * k]], "an array of shape (1, 1), not a number"),
    ],
)
def test_a_right_value_in_a_wrong_shape_is_named(capsys, answer, shapes):
    @exercise("square it")
    def square(answer):
        for k in range(2, 5):
            yield k * k, answer(k)
        return "squares"

    square(answer)
    said = capsys.readouterr().out
    assert said == f"not yet: right value, wrong shape: {shapes}\nhint: square it\n"
    check.halving_cost([2.0])
    assert "right value, wrong shape" in capsys.readouterr().out


def test_shapes_inside_a_tuple_are_named_too(capsys):
    @exercise("two")
    def pair(answer):
        yield (1.0, np.ones(2)), answer()
        return "two"

    pair((np.ones(1), np.ones(2)))
    assert "(an array of shape (1,), an array of shape (2,)), not (a number" in " ".join(
        capsys.readouterr().out.split()
    )
    pair((1.0, [1.0, 1.0]))
    assert capsys.readouterr().out == "right: two\n"


@pytest.mark.parametrize(
    ("wanted", "given", "case"),
    [
        (4.0, 5.0, "given 2, array (2, 3), the function sin, 'a'; wanted 4, came out 5"),
        ((1.0, 2.0), (1.0, 3.0), "value 2 of 2: wanted 2, came out 3"),
        (np.arange(9), np.arange(9) + (np.arange(9) == 7), "entry [7]: wanted 7, came out 8"),
        ([1, 2], [1, 3], "wanted [1, 2], came out [1, 3]"),
        (np.eye(3), np.ones(3), "wanted array (3, 3), came out [1, 1, 1]"),
        ((1.0, 2.0), (1.0,), "wanted (1, 2), came out (1)"),
    ],
)
def test_the_case_that_failed_is_shown(capsys, wanted, given, case):
    @exercise("think")
    def task(answer):
        yield wanted, answer(2, np.ones((2, 3)), np.sin, "a")
        return "done"

    task(lambda *arguments: given)
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(
        "not yet: a test case comes out differently hint: think the case: given 2"
    )
    assert case in said


def test_the_case_is_shown_as_it_was_before_the_answer_changed_it(capsys):
    @exercise("think")
    def task(answer):
        yield 1.0, answer(np.ones(2))
        return "done"

    def changes(x):
        x *= 0
        return 0.0

    task(changes)
    assert "given [1, 1]; wanted 1, came out 0" in capsys.readouterr().out


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


@pytest.mark.parametrize("blank", [None, ...])
def test_a_blank_in_place_of_a_function_or_a_number_is_no_answer(capsys, blank):
    for task in (check.halving_cost, check.split):
        task(blank)
        assert capsys.readouterr().out.startswith("not yet: nothing is returned\nhint: ")


def test_an_answer_that_changes_its_arguments_is_judged_by_what_it_returns(capsys):
    def flipped(x, V_P, V_D, alpha):
        Q = np.eye(7) - (V_P @ V_P.T + V_D @ V_D.T) / 2
        u = -(1 - alpha) * Q @ x
        x *= 0
        return u

    check.pd_control(flipped)
    assert capsys.readouterr().out.startswith("right: ")
