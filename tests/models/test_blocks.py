"""States are the blocks' inputs and outputs, for each architecture and attention."""

import pytest
import torch
from torch import nn

from pidlib.hooks import Blocks, find_blocks, read_states
from pidlib.tokens import token_mask


def recorded(model, inputs):
    """Arguments that each block is really called with, and the outputs."""
    calls, outputs = [], []
    found = find_blocks(model)
    hooks = [
        m.register_forward_pre_hook(lambda _, a, k: calls.append((a, k)), with_kwargs=True)
        for m in found.modules
    ]
    hooks += [m.register_forward_hook(lambda _, a, o: outputs.append(o)) for m in found.modules]
    with torch.no_grad():
        result = model(**inputs)
    for hook in hooks:
        hook.remove()
    return calls, outputs, result


def first(output):
    return output[0] if isinstance(output, tuple) else output


def state(call):
    args, kwargs = call
    return args[0] if args else next(iter(kwargs.values()))


def test_states_are_inputs_of_the_blocks_and_the_last_output(tiny, kind, attention):
    model, inputs = tiny.model(kind, attention), tiny.inputs(kind)
    calls, outputs, result = recorded(model, inputs)
    states = tiny.states(model, inputs)
    assert len(states.values) == tiny.depth + 1
    for seen, call in zip(states.values[:-1], calls, strict=True):
        assert torch.equal(seen, state(call))
    assert torch.equal(states.values[-1], first(outputs[-1]))
    assert torch.equal(states.logits, result.logits)
    assert tiny.hooks_left(model) == 0


def test_mask_is_the_models_own_and_without_one_all_tokens_are_real(tiny, text_kind):
    for side in ("left", "right"):
        inputs = tiny.inputs(text_kind, side=side)
        mask = inputs["attention_mask"].bool()
        assert torch.equal(tiny.states(tiny.model(text_kind), inputs).mask, mask)
    del inputs["attention_mask"]
    assert tiny.states(tiny.model(text_kind), inputs).mask.all()


def test_control_matches_stepping_by_hand(tiny, kind, attention):
    """Eq. (1): run block after block on x_t + u_t with the arguments the model gives them."""
    model, inputs = tiny.model(kind, attention), tiny.inputs(kind)
    model.config.use_cache = False  # stepping again would lengthen the cache
    found = find_blocks(model)
    matrices = [torch.randn(tiny.width, tiny.width, generator=torch.manual_seed(t)) / 20
                for t in range(tiny.depth)]  # fmt: skip
    calls, _, _ = recorded(model, inputs)
    with torch.no_grad():
        x, arriving = state(calls[0]), []
        for t, (block, (args, kwargs)) in enumerate(zip(found.modules, calls, strict=True)):
            arriving.append(x)
            v = x - x @ matrices[t]
            name = None if args else next(iter(kwargs))
            output = block(v, *args[1:], **kwargs) if args else block(**{**kwargs, name: v})
            x = first(output)
        with found.control(lambda t, x, mask: x - x @ matrices[t]):
            states = read_states(model, inputs)
    torch.testing.assert_close([*arriving, x], [*states.values], rtol=1e-5, atol=1e-6)
    assert tiny.hooks_left(model) == 0


def test_control_only_where_asked_and_none_leaves_alone(tiny, kind):
    model, inputs, asked = tiny.model(kind), tiny.inputs(kind), []
    base = tiny.answer(model, inputs)
    with find_blocks(model).control(lambda t, x, mask: asked.append(t), layers=[2, 0]):
        assert torch.equal(tiny.answer(model, inputs), base)
    assert asked == [0, 2]


def test_mask_reaches_the_control_by_keyword_and_by_place(tiny):
    model, inputs = tiny.model("bert"), tiny.inputs("bert", side="left")
    masks = []
    with torch.no_grad(), find_blocks(model).control(lambda t, x, mask: masks.append(mask)):
        model(**inputs)
        model(inputs["input_ids"], inputs["attention_mask"])
        embeds = model.bert.embeddings.word_embeddings(inputs["input_ids"])
        model(inputs_embeds=embeds, attention_mask=inputs["attention_mask"])
        model(input_ids=inputs["input_ids"])
        model.bert(inputs["input_ids"])
    expected = inputs["attention_mask"].bool()[..., None]
    assert len(masks) == 5 * tiny.depth
    assert all(torch.equal(mask, expected) for mask in masks[: 3 * tiny.depth])
    assert all(mask is None for mask in masks[3 * tiny.depth :])


def test_a_mask_of_pairs_of_tokens_is_refused():
    with pytest.raises(ValueError, match="one entry per token"):
        token_mask(torch.ones(2, 1, 5, 5), torch.zeros(2, 5, 3))
    with pytest.raises(ValueError, match=r"\(2, 5\)"):
        token_mask(torch.ones(2, 4), torch.zeros(2, 5, 3))


def test_each_call_has_its_own_control_even_when_nested(tiny):
    model, inputs = tiny.model("bert"), tiny.inputs("bert")
    small = tiny.inputs("bert", batch=2, length=5, seed=7)
    log, made = [], []

    def begin():
        me = len(made)
        made.append(me)

        def control(t, x, mask):
            log.append((me, t, x.shape[0], mask.shape[0]))
            if me == 0 and t == 1:
                model(**small)

        return control

    with torch.no_grad(), find_blocks(model).control(begin=begin):
        model(**inputs)
    inner = [(1, t, 2, 2) for t in range(3)]
    assert log == [(0, 0, 4, 4), (0, 1, 4, 4), *inner, (0, 2, 4, 4)]


def test_a_call_that_fails_leaves_nothing_to_the_next_one_and_to_the_model(tiny, kind):
    model, inputs = tiny.model(kind), tiny.inputs(kind)
    base, masks, fail = tiny.answer(model, inputs), [], [True]

    def control(t, x, mask):
        masks.append(mask)
        if fail[0] and t == 1:
            raise KeyboardInterrupt

    with torch.no_grad(), find_blocks(model).control(control):
        with pytest.raises(KeyboardInterrupt):
            model(**tiny.inputs(kind, side="left"))
        fail[0] = False
        masks.clear()
        model(**inputs)
    if "attention_mask" in inputs:
        real = inputs["attention_mask"].bool()
        assert all(torch.equal(mask[..., 0], real) for mask in masks)
    assert tiny.hooks_left(model) == 0
    assert torch.equal(tiny.answer(model, inputs), base)


class Foreign(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Module()
        self.net.steps = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        self.heads = nn.ModuleList([nn.Linear(4, 2)])

    def forward(self, x):
        for step in self.net.steps:
            x = step(x).tanh()
        return self.heads[0](x[:, 0])


def test_another_architecture_says_what_to_give():
    model = Foreign()
    with pytest.raises(ValueError, match=r"blocks='the.name'.*net.steps"):
        find_blocks(model)
    with pytest.raises(ValueError, match="net.stairs"):
        find_blocks(model, "net.stairs")
    with pytest.raises(ValueError, match="Foreign"):
        find_blocks(model, nn.ModuleList([nn.Linear(4, 4)]))


def test_another_architecture_works_with_its_blocks_named():
    model, x = Foreign(), torch.randn(2, 3, 4)
    for blocks in ("net.steps", model.net.steps):
        found = find_blocks(model, blocks)
        assert isinstance(found, Blocks)
        assert found.names == ("net.steps.0", "net.steps.1")
        states = read_states(model, {"x": x}, blocks)
        assert torch.equal(states.values[0], x)
        assert states.logits is None


def test_control_asks_for_exactly_one_callable(tiny):
    found = find_blocks(tiny.model("bert"))
    with pytest.raises(TypeError, match="fn or begin"), found.control():
        pass
