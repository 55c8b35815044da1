"""Compiled models: controlled while the context lasts, bare after it, others left alone."""

import pytest
import torch

from pidlib.hooks import find_blocks, read_states
from pidlib.pid import PIDController


class Counting:
    """A backend of torch.compile that counts what it compiles."""

    def __init__(self):
        self.count = 0

    def __call__(self, graph, _inputs):
        self.count += 1
        return graph.forward


@pytest.fixture(autouse=True)
def forgotten():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def pushed(model, size=0.5):
    def push(t, x, mask):
        u = size * x.roll(1, -1)
        return x + (u if mask is None else u * mask)

    return find_blocks(model).control(push)


def close(a, b):
    torch.testing.assert_close(a, b, rtol=0, atol=1e-5)


@pytest.mark.parametrize("way", ["torch.compile", "model.compile", "blocks alone"])
def test_a_control_is_seen_by_compiled_code_and_leaves_others_alone(tiny, way):
    model, inputs = tiny.model("bert", depth=2), tiny.inputs("bert")
    other, counting, counted = tiny.model("bert", depth=2, seed=1), Counting(), Counting()
    bare, wanted_other = tiny.answer(model, inputs), tiny.answer(other, inputs)
    with pushed(model):
        wanted = tiny.answer(model, inputs)
    compiled, beside = model, torch.compile(other, backend=counted)
    if way == "torch.compile":
        compiled = torch.compile(model, backend=counting)
    elif way == "model.compile":
        model.compile(backend=counting)
    else:
        for block in find_blocks(model).modules:
            block.compile(backend=counting)
    close(tiny.answer(compiled, inputs), bare)
    close(tiny.answer(beside, inputs), wanted_other)
    before, others = counting.count, counted.count
    assert before and others
    for size in (0.5, 0.25, 0.5):
        with pushed(model, size):
            seen = tiny.answer(compiled, inputs)
            assert not torch.allclose(seen, bare, atol=1e-3)
            close(tiny.answer(beside, inputs), wanted_other)
            close(read_states(compiled, inputs).logits, seen)
        within = counting.count
        close(tiny.answer(compiled, inputs), bare)
        assert counting.count == within  # what was compiled before is valid again
    close(seen, wanted)
    assert counting.count > before
    assert counted.count == others


def test_code_made_under_control_serves_the_next_control_too(tiny):
    """torch.compile gives a code up after `recompile_limit` versions of it."""
    model, inputs, counting = tiny.model("distilbert", depth=1), tiny.inputs("bert"), Counting()
    compiled = torch.compile(model, backend=counting, fullgraph=True)
    tiny.answer(compiled, inputs)
    for k in range(torch._dynamo.config.recompile_limit + 4):
        with pushed(model, size=0.1 * k):
            wanted = tiny.answer(model, inputs)
            close(tiny.answer(compiled, inputs), wanted)
    assert counting.count == 3  # bare, under control, and with any size
    rows = {"correct_only": False, "variance": 0.5, "c": 0.1}
    for law in ("averaged", "averaged", "residual", "averaged", "residual"):
        control = PIDController.fit(model, tiny.tokenizer(), tiny.rows(12), law=law, **rows)
        with control.attached(model):
            close(tiny.answer(compiled, inputs), tiny.answer(model, inputs))
    assert counting.count == 5


def test_a_reading_compiles_nothing_and_keeps_what_is_compiled(tiny):
    model, inputs, counting = tiny.model("bert", depth=2), tiny.inputs("bert"), Counting()
    compiled = torch.compile(model, backend=counting)
    tiny.answer(compiled, inputs)
    before = counting.count
    with torch.no_grad(), find_blocks(model).reading() as states:
        compiled(**inputs)
    assert len(states) == 3
    close(torch.stack(states), torch.stack(read_states(model, inputs).values))
    tiny.answer(compiled, inputs)
    assert counting.count == before
