"""A trial split by the right answer: its parts add up to what the trial counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.experiment import read_experiment
from pidbook.evaluation.results import read_result
from pidbook.evaluation.trial_results import answers, recorded_trial

RESULTS = Path(__file__).parents[2] / "book" / "results"


@pytest.mark.parametrize("data", ["captions", "snli-test"])
def test_the_parts_add_up_to_the_trial(data):
    split = read_result(RESULTS / f"by-answer-{data}-minilm-nli.json")
    trial = read_result(RESULTS / f"trial-{data}-minilm-nli.json")
    assert len(split["counts"]) == 4 and split["pushes"] > 1
    for recipe, parts in split["counts"].items():
        for name in ("none", "P-D 99 %"):
            right = answers(trial, name, recipe)
            assert sum(part["n"] for part in parts.values()) == len(right)
            assert sum(part[name] for part in parts.values()) == right.sum()
        leads = [part["n"] * split["lead"][recipe][k][0] for k, part in parts.items()]
        whole = recorded_trial(trial, recipe).beyond("noise")[0]
        assert sum(leads) / len(right) == pytest.approx(whole, abs=1e-9)
        for k, part in parts.items():
            lead, low, high = split["lead"][recipe][k]
            assert part["n"] * lead == pytest.approx(part["P-D 99 %"] - part["noise"])
            assert low < lead < high


def test_the_split_of_the_captions_is_what_it_was(tmp_path):
    trial = read_experiment("by-answer-captions-minilm-nli")
    stored = read_result(RESULTS / f"{trial.name}.json")
    again = trial.run(RESULTS, tmp_path, lambda line: None)
    assert again["counts"] == stored["counts"] and again["data"] == stored["data"]
