"""A decoder out of an encoder: the same blocks, a causal mask."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from experiments.adapters import TRAININGS
from experiments.training import LoraSettings, train_lora
from pidlib.hooks import find_blocks, read_states
from pidlib.io.embedded import embedded_folder
from pidlib.models import TARGETS, base_classifier, decoder_classifier, load_tokenizer
from pidlib.pid import PIDController


@pytest.fixture(scope="module")
def decoder():
    return decoder_classifier(embedded_folder())


def encode(texts):
    tokenizer = load_tokenizer(embedded_folder(), decoder=True)
    return tokenizer(texts, padding=True, return_tensors="pt")


def test_blocks_are_those_of_the_encoder(decoder):
    encoder = base_classifier().model
    x = torch.randn(4, 1, 384, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():  # one token: causal and full attention are the same
        for ours, theirs in zip(
            find_blocks(decoder).modules, find_blocks(encoder).modules, strict=True
        ):
            a, b = ours(x), theirs(x)
            a, b = (v[0] if isinstance(v, tuple) else v for v in (a, b))
            torch.testing.assert_close(a, b, rtol=0, atol=1e-4)


def test_embeddings_are_near_those_of_the_encoder(decoder):
    encoder = base_classifier().model
    inputs = encode(["two dogs run across a field", "a man in a red shirt sings"])
    with torch.no_grad():
        x = read_states(decoder, inputs).values[0]
        y = read_states(encoder, {**inputs, "token_type_ids": 0 * inputs["input_ids"]}).values[0]
    real = inputs["attention_mask"].bool()
    likeness = torch.nn.functional.cosine_similarity(x[real], y[real], dim=-1)
    assert likeness.min() > 0.9


def test_no_token_sees_a_later_one(decoder):
    first, second = (encode([text]) for text in ("a dog runs here", "a dog runs away"))
    with torch.no_grad():
        a, b = (read_states(decoder, inputs).values for inputs in (first, second))
    for x, y in zip(a, b, strict=True):
        torch.testing.assert_close(x[:, :4], y[:, :4], rtol=0, atol=1e-5)
        assert not torch.allclose(x[:, 4], y[:, 4], atol=1e-3)


@pytest.mark.parametrize("side", ["left", "right"])
def test_answers_do_not_depend_on_padding_or_batch_under_control(decoder, side):
    tokenizer = load_tokenizer(embedded_folder(), decoder=True)
    tokenizer.padding_side = side
    texts = ["a dog runs", "two men in red shirts play a long game of football outside"]
    both = tokenizer(texts, padding=True, return_tensors="pt")
    labels = decoder(**both).logits.argmax(-1)
    batch = SimpleNamespace(inputs=both, labels=labels)
    controller = PIDController.from_batches(decoder, [batch], scheme="PD", variance=0.9)
    alone = tokenizer(texts[:1], return_tensors="pt")
    with torch.no_grad(), controller.attached(decoder):
        torch.testing.assert_close(
            decoder(**both).logits[:1], decoder(**alone).logits, rtol=0, atol=1e-4
        )


def test_it_trains_by_lora(tiny, tmp_path):
    assert TRAININGS["minilm-opt"].kind == "decoder"
    model = decoder_classifier(embedded_folder())
    rows = tiny.rows(8)
    settings = LoraSettings(epochs=1, targets=TARGETS, trained=("score",), batch_size=4)
    tokenizer = load_tokenizer(embedded_folder(), decoder=True)
    curve = train_lora(
        model, tokenizer, rows, {"same": rows}, tmp_path, settings, lambda line: None
    )
    assert len(curve) == 1 and curve[0]["loss"] > 0
