"""Mean Jacobians by products agree with Jacobians as whole matrices."""

import pytest
import torch

from pidbook.analysis import mean_jacobians, push_forward
from pidbook.analysis.jacobians import block_functions
from pidlib.data.batches import encode

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


def test_too_few_products_are_refused(small):
    model, tokenizer = small[:2]
    with pytest.raises(ValueError, match="give more rows"):
        mean_jacobians(model, tokenizer, ROWS[:1], draws=1)
    with pytest.raises(ValueError, match="draws"):
        mean_jacobians(model, tokenizer, ROWS, draws=0)
