"""Text under control is the same however it is written: nine ways to generate, fifteen kinds of model.

The first token of each text is left alone, so each way has to tell how many tokens came before.
"""

import copy
from functools import cache

import pytest
import torch
import transformers as tf

from pidlib.hooks import find_blocks
from tests.conftest import WIDTH, make_config

NEW = 5
LAST = 39  # it would end a text, and is not written
COMMON = {
    "vocab_size": 40, "num_hidden_layers": 2, "max_position_embeddings": 64, "bos_token_id": 1,
    "eos_token_id": LAST,
}  # fmt: skip
GROUPED = {"num_key_value_heads": 1}
KINDS = {
    "gpt2": {}, "opt": {}, "llama": GROUPED, "mistral": {**GROUPED, "sliding_window": 4},
    "qwen2": GROUPED, "qwen3": {}, "gemma": {}, "gemma2": {"sliding_window": 4}, "phi": {},
    "phi3": GROUPED, "gpt_neox": {}, "bloom": {}, "falcon": {}, "stablelm": GROUPED, "t5": {},
    "bart": {"encoder_layers": 2, "decoder_layers": 2, "decoder_start_token_id": 2,
             "forced_eos_token_id": None},
}  # fmt: skip
WAYS = {
    "greedy": {},
    "sampling": {"do_sample": True, "top_k": 0},
    "beams": {"num_beams": 3},
    "several returns": {"num_beams": 3, "num_return_sequences": 2},
    "left padding": {},
    "static cache": {"cache_implementation": "static", "disable_compile": True},
    "prompt lookup": {"prompt_lookup_num_tokens": 2},
    "assisted": {},
    "prefill in chunks": {"prefill_chunk_size": 3},
}


@cache
def model_of(kind):
    """A random model of two blocks, and a push on its states that changes what it writes."""
    config = make_config(kind, **COMMON | KINDS[kind])
    auto = tf.AutoModelForSeq2SeqLM if config.is_encoder_decoder else tf.AutoModelForCausalLM
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = auto.from_config(config).eval()
        for p in model.parameters():
            p.data.add_(torch.randn_like(p) / 4)
        turns = torch.randn(2, WIDTH, WIDTH)
    model.generation_config.suppress_tokens = [LAST]

    def push(t, x, mask):
        u = torch.tanh(x @ turns[t])
        return x + (u if mask is None else u * mask)

    return model, push


def inputs_of(way):
    ids = torch.tensor([[5, 9, 7, 11, 5, 9, 7]])
    if way != "left padding":
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    ids = torch.cat([ids, ids.flip(1)])
    mask = torch.ones_like(ids)
    ids[0, :3] = mask[0, :3] = 0
    return {"input_ids": ids, "attention_mask": mask}


def written(model, way, **settings):
    """What a way writes, and the logits of each step."""
    torch.manual_seed(0)
    how = {"max_new_tokens": NEW, "do_sample": False, "output_logits": True} | settings
    with torch.no_grad():
        return model.generate(**inputs_of(way), **how, return_dict_in_generate=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_writes_what_it_would_write_without_a_cache(kind, way):
    model, push = model_of(kind)
    settings = dict(WAYS[way])
    if way == "assisted":
        settings["assistant_model"] = copy.deepcopy(model)
    if way == "prefill in chunks" and model.config.is_encoder_decoder:
        pytest.skip("the prompt of a decoder behind an encoder is one token")
    same = ("do_sample", "top_k", "num_beams", "num_return_sequences")
    plain = {k: v for k, v in settings.items() if k in same}
    with find_blocks(model).control(push, skip_first=1):
        wanted = written(model, way, use_cache=False, **plain)
        seen = written(model, way, use_cache=True, **settings)
    free = written(model, way, use_cache=False, **plain)
    assert torch.equal(seen.sequences, wanted.sequences)
    torch.testing.assert_close(seen.logits, wanted.logits, rtol=0, atol=1e-4)
    assert not torch.allclose(free.logits[0], wanted.logits[0], atol=1e-2)
