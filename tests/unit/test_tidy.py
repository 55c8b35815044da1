"""Tidy tables say what the answers of the result files say."""

import numpy as np
import pytest

from pidbook.evaluation.judged import judged
from pidbook.evaluation.results import RESULTS, load_result
from pidbook.evaluation.tidy import accuracy_table, gains_table, in_points, over_bare
from pidbook.evaluation.trial_results import ADAPTIVE, answers, gains_over_none, pack, stored_rows
from pidlib.evaluation import Paired

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
    with pytest.raises(
        FileNotFoundError, match="no result 'trial-snli-test-moon'.*trial-snli-test"
    ):
        load_result("trial-snli-test-moon")
    with pytest.raises(FileNotFoundError, match="no attack 'bertattack'.*'textfooler'"):
        stored_rows([], "captions", "bertattack", RESULTS, "minilm-nli")
    with pytest.raises(ValueError, match="no set 'bae'"):
        answers(load_result("trial-snli-test-minilm-nli"), "none", "bae")
    with pytest.raises(ValueError, match="no condition 'P 12 %'; there are"):
        gains_table(load_result("trial-snli-test-minilm-nli"), over="P 12 %")


def test_defences_over_the_bare_model_are_named_in_the_order_asked_for():
    result = load_result("trial-snli-test-minilm-nli")
    table = gains_table(result).set_index(["control", "set"])
    sets = {ADAPTIVE + "pso": "PSO", ADAPTIVE + "a2t": "A2T"}
    found = over_bare(result, {"P-D 99 %": "control"}, sets)
    assert [*found["text"]] == ["PSO", "A2T"] and {*found["defence"]} == {"control"}
    for row, key in zip(found.to_dict("records"), sets, strict=True):
        for column in ("n", "won", "lost", "gain", "low", "high"):
            assert row[column] == pytest.approx(table.loc[("P-D 99 %", key), column])
    few = over_bare(result, {"P-D 99 %": "control"}, sets, n=50, bare=result)
    assert {*few["n"]} == {50}
    with pytest.raises(ValueError, match="no condition 'c'"):
        over_bare(result, {"c": "none"}, sets)


def test_the_correction_runs_over_the_tests_that_are_read_together():
    just = Paired(20, 7, 100, 0.02)  # shown alone, not beside two others
    pairs = {("a", text): just for text in "xyz"}
    assert {*in_points(pairs)["answer"]} == {"open"}
    assert {*in_points(pairs, "text")["answer"]} == {"gain"}


def test_texts_that_a_judge_refuses_count_by_the_share_that_is_valid():
    """A judge without errors: valid are those that he accepts, and the accuracy counts them alone."""
    n, valid = 8, [1, 1, 1, 0, 0, 0, 0, 0]  # of six texts that turned the answer
    turned, right = [1] * 6 + [0] * 2, [0] * 6 + [1] * 2
    kinds = {"clean": [1] * n, "before": [1] * n, "random swap": [1] * n, "edited": [0] * n}

    def result(conditions):
        sets = {c: {key: pack(bits) for key, bits in of.items()} for c, of in conditions.items()}
        return {
            "examples": sets,
            "counts": {c: dict.fromkeys(of, {"n": n}) for c, of in sets.items()},
        }

    attacked = {"none: pso": valid}
    validity = result({"judge": kinds | attacked, "succeeded": {"none: pso": turned}})
    trial = result({"none": {"pso": right}})
    share, accuracy = judged(validity, trial, "none", "pso", times=3)
    assert share.shape == accuracy.shape == (4,)
    assert share[0] == pytest.approx(50) and accuracy[0] == pytest.approx(100 * 5 / 8)
