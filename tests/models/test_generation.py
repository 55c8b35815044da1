"""Text written under control: the same with a cache of keys and values as without."""

import pytest
import torch
from peft import LoraConfig, get_peft_model

TARGETS = {"gpt2": ["c_attn"], "opt": ["q_proj"], "llama": ["q_proj"]}
HOW = {
    "max_new_tokens": 6,
    "do_sample": False,
    "output_logits": True,
    "return_dict_in_generate": True,
    "eos_token_id": None,
    "pad_token_id": 0,
}


@pytest.mark.parametrize(
    ("law", "wrapped"),
    [("averaged", False), ("exact-gain", False), ("residual", False), ("averaged", True)],
)
@pytest.mark.parametrize("kind", TARGETS)
def test_cached_text_is_the_uncached_one(tiny, kind, law, wrapped):
    """peft calls the model within, not the whole, when it generates."""
    writer = tiny.writer(kind)
    if wrapped:
        config = LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=TARGETS[kind])
        writer = get_peft_model(writer, config)
    writer = writer.eval().double()  # so that only the cache can make a difference
    how = {"scheme": "PID", "law": law, "variance": 0.5, "c": 0.0}
    controller = tiny.fit(writer, skip_first=2, **how)
    inputs = tiny.inputs(kind, batch=3, length=7, side="left")
    with torch.no_grad(), controller.attached(writer):
        seen, wanted = (writer.generate(**inputs, **HOW, use_cache=of) for of in (True, False))
    torch.testing.assert_close(seen.logits, wanted.logits, rtol=0, atol=1e-6)
    assert torch.equal(seen.sequences, wanted.sequences)
    with torch.no_grad(), tiny.fit(writer, skip_first=0, **how).attached(writer):
        other = writer.generate(**inputs, **HOW)
    assert not torch.allclose(other.logits[-1], seen.logits[-1], atol=1e-4)
