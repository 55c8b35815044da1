"""A pretrained decoder that classifies: its mask, its padding and its first state, under control."""

import pytest
import torch

from pidlib.data.nli import load_nli
from pidlib.evaluation.accuracy import predict
from pidlib.models import load_model
from pidlib.pid import PIDController


@pytest.fixture(scope="module")
def decoder():
    model, tokenizer = load_model("smollm2-nli")
    rows = load_nli("captions", split="train", n=24)
    settings = {"scheme": "PD", "variance": 0.9, "skip_first": 1}
    return model, tokenizer, PIDController.fit(model, tokenizer, rows, **settings)


def test_it_answers_captions_rightly(decoder):
    model, tokenizer, _ = decoder
    rows = load_nli("captions", split="test", n=24)
    answers = predict(model, tokenizer, rows)
    assert (answers == rows.with_format("numpy")["label"]).mean() > 0.75  # recorded: 0.86


@pytest.mark.parametrize("side", ["left", "right"])
def test_answers_do_not_depend_on_padding_or_batch_under_control(decoder, side):
    model, tokenizer, controller = decoder
    texts = ["A dog runs.", "Two men in red shirts play a long game of football outside."]
    both = tokenizer(texts, padding=True, padding_side=side, return_tensors="pt")
    alone = tokenizer(texts[:1], return_tensors="pt")
    with torch.no_grad(), controller.attached(model):
        padded, single = model(**both).logits[:1], model(**alone).logits
    torch.testing.assert_close(padded, single, rtol=0, atol=2e-2)
