"""Controls that steer: what they add, how large they are, and that they leave as they came."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.beyond.concept import FITTED, OPPOSITE, TARGET
from experiments.beyond.steering import GRIDS, SteeringTrial
from experiments.experiment import read_experiment
from pidbook.analysis import (
    Steering,
    concept_states,
    sequential_pushes,
    steering_of_size,
    steering_size,
)
from pidbook.evaluation import read_result
from pidlib import load_model
from pidlib.evaluation.placebos import Placebo
from pidlib.hooks import find_blocks

GOOD, BAD = (
    ["a happy dog runs home", "the child laughs"],
    ["a sad dog limps away", "the child cries"],
)
RESULT = Path("book/results/steering-smollm2.json")


@pytest.fixture(scope="module")
def parts():
    model, tokenizer = load_model("minilm-nli")
    return model, tokenizer, tokenizer(GOOD, padding=True, return_tensors="pt")


def test_it_adds_its_push_to_every_token_but_the_first(parts):
    model, _, inputs = parts
    w = torch.linspace(-1, 1, 384)
    with torch.no_grad(), find_blocks(model).reading() as bare:
        model(**inputs)
    with (
        torch.no_grad(),
        find_blocks(model).reading() as held,
        Steering(lambda t, x: w, [5]).attached(model),
    ):
        model(**inputs)
        last = [x.clone() for x in held]
    with torch.no_grad(), Steering(lambda t, x: w, [5]).attached(model):
        moved = []
        hook = (
            find_blocks(model)
            .modules[5]
            .register_forward_pre_hook(lambda _m, args: moved.append(args[0]))
        )
        model(**inputs)
        hook.remove()
    assert torch.equal(last[5], bare[5])  # read before any control
    gap, mask = moved[0] - bare[5], inputs["attention_mask"].bool()
    assert torch.allclose(gap[:, 1:][mask[:, 1:]], w.expand(int(mask[:, 1:].sum()), -1), atol=1e-5)
    assert not gap[:, 0].any() and not gap[~mask].any()


def test_a_model_is_as_it_was_afterwards(parts):
    model, _, inputs = parts
    with torch.no_grad():
        before = model(**inputs).logits
        with Steering(lambda t, x: x, range(6)).attached(model):
            assert not torch.equal(before, model(**inputs).logits)
        assert torch.equal(before, model(**inputs).logits)


def test_a_push_of_a_tenth_of_the_state_has_the_size_of_a_hundredth(parts):
    model, _, inputs = parts
    for t in (0, 3):
        control = Steering(lambda t, x: 0.1 * x.roll(1, -1), [t])
        assert steering_size(model, inputs, control) == pytest.approx(0.01, rel=1e-3)
        turned = Steering(lambda t, x: Placebo(None, "rotation").stand_in()(t, 0.1 * x, None), [t])
        assert steering_size(model, inputs, turned) == pytest.approx(0.01, rel=1e-3)


def test_full_proportional_gain_closes_the_gap_at_every_layer(parts):
    model, tokenizer, _ = parts
    target = concept_states(model, tokenizer, GOOD).mean(1)
    pushes = sequential_pushes(model, tokenizer, BAD[:1], target, {"P": 1.0}, [0, 1, 2])
    inputs = tokenizer(BAD[:1], return_tensors="pt")
    with (
        torch.no_grad(),
        find_blocks(model).reading() as states,
        Steering(lambda t, x: pushes[t], [0, 1, 2]).attached(model),
    ):
        model(**inputs)
        means = [x[0, 1:].mean(0) for x in states]
    for t in range(3):
        assert torch.allclose(means[t] + pushes[t], target[t], atol=1e-4)
    assert not pushes[3:].any()


def test_the_size_that_was_asked_for(parts):
    model, _, inputs = parts
    for size in (1e-3, 0.05):
        control = steering_of_size(
            model, inputs, lambda g: Steering(lambda t, x: np.exp(g) * x, [1, 2]), size, (-9, 2)
        )
        assert steering_size(model, inputs, control) == pytest.approx(size, rel=0.02)


def test_wrong_input_is_named(parts):
    model, tokenizer, inputs = parts
    with pytest.raises(ValueError, match=r"unknown terms \['K'\]"):
        sequential_pushes(model, tokenizer, BAD, torch.zeros(6, 384), {"K": 1.0}, [0])
    with pytest.raises(ValueError, match="no token after the first 9"):
        concept_states(model, tokenizer, GOOD, skip_first=9)
    with pytest.raises(ValueError, match="not between"):
        steering_of_size(model, inputs, lambda g: Steering(lambda t, x: g * x, [0]), 9.0, (0.1, 1))
    with pytest.raises(ValueError, match="size 0.3 is not among"):
        SteeringTrial(size=0.3)
    with pytest.raises(ValueError, match="unknown law 'luck'"):
        SteeringTrial(laws=("luck",))


def test_no_scored_word_stands_in_a_text_of_the_fit():
    texts = " ".join(" ".join(pair) for pair in FITTED).lower()
    assert not [word for word in TARGET + OPPOSITE if word in texts.replace(".", " ").split()]


def test_the_recorded_trial_is_whole():
    trial, result = read_experiment("steering-smollm2"), read_result(RESULT)
    assert result["configuration"]["laws"] == list(GRIDS) and trial.name == RESULT.stem
    for key, of in result["examples"].items():
        if of["size"] is not None:
            assert len(of["log_odds"]) == result["counts"]["prompts"], key
            assert len(of["loss"]) == result["counts"]["texts"] and np.isfinite(of["loss"]).all()
    at = result["configuration"]["size"]
    for law in GRIDS:
        assert result["examples"][f"{law}, {at:g}"]["size"] == pytest.approx(at, rel=0.5)
