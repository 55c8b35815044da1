"""The paper's tables ship whole, and the page of claims counts its verdicts."""

import json
import re
from collections import Counter
from itertools import product

import numpy as np
import pytest

from contents import ROOT
from pidbook.evaluation import paper_table
from pidbook.evaluation.paper import ATTACKS, MODELS, TABLES, TRAININGS, accuracy

# Counted by hand in the LaTeX source, table by table: numbers and red numbers.
COUNTED = {
    "opt": (20, 10),
    "anli": (12, 4),
    "ablation": (192, 48),
    "pmp": (135, 55),
    "wall_time": (12, 0),
    "theorem_error": (12, 0),
    "ranks": (42, 0),
    "snli": (120, 40),
    "mnli": (120, 43),
}


def test_every_number_of_the_papers_tables_is_there():
    tables = json.loads(TABLES.read_text(encoding="utf-8"))
    assert [k for k in tables if not k.startswith("_")] == list(COUNTED)
    for name, (numbers, red) in COUNTED.items():
        rows = paper_table(name)
        values = ("accuracy", "seconds", "abs_error", "rank", "full_dim", "embedding_error")
        assert sum(row.get(key) is not None for row in rows for key in values) == numbers, name
        assert sum(bool(row.get("highlighted")) for row in rows) == red, name
    assert sum(n for n, _ in COUNTED.values()) == 665


def gain(table, attacks):
    """Mean of controlled less base over trainings, models and attacks."""
    value = accuracy(table)
    cells = product(TRAININGS, MODELS, attacks)
    return np.mean([value[(*cell, "controlled")] - value[(*cell, "base")] for cell in cells])


def test_sums_over_the_tables():
    """Means that a separate count of the LaTeX gives."""
    _, *attacks = ATTACKS
    assert gain("snli", attacks) == pytest.approx(5.95, abs=0.006)
    assert gain("mnli", attacks) == pytest.approx(5.02, abs=0.006)
    assert gain("snli", ["None"]) == pytest.approx(-0.54, abs=0.006)


def test_verdicts_are_those_of_an_independent_audit():
    page = (ROOT / "book" / "claims.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| \[(\d+)\]\{#claim-\1\} .* \[(.*)\]\{\.(\w+)\} \|$", page, re.M)
    verdicts = {int(number): said for number, said, _ in found}
    assert list(verdicts) == list(range(1, 40))
    assert {n for n, said in verdicts.items() if said == "does not hold"} == {8, 10, 17, 21, 32}
    assert {n for n, said in verdicts.items() if said == "cannot be checked"} == {20, 29, 37, 39}
    for said, count in Counter(verdicts.values()).items():
        assert f"| {said} | {count} |" in page


def test_models_are_those_of_the_tables():
    assert set(MODELS) == {row["model"] for row in paper_table("snli")}
