"""Blocks of every architecture by one rule, and what hooks assume of each."""

import pytest
import torch
import transformers as tf
from torch import nn

from pidlib import PIDController
from pidlib.hooks import find_blocks, read_states
from tests.conftest import DEPTH, ONE_HEAD, OWN, SIDES, SIZES, WIDTH, drawn, make_config, states

COMMON = {"vocab_size": 64, "eos_token_id": 1, "initializer_range": 0.2}
HEADS = ONE_HEAD
BOTH = SIDES | {"encoder_layers": DEPTH, "decoder_layers": DEPTH, "init_std": 0.5}
PIXELS = {"image_size": 8, "patch_size": 4, "num_channels": 3}
KINDS = {
    "bart": BOTH, "bert": {}, "biogpt": {}, "bloom": {}, "camembert": {}, "clip_text_model": {},
    "cohere": HEADS, "convbert": {"embedding_size": WIDTH}, "deberta": {},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "dinov2": PIXELS, "electra": {"embedding_size": WIDTH}, "ernie": {}, "falcon": {}, "fnet": {},
    "gemma": {}, "gemma2": {}, "gemma3_text": HEADS,
    "gpt_neo": {"attention_types": [[["global"], DEPTH]], "num_heads": 2}, "gpt_neox": {},
    "gptj": {"rotary_dim": 4}, "granite": {}, "mamba": {}, "mbart": BOTH,
    "mixtral": HEADS | {"num_local_experts": DEPTH},
    "mobilebert": {"true_hidden_size": WIDTH, "intra_bottleneck_size": WIDTH, "embedding_size": 16},
    "modernbert": {}, "mpnet": {}, "mt5": OWN["t5"], "olmo2": {}, "persimmon": {}, "phi": {}, "phi3": {},
    "qwen3": {}, "qwen3_moe": HEADS | {"num_experts": DEPTH, "num_experts_per_tok": 2, "moe_intermediate_size": 8},
    "rembert": {}, "roformer": {}, "siglip_vision_model": PIXELS, "smollm3": HEADS, "stablelm": HEADS,
    "starcoder2": {}, "t5": {"initializer_factor": 1.0}, "xglm": {"ffn_dim": 24}, "xlm-roberta": {},
}  # fmt: skip
UNMASKED = {"fnet", "dinov2", "siglip_vision_model"}  # these take no attention mask
MIXING = {"convbert"}  # its convolutions read padding
SINGLE = {"fnet", "mamba"}  # a transform in single precision only; sums kept in it


def tiny_model(kind, **changes):
    """A random model of a type, with a classifier where the type has one."""
    config = make_config(kind, **COMMON | KINDS.get(kind, {}) | changes)
    auto = tf.AutoModelForSequenceClassification
    auto = auto if type(config) in auto._model_mapping else tf.AutoModel
    return drawn(auto.from_config, config)


def inputs_of(kind):
    draw = torch.Generator().manual_seed(1)
    if KINDS.get(kind) is PIXELS:
        return {"pixel_values": torch.randn(2, 3, 8, 8, generator=draw)}
    ids = torch.randint(3, 64, (2, 7), generator=draw)
    ids[:, -1] = 1  # BART and T5 read their answer where the text ends
    if kind in UNMASKED:
        return {"input_ids": ids}
    mask = torch.ones_like(ids)
    mask[1, 5:], ids[1, 4] = 0, 1
    return {"input_ids": ids * mask, "attention_mask": mask}


def answer(model, inputs):
    with torch.no_grad():
        out = model(**inputs)
    return getattr(out, "logits", None) if "logits" in out else out.last_hidden_state


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_states_are_found_read_and_controlled(kind):
    model, inputs = tiny_model(kind), inputs_of(kind)
    blocks, plain = find_blocks(model), answer(model, inputs)
    assert (blocks.depth, blocks.width) == (DEPTH, WIDTH)
    free = states(model, inputs).values
    assert len(free) == DEPTH + 1 and {x.shape[2] for x in free} == {WIDTH}
    if "input_ids" in inputs:
        assert {x.shape[:2] for x in free} == {inputs["input_ids"].shape}
    with blocks.control(lambda t, x, mask: x + torch.zeros_like(x)):
        assert torch.equal(answer(model, inputs), plain)
    push = torch.randn(WIDTH, generator=torch.Generator().manual_seed(2))
    with blocks.control(lambda t, x, mask: x + push, layers=[1]):
        moved = states(model, inputs).values
        assert not torch.equal(answer(model, inputs), plain)
    assert [torch.equal(a, b) for a, b in zip(free, moved, strict=True)] == [True] * 2 + [False] * 2


@pytest.mark.parametrize("kind", sorted(set(KINDS) - SINGLE))
def test_half_precision_is_read_and_controlled(kind):
    model, inputs = tiny_model(kind).to(torch.bfloat16), inputs_of(kind)
    if "pixel_values" in inputs:
        inputs["pixel_values"] = inputs["pixel_values"].to(torch.bfloat16)
    values = states(model, inputs).values
    assert {x.dtype for x in values} == {torch.bfloat16} and len(values) == DEPTH + 1

    how = {"scheme": "P", "variance": 0.5, "c": 0}
    controller = PIDController.from_batches(model, [inputs], correct_only=False, **how)
    plain = answer(model, inputs)
    with controller.attached(model):
        controlled = answer(model, inputs)
    assert controlled.isfinite().all() and not torch.equal(controlled, plain)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - UNMASKED - MIXING))
def test_what_stands_in_padding_is_never_heard(kind):
    model, inputs = tiny_model(kind), inputs_of(kind)
    short = {name: of[1:, :5] for name, of in inputs.items()}

    def control(t, x, mask):
        return x * 1.5 if mask is None else torch.where(mask, x * 1.5, x)

    with find_blocks(model).control(control):
        batch, alone = states(model, inputs).values, states(model, short).values
    for x, y in zip(batch, alone, strict=True):
        assert torch.allclose(x[1:, :5], y, atol=1e-4), (x[1:, :5] - y).abs().max()


def test_of_an_encoder_and_a_decoder_it_is_the_encoder():
    assert find_blocks(tiny_model("t5")).names[0] == "transformer.encoder.block.0"
    assert find_blocks(tiny_model("bart")).names[0] == "model.encoder.layers.0"
    uneven = tiny_model("bart", decoder_layers=DEPTH + 1)
    assert find_blocks(uneven).names[0] == "model.encoder.layers.0"
    alone = tf.T5EncoderModel(tiny_model("t5").config)
    assert find_blocks(alone).names[0] == "encoder.block.0"


def test_a_language_model_beside_a_tower_of_images_is_found():
    text = SIZES | COMMON | HEADS
    vision = {name: SIZES[name] for name in ("hidden_size", "num_attention_heads")}
    vision |= PIXELS | {"num_hidden_layers": 2, "intermediate_size": 24}
    config = tf.AutoConfig.for_model("gemma3", text_config=text, vision_config=vision)
    blocks = find_blocks(tf.AutoModel.from_config(config))
    assert blocks.names[0] == "language_model.layers.0" and blocks.width == WIDTH


@pytest.mark.parametrize(
    ("kind", "changes", "lists"),
    [
        ("albert", {"embedding_size": WIDTH}, "albert_layer_groups': 1"),  # one layer, read thrice
        ("xlm", {"emb_dim": WIDTH, "n_heads": 2}, "transformer.attentions': 3"),
        (
            "jamba",
            HEADS | {"attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False},
            "model.layers': 3",
        ),
    ],
)
def test_where_the_rule_does_not_decide_the_lists_are_named(kind, changes, lists):
    with pytest.raises(ValueError, match=rf"3 blocks by its conf.*blocks='the.name'.*{lists}"):
        find_blocks(tiny_model(kind, **changes))


def test_two_lists_that_both_fit_are_not_chosen_between():
    text = SIZES | {"vocab_size": 64, "eos_token_id": 1}
    config = tf.CLIPConfig(text_config=text, vision_config=text | PIXELS)
    with pytest.raises(ValueError, match="give blocks='the.name'.*vision_model.encoder.layers': 3"):
        find_blocks(tf.CLIPModel(config))


class Narrowing(nn.Module):
    """Blocks that leave a smaller state than they take, or states without rows."""

    def __init__(self, flat=False):
        super().__init__()
        self.flat = flat
        self.steps = nn.ModuleList(
            nn.Linear(4 - t * (not flat), 3 + flat - t) for t in range(2 - flat)
        )

    def forward(self, x, attention_mask=None):
        x = x.flatten(0, 1) if self.flat else x
        for step in self.steps:
            x = step(x)
        return x


def test_states_of_other_shapes_are_refused_where_they_are_read():
    for flat, shapes in ((False, r"\(2, 5, 2\), \(2, 5, 3\), \(2, 5, 4\)"), (True, r"\(10, 4\)")):
        model, x = Narrowing(flat), torch.randn(2, 5, 4)
        with pytest.raises(ValueError, match=rf"{shapes}.*attn_implementation='sdpa'"):
            read_states(model, {"x": x}, "steps")


def test_a_control_of_states_without_padding_gets_no_mask():
    model, masks = Narrowing(flat=True), []
    with find_blocks(model, "steps").control(lambda t, x, mask: masks.append(mask)):
        model(torch.randn(2, 5, 4), attention_mask=torch.tensor([[1] * 5, [1, 1, 1, 0, 0]]))
    assert masks == [None]
