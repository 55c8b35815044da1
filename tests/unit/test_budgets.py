"""The cost of the paper's grid follows from the recorded counts and times."""

import pytest

from contents import RESULTS
from experiments.budget import COST, TRIAL, grid_budget
from pidbook.evaluation import paper_table
from pidbook.evaluation.results import read_result


def test_the_estimate_is_counts_times_seconds():
    found = {one.model: one for one in grid_budget(RESULTS, 100)}
    tables = [row for name in ("snli", "mnli", "opt") for row in paper_table(name)]
    assert set(found) == {row["model"] for row in tables}
    pairs = {(r["training"], r["dataset"]) for r in tables if r["model"] == "DistilBERT"}
    one = found["DistilBERT"]
    assert one.grids == len(pairs)
    trial = read_result(RESULTS / TRIAL)["attacks"]
    recipes = ("a2t", "pso", "textbugger", "textfooler")
    read = sum(trial[r]["forwards"] / trial[r]["n"] for r in recipes) * 100 * len(pairs)
    assert one.forwards == round(read)
    cost = read_result(RESULTS / COST)
    size = next(
        s
        for s in cost["counts"]["sizes"]
        if (s["model"], s["layers"], s["batch"]) == ("DistilBERT", "published", 32)
    )
    assert one.model_hours == pytest.approx(read * size["base_seconds"] / 32 / 3600)
    assert found["RoBERTa-large"].model_hours > 3 * one.model_hours
    assert found["RoBERTa-large"].search_hours == pytest.approx(one.search_hours)
    for double in grid_budget(RESULTS, 200):
        assert double.model_hours == pytest.approx(2 * found[double.model].model_hours)
