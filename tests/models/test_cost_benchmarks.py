"""The cost benchmark compares like with like, and counts what it says."""

from __future__ import annotations

import json
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
import torch

from experiments.benchmarks.sizes import SizesBenchmark
from experiments.experiment import record
from pidbook.evaluation import sizes, timing
from pidbook.evaluation.results import read_result
from pidbook.evaluation.sizes import random_control, random_model, size_cost
from pidbook.evaluation.timing import measure, operations, ratio
from pidlib import pid

SMALL = {"hidden_size": 16, "num_attention_heads": 2, "vocab_size": 50}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return random_model("BERT-large", num_hidden_layers=3, intermediate_size=24, **SMALL)


@pytest.mark.parametrize("terms", ["P", "PD"])
def test_the_naive_control_is_the_same_control(model, tiny, terms):
    inputs = tiny.inputs("bert")
    control = random_control(model, terms, None, {"P": 0.25, "D": 0.5})
    with torch.no_grad():
        base = model(**inputs).logits
        with control.attached(model):
            ours = model(**inputs).logits
        with control.naive(model):
            naive = model(**inputs).logits
    torch.testing.assert_close(ours, naive, rtol=0, atol=1e-5)
    assert not torch.allclose(ours, base, atol=1e-3)
    forms = {kinds[control.scheme].form for kinds in control.feedback.values()}
    assert forms == ({"thin 4"} if terms == "P" else {"dense"})


def test_bound_counts_one_dense_product_a_state(model):
    found = size_cost(model, "small", "all", batch=2, rounds=2, sweeps=1, tokens=8)
    assert found.controlled == found.depth == 3 and found.width == 16
    ids = torch.randint(5, 50, (2, 8))
    flops = operations(model, [{"input_ids": ids, "attention_mask": ids > 0}])
    assert found.bound == pytest.approx(1 + 3 * 2 * 16 * 16 * 16 / flops)
    assert found.pmp is not None and found.per_sweep > 0
    assert found.ours.low <= found.ours.value <= found.ours.high


def test_result_file_is_whole(tmp_path, monkeypatch):
    tiny = {"intermediate_size": 24, "num_hidden_layers": 3, **SMALL}
    monkeypatch.setitem(sizes.ARCHITECTURES, "tiny", ("bert", tiny))
    monkeypatch.setitem(pid.PUBLISHED, ("bert", 3), 1)
    said = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    record(SizesBenchmark(("tiny",), batch=2, rounds=2), tmp_path, report=said.append)
    result = read_result(tmp_path / "bench-cost.json")
    cells = result["counts"]["sizes"]
    assert [(c["layers"], c["batch"]) for c in cells] == [
        ("published", 1), ("published", 2), ("all", 1), ("all", 2),
    ]  # fmt: skip
    assert sum(c["pmp"] is not None for c in cells) == 1 and len(said) == 4
    assert json.dumps(result["counts"], allow_nan=False)


def test_bad_settings_are_named(model):
    with pytest.raises(ValueError, match="unknown architecture 'T5'"):
        random_model("T5")
    cpu, base = torch.device("cpu"), {"base": nullcontext}
    with pytest.raises(ValueError, match="0 rounds"):
        measure(lambda: None, base, cpu, rounds=0)
    with pytest.raises(ValueError, match="a 'base'"):
        measure(lambda: None, {"ours": nullcontext}, cpu, rounds=1)
    with pytest.raises(ValueError, match="no choice of layers for 'bert' of 3"):
        random_control(model, layers="published")


def test_ratios_are_to_the_base_of_the_same_round(monkeypatch):
    clock, inside = iter(np.linspace(1, 4, 200)), []

    @contextmanager
    def twice():
        inside.append(2.0)
        yield
        inside.pop()

    def timed(_call, _device):
        return (inside[-1] if inside else 1.0) * next(clock)

    monkeypatch.setattr(timing, "seconds_of", timed)
    taken = measure(lambda: None, {"base": nullcontext, "twice": twice}, None, rounds=40)
    found = ratio(taken["twice"], taken["base"])
    assert len(taken["base"]) == 40 and found.value == pytest.approx(2, rel=0.05)
    assert found.low <= found.value <= found.high
