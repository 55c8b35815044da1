"""The recorded trial of gains from Jacobians: laws in small, without its data."""

from __future__ import annotations

import numpy as np
import torch

from experiments.beyond import gains
from experiments.beyond.gain_search import EQUAL, WAYS
from experiments.beyond.gains import (
    LearntGains,
    batched,
    evolve,
    learn,
    mean_costs,
    shares_removed,
)
from experiments.experiment import read_experiment
from pidbook.evaluation import read_result
from pidlib import PIDController, load_model, load_nli
from pidlib.data.batches import encode
from pidlib.hooks import find_blocks
from pidlib.theory.gains import alphas
from pidlib.theory.riccati import riccati


def test_the_recursion_is_proposition_two_and_takes_a_cost_for_each_block():
    shares = shares_removed(torch.full((6,), 0.3, dtype=torch.float64))
    assert torch.allclose(shares, torch.from_numpy(1 - alphas(6, 0.3)))
    costs = torch.tensor([0.1, 2.0, 0.5], dtype=torch.float64)
    one = torch.ones(3, 1, 1)
    assert torch.allclose(shares_removed(costs), torch.tensor(riccati(one, one, costs).K).ravel())


def test_gains_are_learnt_through_the_model_and_start_at_an_equal_split():
    model, tokenizer = load_model("minilm-nli")
    model.requires_grad_(False)
    rows = [dict(row) for row in load_nli("captions", split="train", n=24)]
    fitted = PIDController.fit(model, tokenizer, rows, scheme="PID")
    law, blocks = LearntGains(fitted, free=False), find_blocks(model)
    assert torch.allclose(law.gains, torch.full((6, 3), 1 / 3))
    inputs = encode(tokenizer, rows[:4])
    with torch.no_grad(), blocks.control(law):
        ours = model(**inputs).logits
    with torch.no_grad(), fitted.retune(gains={"P": 1 / 3, "I": 1 / 3, "D": 1 / 3}).attached(model):
        theirs = model(**inputs).logits
    assert torch.allclose(ours, theirs, atol=1e-3)
    before = law.raw.detach().clone()
    parts = batched(model, tokenizer, [(row, row) for row in rows])
    costs = mean_costs(model, parts, {"none": None, "law": law})
    assert (
        np.allclose(costs["none"], 0, atol=1e-4)
        and min(costs["law"]) >= 0
        and len(costs["law"]) == 24
    )
    learn(model, parts, law, 1, 0.1, 0, lambda _: None)
    assert not torch.equal(before, law.raw) and torch.allclose(law.gains.sum(1), torch.ones(6))
    free = LearntGains(fitted, free=True)
    assert len(free.unknown) == 2 and float(free.shares.sum(1).max()) < 0.4


def test_an_evolution_asks_no_more_than_its_passes_and_keeps_the_best_law(monkeypatch):
    model, tokenizer = load_model("minilm-nli")
    rows = [dict(row) for row in load_nli("captions", split="train", n=8)]
    law = LearntGains(PIDController.fit(model, tokenizer, rows, scheme="PID"), free=False)
    parts, asked = batched(model, tokenizer, [(row, row) for row in rows]), []

    def counted(*of):
        costs = mean_costs(*of)
        asked.append(np.mean(costs["law"]))
        return costs

    monkeypatch.setattr(gains, "mean_costs", counted)
    path = evolve(model, parts, law, passes=13, size=4, spread=0.7, seed=0)
    assert len(asked) == 12 and path == sorted(path, reverse=True) and len(path) == 3
    kept = np.mean(mean_costs(model, parts, {"law": law})["law"])
    assert np.isclose(kept, min(asked), atol=1e-4)
    assert torch.allclose(law.gains.sum(1), torch.ones(6)) and not law.raw[:, -1].any()


def test_both_searches_kept_the_total_and_both_texts_weigh_every_law():
    result = read_result("book/results/gains-snli-test-minilm-nli.json")
    assert set(result["laws"]) == {f"{way}, {EQUAL}" for way in WAYS}
    for name, law in result["laws"].items():
        total = np.array(law["shares"]).sum(1)
        assert (np.abs(total - 1) < 2e-3).all()
        cost = np.mean(result["costs"]["fit"][name])
        assert "CMA" not in name or np.isclose(cost, law["path"][-1], atol=1e-3)
    for key, of in result["costs"].items():
        assert {len(costs) for costs in of.values()} == {result["sets"][key]["n"]}


def test_the_configuration_is_read():
    trial = read_experiment("jacobians-snli-test-minilm-nli")
    assert trial.name == "jacobians-snli-test-minilm-nli"
