"""Mean Jacobians by products agree with Jacobians as whole matrices."""

from __future__ import annotations

import pytest
import torch

from pidbook.analysis import (
    answer_weights,
    mean_jacobians,
    push_forward,
)
from pidbook.analysis.jacobians import block_functions
from pidlib.data.batches import encode
from pidlib.hooks import find_blocks

ROWS = [
    {"premise": "the dog sleeps in the park", "hypothesis": "a cat", "label": 0},
    {"premise": "a cat", "hypothesis": "the dog sleeps", "label": 1},
]


@pytest.fixture(scope="module")
def small(tiny):
    model, tokenizer = tiny.model("bert"), tiny.tokenizer()
    inputs = encode(tokenizer, ROWS)
    states, functions, mask = block_functions(model, inputs)
    whole = []  # (T) of (B, l, d, B, l, d)
    for x, block in zip(states[:-1], functions, strict=True):
        whole.append(torch.autograd.functional.jacobian(block, x).detach())
    return model, tokenizer, inputs, states, mask, whole


def test_products_and_means_agree_with_whole_jacobians(small):
    model, tokenizer, inputs, states, mask, whole = small
    functions = block_functions(model, inputs)[1]
    v = torch.randn_like(states[0])
    product = torch.einsum("bidcke,cke->bid", whole[0], v)
    assert torch.allclose(push_forward(functions[0], states[0], v), product, atol=1e-4)
    # 3,000 products a row, 300 rows at a time
    mean = mean_jacobians(model, tokenizer, ROWS * 300, draws=10, batch_size=300)
    at = mask.nonzero()
    for t, J in enumerate(whole):
        exact = torch.stack([J[b, j, :, b, j] for b, j in at]).mean(0).double()
        assert (mean[t] - exact).norm() < 0.05 * exact.norm()


def test_weights_are_mean_squares_of_the_logits_derivatives(small):
    model, tokenizer, inputs, states, mask, _ = small
    model.requires_grad_(False)
    weights, share = answer_weights(model, tokenizer, ROWS)
    x = model.get_input_embeddings()(inputs["input_ids"])
    assert weights.shape[0] == len(states) - 1 == len(share) and x.shape == states[0].shape
    step, (b, j) = 1e-2 * torch.randn(states[0].shape[-1]), mask.nonzero()[0]

    def logits(push):
        def add(t, x, _):
            y = x.clone()
            y[b, j] += push
            return y

        with torch.no_grad(), find_blocks(model).control(add, layers=[1]):
            out = model(**inputs).logits
        return (out - out.mean(1, keepdim=True))[b]

    alone = {
        "premise": ROWS[int(b)]["premise"],
        "hypothesis": ROWS[int(b)]["hypothesis"],
        "label": 0,
    }
    only, _ = answer_weights(model, tokenizer, [alone])
    n = int(mask[b].sum())
    change = (logits(step) - logits(-step)) / 2
    assert float((change**2).sum()) <= n * float(step.double() @ only[1] @ step.double()) * 1.05
    assert (weights.diagonal(dim1=1, dim2=2) >= 0).all() and (share <= 1 + 1e-6).all()


def test_too_few_products_are_refused(small):
    model, tokenizer = small[:2]
    with pytest.raises(ValueError, match="give more rows"):
        mean_jacobians(model, tokenizer, ROWS[:1], draws=1)
    with pytest.raises(ValueError, match="draws"):
        mean_jacobians(model, tokenizer, ROWS, draws=0)
