"""Tidy tables say what the answers of the result files say."""

import numpy as np
import pytest

from pidbook.evaluation.results import RESULTS, load_result
from pidbook.evaluation.tidy import accuracy_table, gains_table
from pidbook.evaluation.trial_results import answers, gains_over_none

TRIALS = sorted(path.stem for path in RESULTS.glob("trial-*.json"))


@pytest.mark.parametrize("name", TRIALS)
def test_gains_are_those_of_the_answers(name):
    result = load_result(name)
    table = gains_table(result)
    assert not table.empty
    for control in table["control"].unique():
        pairs = gains_over_none(result, control)
        own = table[table["control"] == control].set_index("set")
        assert set(own.index) == set(pairs)
        for key, pair in pairs.items():
            assert own.loc[key, "gain"] == pytest.approx(100 * pair.gain)
            assert (own.loc[key, "won"], own.loc[key, "lost"]) == (pair.won, pair.lost)
            assert own.loc[key, "right"] == result["counts"][control][key]["right"]


def test_accuracies_are_those_of_the_counts():
    result = load_result("trial-snli-test-minilm-nli")
    table = accuracy_table(result).set_index(["control", "set"])
    count = result["counts"]["P-D 99 %"]["adaptive textfooler"]
    row = table.loc[("P-D 99 %", "adaptive textfooler")]
    assert (row["threat"], row["attack"]) == ("adaptive", "textfooler")
    assert row["accuracy"] == pytest.approx(100 * count["right"] / count["n"])


def test_another_condition_and_fewer_rows():
    result = load_result("trial-snli-test-minilm-nli")
    few = gains_table(result, over="second", rows=100)
    assert set(few["n"]) == {100}
    assert "second" not in set(few["control"])
    signs = np.sign(few["gain"])
    assert (signs[few["answer"] == "gain"] == 1).all()
    assert (signs[few["answer"] == "loss"] == -1).all()


def test_what_was_not_measured_is_refused_by_name():
    with pytest.raises(FileNotFoundError, match="trial-moon"):
        load_result("trial-moon")
    with pytest.raises(ValueError, match="no set 'bae'"):
        answers(load_result("trial-snli-test-minilm-nli"), "none", "bae")
    with pytest.raises(ValueError, match="no condition 'P 12 %'; there are"):
        gains_table(load_result("trial-snli-test-minilm-nli"), over="P 12 %")
