"""The recorded attack by optimal control: sizes, searches, and truths that belong together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.beyond.optimal_attack import MEASURES, OptimalAttackTrial
from experiments.experiment import read_experiment
from pidbook.evaluation import SEARCHES, read_result, unpack

RESULT = Path("book/results/optimal-attack-snli-test-minilm-nli.json")


def test_the_configuration_is_read_and_wrong_names_are_named():
    trial = read_experiment("optimal-attack-snli-test-minilm-nli")
    assert trial.searches == tuple(SEARCHES) and trial.name in RESULT.name
    with pytest.raises(ValueError, match="unknown search.*luck"):
        OptimalAttackTrial(searches=("luck",))


def test_a_search_does_no_more_than_the_truth_allows():
    result = read_result(RESULT)
    n, most = result["data"]["n"], result["configuration"]["budget"]
    for name, of in result["examples"].items():
        clean = unpack(of["clean"], n)
        held = unpack(result["truth"][name]["held"], n)
        for search in SEARCHES:
            fell = np.array([k is not None for k in of[search]])
            assert all(1 < k <= most for k in of[search] if k is not None)
            assert not (fell & held).any() and not (fell & ~clean).any()
            assert result["truth"][name]["turned here"] <= 0.05 * n
            assert result["counts"][name][search] == int((clean & ~fell).sum())
        for key in MEASURES:
            assert sum(v is not None for v in of[key]) <= clean.sum()
