"""The paper's tables ship whole, and the page of its claims says what they say."""

import json

import pandas as pd
import pytest

from contents import ROOT
from pidbook.evaluation import gains_over_none, load_result, paper_table
from pidbook.evaluation.paper import TABLES
from pidlib.attacks.attack import RECIPES

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
    with pytest.raises(ValueError, match="unknown table 'imdb'.*snli"):
        paper_table("imdb")


def gains(name, **where):
    """Controlled less base accuracy of a table of the paper, in points."""
    rows = pd.DataFrame(paper_table(name)).replace({"attack": {"None": "clean"}})
    keys = ["dataset", "training", "model", "attack"]
    wide = rows.pivot_table("accuracy", keys, "method", sort=False).reset_index()
    for column, value in where.items():
        wide = wide[wide[column] == value]
    return wide.assign(gain=wide["controlled"] - wide["base"]).set_index("attack")["gain"]


def test_the_page_of_claims_says_what_the_tables_say():
    """Sums that a separate count of the LaTeX gives, too."""
    page = (ROOT / "book" / "claims.md").read_text(encoding="utf-8")
    attacked = [gains(name).drop("clean") for name in ("snli", "mnli")]
    assert [of.mean().round(2) for of in attacked] == [5.95, 5.02]
    both = pd.concat(attacked)
    assert f"{(both > 0).sum()} of 96 attacked cells rise, mean +{both.mean():.2f}" in page
    first = gains("snli", training="standard", model="DistilBERT").round(2)
    told = ", ".join(f"+{first[attack]}" for attack in ("A2T", "PSO", "TextBugger", "TextFooler"))
    assert f"attacks {told}; no attack −{-first['clean']}" in page


def test_the_page_of_claims_says_what_the_recorded_trial_says():
    page = (ROOT / "book" / "claims.md").read_text(encoding="utf-8")
    gain = gains_over_none(load_result("trial-snli-test-minilm-nli"), "P-D 99 %")
    points = {key: f"{100 * gain[key].gain:+.1f}".replace("-", "−") for key in ("clean", *RECIPES)}
    attacks = ", ".join(points[recipe] for recipe in RECIPES)
    assert f"MiniLM, SNLI, standard: attacks {attacks}; no attack {points['clean']}." in page
