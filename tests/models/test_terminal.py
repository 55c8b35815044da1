"""The terminal cost: it falls on text that was not trained on, and nothing of the model changes."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import kl_div
from transformers import AutoModel

from pidlib import load_model, load_nli
from pidlib.data.batches import texts
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.estimation.estimator import Estimator
from pidlib.estimation.terminal import fit_terminal
from pidlib.hooks import find_blocks
from pidlib.io.checkpoints import Checkpoint
from pidlib.io.embedded import embedded_folder

TYPOS = RandomEdits("typos")


@pytest.fixture(scope="module")
def model():
    return load_model("minilm-nli")


@pytest.fixture(scope="module")
def fitted(model):
    rows = load_nli("captions", split="train", n=64)
    before = {name: p.detach().clone() for name, p in model.model.named_parameters()}
    made = Estimator.fit(*model, rows, TYPOS, rho=1.0, rule="terminal", epochs=2, rate=3e-3)
    for name, p in model.model.named_parameters():
        assert p.grad is None and torch.equal(p, before[name])
    return made


def cost(model, rows, wanted):
    first, second = texts(rows)
    inputs = model.tokenizer(first, second, padding=True, return_tensors="pt")
    with torch.no_grad():
        seen = model.model(**inputs).logits.log_softmax(-1)
    return seen if wanted is None else float(kl_div(seen, wanted.exp(), reduction="batchmean"))


def test_the_cost_of_new_perturbed_text_falls_and_clean_text_stays(model, fitted):
    rows = [dict(row) for row in load_nli("captions", split="validation", n=60)]
    changed = [row for row, _ in perturbed_rows(rows, TYPOS, seed=5)]
    wanted = cost(model, rows, None)
    bare = cost(model, changed, wanted)
    with fitted.attached(model.model):
        held, clean = cost(model, changed, wanted), cost(model, rows, wanted)
    assert held < 0.8 * bare
    assert clean < 0.25 * bare
    assert torch.equal(cost(model, rows, None), wanted)  # nothing is left on the model


def test_a_fit_broken_off_goes_on_with_the_same_settings_only(tiny, tmp_path):
    """That it ends with the same maps: test_faults.py."""
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(16)
    blocks, typos = find_blocks(model), (TYPOS, [0, 1])
    keep = Checkpoint(tmp_path / "sums", {"data": "x"}, every=0)
    fit_terminal(blocks, tokenizer, rows, *typos, epochs=1, checkpoint=keep)
    with pytest.raises(ValueError, match="rate: 0.0003 there, 0.001 now"):
        fit_terminal(blocks, tokenizer, rows, *typos, epochs=1, rate=1e-3, checkpoint=keep)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs 0"),
        ({"rate": 0.0}, "rate 0.0"),
        ({"rho": 0.0}, "rho 0.0"),
        ({"layers": []}, "no layers to correct"),
        ({"layers": [6]}, "no state 6; there are 0 to 5"),
        ({"rows": []}, "no rows"),
    ],
)
def test_settings_out_of_range_are_named(model, settings, message):
    rows = load_nli("captions", split="train", n=4)
    given = {"rows": rows, "layers": [0], "rule": "terminal"} | settings
    with pytest.raises(ValueError, match=message):
        Estimator.fit(*model, perturbed=TYPOS, **given)


def test_a_model_without_answers_is_refused(model):
    bare = AutoModel.from_pretrained(embedded_folder()).eval()
    rows = load_nli("captions", split="train", n=4)
    with pytest.raises(ValueError, match="needs a classifier"):
        Estimator.fit(bare, model.tokenizer, rows, TYPOS, [0], rule="terminal")
    bare.train()
    with pytest.raises(ValueError, match="training mode"):
        Estimator.fit(bare, model.tokenizer, rows, TYPOS, [0], rule="terminal")
