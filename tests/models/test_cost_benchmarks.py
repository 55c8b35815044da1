"""What control costs at the sizes of the paper: like with like, and counts that are right."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
import torch

from pidbook.evaluation import timing
from pidbook.evaluation.sizes import TOKENS, random_control, random_model, size_cost
from pidbook.evaluation.timing import measure, operations, ratio

SMALL = {"hidden_size": 16, "num_attention_heads": 2, "vocab_size": 50}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return random_model("BERT-large", num_hidden_layers=3, intermediate_size=24, **SMALL)


def test_bound_counts_one_dense_product_a_state(model):
    found = size_cost(model, None, rounds=2)
    assert found.controlled == found.depth == 3 and found.width == 16
    ids = torch.randint(5, 50, (1, TOKENS))
    flops = operations(model, [{"input_ids": ids, "attention_mask": ids > 0}])
    assert found.bound == pytest.approx(1 + 3 * 2 * TOKENS * 16 * 16 / flops)
    assert found.ours.low <= found.ours.value <= found.ours.high


def test_bad_settings_are_named(model):
    with pytest.raises(ValueError, match="unknown architecture 'T5'"):
        random_model("T5")
    cpu, base = torch.device("cpu"), {"base": nullcontext}
    with pytest.raises(ValueError, match="0 rounds"):
        measure(lambda: None, base, cpu, rounds=0)
    with pytest.raises(ValueError, match="a 'base'"):
        measure(lambda: None, {"ours": nullcontext}, cpu, rounds=1)
    with pytest.raises(ValueError, match="no choice of layers for 'bert' of 3"):
        random_control(model)


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
