"""The terminal cost: it falls on text that was not trained on, and nothing of the model changes."""

import pytest
import torch
from torch.nn.functional import kl_div
from transformers import AutoModel

from pidlib import load_nli
from pidlib.data.batches import encode
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.estimation.estimator import Estimator
from pidlib.estimation.terminal import fit_terminal
from pidlib.hooks import find_blocks
from pidlib.io.checkpoints import Checkpoint
from pidlib.io.embedded import embedded_folder
from tests.conftest import answer

TYPOS = RandomEdits("typos")


@pytest.fixture(scope="module")
def fitted(minilm):
    rows = load_nli("captions", split="train", n=64)
    before = {name: p.detach().clone() for name, p in minilm.model.named_parameters()}
    made = Estimator.fit(*minilm, rows, TYPOS, rho=1.0, rule="terminal", epochs=2, rate=3e-3)
    for name, p in minilm.model.named_parameters():
        assert p.grad is None and torch.equal(p, before[name])
    return made


def cost(minilm, rows, wanted):
    seen = answer(minilm.model, encode(minilm.tokenizer, rows)).log_softmax(-1)
    return seen if wanted is None else float(kl_div(seen, wanted.exp(), reduction="batchmean"))


def test_the_cost_of_new_perturbed_text_falls_and_clean_text_stays(minilm, fitted):
    rows = [dict(row) for row in load_nli("captions", split="validation", n=60)]
    changed = [row for row, _ in perturbed_rows(rows, TYPOS, seed=5)]
    wanted = cost(minilm, rows, None)
    bare = cost(minilm, changed, wanted)
    with fitted.attached(minilm.model):
        held, clean = cost(minilm, changed, wanted), cost(minilm, rows, wanted)
    assert held < 0.8 * bare
    assert clean < 0.25 * bare
    assert torch.equal(cost(minilm, rows, None), wanted)  # nothing is left on the model


def test_a_fit_broken_off_goes_on_with_the_same_settings_only(tiny, tmp_path):
    """That it ends with the same maps: test_faults.py."""
    tokenizer, rows = tiny.tokenizer(), tiny.rows(16)
    blocks, typos = find_blocks(tiny.model("bert")), (TYPOS, [0, 1])
    keep = Checkpoint(tmp_path / "sums", {"data": "x"}, every=0)
    fit_terminal(blocks, tokenizer, rows, *typos, epochs=1, checkpoint=keep)
    with pytest.raises(ValueError, match="rate: 0.0003 there, 0.001 now"):
        fit_terminal(blocks, tokenizer, rows, *typos, epochs=1, rate=1e-3, checkpoint=keep)


def test_a_model_without_answers_is_refused(minilm):
    bare = AutoModel.from_pretrained(embedded_folder()).eval()
    rows = load_nli("captions", split="train", n=4)
    with pytest.raises(ValueError, match="needs a classifier"):
        Estimator.fit(bare, minilm.tokenizer, rows, TYPOS, [0], rule="terminal")
