"""Controls that steer: what they add, and that they leave as they came."""

import pytest
import torch

from pidbook.analysis import Steering, concept_states
from pidlib.hooks import find_blocks

GOOD = ["a happy dog runs home", "the child laughs"]


@pytest.fixture(scope="module")
def parts(minilm):
    model, tokenizer = minilm
    return model, tokenizer, tokenizer(GOOD, padding=True, return_tensors="pt")


def test_it_adds_its_push_to_every_token_but_the_first(parts):
    model, _, inputs = parts
    w = torch.linspace(-1, 1, 384)
    blocks, moved = find_blocks(model), []
    with torch.no_grad(), blocks.reading() as bare:
        model(**inputs)
    with torch.no_grad(), blocks.reading() as held, Steering(lambda t, x: w, [5]).attached(model):
        hook = blocks.modules[5].register_forward_pre_hook(lambda _, args: moved.append(args[0]))
        model(**inputs)
        hook.remove()
    assert torch.equal(held[5], bare[5])  # read before any control
    gap, mask = moved[0] - bare[5], inputs["attention_mask"].bool()
    assert torch.allclose(gap[:, 1:][mask[:, 1:]], w.expand(int(mask[:, 1:].sum()), -1), atol=1e-5)
    assert not gap[:, 0].any() and not gap[~mask].any()


def test_concept_states_are_means_or_the_last_state_of_each_text(parts):
    model, tokenizer, inputs = parts
    with torch.no_grad(), find_blocks(model).reading() as states:
        model(**inputs)
    means, last = (concept_states(model, tokenizer, GOOD, last=flag) for flag in (False, True))
    for t, x in enumerate(states[:-1]):
        for n, mask in enumerate(inputs["attention_mask"].bool()):
            own = x[n][mask][1:]
            assert torch.allclose(means[t, n], own.mean(0), atol=1e-5)
            assert torch.allclose(last[t, n], own[-1], atol=1e-5)


def test_wrong_input_is_named(parts):
    model, tokenizer, inputs = parts
    with pytest.raises(ValueError, match="no token after the first 9"):
        concept_states(model, tokenizer, GOOD, skip_first=9)
