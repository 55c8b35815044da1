"""Exercises: every printed solution passes, every blank and wrong answer fails."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from pidlib import check
from pidlib.gains import attenuation

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
CHAPTERS = ("03_riccati", "05_error_theorem", "10_robustness")


def exercises():
    """(chapter, blank cell, solution) of each exercise, as printed on the page."""
    for chapter in CHAPTERS:
        cells = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4).cells
        for cell, after in zip(cells, cells[1:] + [None], strict=True):
            if cell.cell_type == "code" and re.search(r"^check\.", cell.source, re.M):
                solution = re.search(
                    r"\{dropdown\} Solution\n.*?```python\n(.*?)```", after.source, re.S
                )
                name = re.search(r"^check\.(\w+)", cell.source, re.M)[1]
                yield pytest.param(cell.source, solution[1], id=f"{chapter}-{name}")


def verdict(capsys, *sources: str) -> str:
    space = {"np": np, "check": check, "attenuation": attenuation}
    for source in sources:
        exec(source, space)
    return capsys.readouterr().out


def test_every_exercise_was_found():
    assert len(list(exercises())) == 11


@pytest.mark.parametrize(("blank", "solution"), exercises())
def test_blank_fails_and_printed_solution_passes(capsys, blank, solution):
    said = verdict(capsys, blank)
    assert said.startswith("not yet: nothing is returned\nhint: ")
    last = re.search(r"^check\..*", blank, re.M)[0]
    said = verdict(capsys, solution, last)
    assert said.startswith("right: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("judge", "wrong"),
    [
        (check.halving_cost, 1.0),
        (check.feedback_cost, lambda thetas, Q, c, K, x0: float(x0 @ x0)),
        (check.bellman_step, lambda S, theta, Q, c: (Q, Q)),
        (check.bellman_step, lambda S, theta, Q, c: Q),
        (check.two_projections, lambda phi: (np.sin(phi), np.cos(phi))),
        (check.split, lambda z, V: (z @ z, 0.0)),
        (check.exit_error, lambda on, off, T, c: on + off * (c / (c + 1)) ** (2 * T)),
        (check.exit_error, lambda on, off, T, c: attenuation(T, c)[-1] * off + on),
        (check.layers_needed, lambda c, share: 3),
        (check.best_cost, lambda X, Z, T: X / Z),
        (check.pd_control, lambda x, P, D, a: (1 - a) * (x - P @ (P.T @ x))),
        (check.six_layers, attenuation(5, 1.0)[-1]),
        (check.paired_counts, lambda a, b: (int(b.sum()), int(a.sum()), 0.0)),
    ],
)
def test_wrong_answers_fail_with_a_hint(capsys, judge, wrong):
    judge(wrong)
    said = capsys.readouterr().out
    assert said.startswith("not yet: a test case comes out differently\nhint: ")


def test_a_raised_error_is_reported(capsys):
    check.split(lambda z: z)
    assert "not yet: TypeError" in capsys.readouterr().out
    check.exit_error(lambda on, off, T, c: 1 / 0)
    assert "not yet: ZeroDivisionError" in capsys.readouterr().out


def test_shapes_must_match(capsys):
    check.split(lambda z, V: (1.0, 2.0, 3.0))
    assert capsys.readouterr().out.startswith("not yet")
    check.two_projections(lambda phi: "ab")
    assert "not yet: ValueError" in capsys.readouterr().out
