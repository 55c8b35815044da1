"""Text written under control: the same with a cache of keys and values as without."""

from __future__ import annotations

import pytest
import torch
import transformers as tf

from pidlib.models import load_model
from pidlib.pid import PIDController

WRITERS = {"opt": "OPTForCausalLM", "gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM"}


def writer_of(classifier, kind):
    writer = getattr(tf, WRITERS[kind])(classifier.config).eval()
    name = "transformer" if kind == "gpt2" else "model"
    getattr(writer, name).load_state_dict(getattr(classifier, name).state_dict())
    return writer


def fitted(tiny, kind, **settings):
    classifier = tiny.model(kind)
    rows = tiny.rows(12)
    settings = {"scheme": "PID", "variance": 0.8, "correct_only": False} | settings
    return classifier, PIDController.fit(classifier, tiny.tokenizer(), rows, **settings)


@pytest.mark.parametrize("law", ["averaged", "exact-gain", "residual"])
@pytest.mark.parametrize("kind", WRITERS)
def test_cached_text_is_the_uncached_one(tiny, kind, law):
    classifier, controller = fitted(tiny, kind, law=law)
    writer = writer_of(classifier, kind).double()  # so that only the cache can make a difference
    inputs = tiny.inputs(kind, batch=3, length=7, side="left")
    assert (inputs["attention_mask"] == 0).any()  # some rows are padded
    seen = {}
    for cached in (True, False):
        with torch.no_grad(), controller.attached(writer):
            seen[cached] = writer.generate(
                **inputs,
                max_new_tokens=6,
                do_sample=False,
                use_cache=cached,
                output_logits=True,
                return_dict_in_generate=True,
                eos_token_id=None,
                pad_token_id=0,
            )
    with torch.no_grad():
        free = writer(**inputs).logits[:, -1].float()  # as generate returns them
    for a, b in zip(seen[True].logits, seen[False].logits, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-6)
    assert torch.equal(seen[True].sequences, seen[False].sequences)
    assert not torch.allclose(seen[True].logits[0], free, atol=1e-2)


def test_a_decoder_saved_in_a_folder_is_fitted_and_controlled(tiny, tmp_path):
    """What `load_model("facebook/opt-1.3b")` goes through, on an OPT of three blocks."""
    tiny.model("opt").save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    model, tokenizer = load_model(str(tmp_path))
    controller = PIDController.fit(
        model,
        tokenizer,
        tiny.rows(12),
        scheme="PD",
        variance=0.8,
        layers=[0, 1],
        correct_only=False,
    )
    inputs = tokenizer("the dog runs", return_tensors="pt")
    inputs.pop("token_type_ids", None)
    with torch.no_grad():
        base = model(**inputs).logits
        with controller.attached(model):
            held = model(**inputs).logits
        assert not torch.allclose(base, held, atol=1e-3)
        assert torch.equal(model(**inputs).logits, base)
