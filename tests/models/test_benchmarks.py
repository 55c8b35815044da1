"""Counts behind the benchmarks; seconds themselves are not tested."""

from __future__ import annotations

import json

import pytest

import experiments.benchmarks.control as benchmarks
from experiments.benchmarks.control import ControlBenchmark
from experiments.experiment import record
from pidbook.evaluation.results import read_result
from pidbook.evaluation.timing import operations, time_under_control
from pidlib.data.batches import batches
from pidlib.pid import PIDController


@pytest.fixture(scope="module")
def setup(tiny):
    model = tiny.model("bert")
    control = PIDController.from_batches(model, tiny.answered(model), variance=0.9)
    return model, control, [tiny.inputs("bert")]


def test_operations_of_the_control_are_those_of_its_products(setup, tiny):
    model, controller, inputs = setup
    tokens = inputs[0]["input_ids"].numel()
    expected = 0
    for kinds in controller.feedback.values():
        for gain in kinds.values():
            products = 1 if gain.right is None else 2
            expected += 2 * tokens * gain.left.numel() * products
    assert operations(model, inputs, controller) - operations(model, inputs) == expected > 0


def test_the_cost_brackets_its_median_and_leaves_the_model_free(setup, tiny):
    model, controller, _ = setup
    tokenizer, rows = tiny.tokenizer(), tiny.rows(20)
    taken = time_under_control(model, tokenizer, rows, controller, repeats=5, batch_size=20)
    assert taken.low <= taken.ratio <= taken.high and taken.rounds == 5
    inputs = [batch.inputs for batch in batches(tokenizer, rows, 20)]
    assert taken.bound == operations(model, inputs, controller) / operations(model, inputs) > 1
    assert len(taken.forms) == 3
    assert f"bound {taken.bound:.3f}" in str(taken)
    with pytest.raises(ValueError, match="0 rounds"):
        time_under_control(model, tokenizer, rows, controller, repeats=0)


def test_result_file_is_whole(setup, tiny, tmp_path, monkeypatch):
    model, _, _ = setup
    rows, said = tiny.rows(20), []
    monkeypatch.setattr(benchmarks, "fit_cost", lambda rows: {"rows": rows})
    monkeypatch.setattr(benchmarks, "load_model", lambda name: (model, tiny.tokenizer()))
    monkeypatch.setattr(benchmarks, "load_nli", lambda *a, **k: rows)
    record(ControlBenchmark((20,), rounds=2), tmp_path, report=said.append)
    result = read_result(tmp_path / "bench.json")
    assert set(result["counts"]) == {"fits", "controls", "control"}
    assert set(result["counts"]["controls"]) == set(benchmarks.SETTINGS)
    assert len(said) == 1 + len(benchmarks.SETTINGS)
    assert json.dumps(result)
