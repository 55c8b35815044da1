"""Which tokens are real, for models that lengthen, shorten or prepare what they are given."""

import pytest
import torch
import transformers as tf

from pidlib.hooks import find_blocks
from pidlib.tokens import Tokens
from tests.conftest import SIZES, drawn, make_model, make_writer, states as states_of

SMALL = SIZES | {"vocab_size": 24, "num_hidden_layers": 2, "max_position_embeddings": 128}
IDS = torch.tensor([[5, 6, 7, 8, 9, 10, 11], [5, 6, 7, 8, 9, 0, 0]])
TEXT = {"input_ids": IDS, "attention_mask": (IDS != 0).long()}


def masks_of(model, call, skip=0):
    """Real tokens (B, l) at the first block, for each forward call."""
    masks = []

    def note(t, x, mask):
        whole = torch.ones(x.shape[:2], dtype=torch.bool)
        masks.append(whole if mask is None else mask[..., 0].clone())

    with torch.no_grad(), find_blocks(model).control(note, layers=[0], skip_first=skip):
        call()
    return masks


def longformer():
    config = tf.LongformerConfig(**SMALL, attention_window=4)
    return drawn(tf.LongformerForSequenceClassification, config)


def bigbird():
    config = tf.BigBirdConfig(**SMALL, block_size=4, num_random_blocks=1)
    return drawn(tf.BigBirdForSequenceClassification, config)


@pytest.mark.parametrize("make", [longformer, bigbird])
def test_padding_up_to_a_whole_window_is_padding(make):
    model, inputs = make(), TEXT
    if make is bigbird:  # block-sparse attention needs a long text
        ids = torch.randint(4, 24, (2, 61))
        mask = torch.ones_like(ids)
        mask[1, 50:] = 0
        inputs = {"input_ids": ids * mask, "attention_mask": mask}
    length = inputs["input_ids"].shape[1]
    (mask,) = masks_of(model, lambda: model(**inputs), skip=1)
    assert mask.shape[1] == -(-length // 4) * 4 > length
    wanted = inputs["attention_mask"].bool()
    assert torch.equal(mask[:, 1:length], wanted[:, 1:])
    assert not mask[:, 0].any() and not mask[:, length:].any()
    states = states_of(model, inputs)
    assert torch.equal(states.mask[:, :length], wanted) and not states.mask[:, length:].any()


def test_sound_in_states_of_several_samples_keeps_its_padding():
    config = tf.Wav2Vec2Config(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
        conv_dim=(8, 8, 8), conv_kernel=(10, 3, 1), conv_stride=(5, 2, 1),
        num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2, feat_extract_norm="layer",
        mask_time_prob=0.0,
    )  # fmt: skip
    model = drawn(tf.Wav2Vec2ForSequenceClassification, config)
    sound, mask = torch.randn(2, 400), torch.ones(2, 400, dtype=torch.long)
    mask[1, 200:] = 0
    (seen,) = masks_of(model, lambda: model(sound, attention_mask=mask))
    wanted = model._get_feature_vector_attention_mask(seen.shape[1], mask).bool()
    assert torch.equal(seen, wanted) and 10 < int(seen[1].sum()) < 25 < int(seen[0].sum())


def test_whisper_generates_under_control():
    config = tf.WhisperConfig(
        vocab_size=24, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, num_mel_bins=4,
        max_source_positions=20, max_target_positions=16, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=1, begin_suppress_tokens=None, suppress_tokens=None,
    )  # fmt: skip
    model, sound = drawn(tf.WhisperForConditionalGeneration, config), torch.randn(2, 4, 40)
    mask = torch.ones(2, 40, dtype=torch.long)
    mask[1, 20:] = 0
    (seen,) = masks_of(model, lambda: model.generate(sound, attention_mask=mask, max_new_tokens=3))
    assert seen.shape == (2, 20)
    (seen,) = masks_of(
        model, lambda: model(sound, attention_mask=mask, decoder_input_ids=torch.ones(2, 1).long())
    )
    assert seen.sum(1).tolist() == [20, 10]


def prompt_tuned(kind):
    from peft import PromptTuningConfig, get_peft_model

    base = make_model(kind) if kind == "bert" else make_writer(kind, eos_token_id=2)
    task = {"bert": "SEQ_CLS", "llama": "CAUSAL_LM"}[kind]
    return get_peft_model(base, PromptTuningConfig(task_type=task, num_virtual_tokens=3)).eval()


@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_virtual_tokens_are_no_text(kind):
    model = prompt_tuned(kind)
    (seen,) = masks_of(model, lambda: model(**TEXT), skip=1)
    wanted = TEXT["attention_mask"].bool()
    assert seen.shape == (2, 10) and not seen[:, :4].any()
    assert torch.equal(seen[:, 4:], wanted[:, 1:])
    states = states_of(model, TEXT)
    assert torch.equal(states.mask[:, 3:], wanted) and not states.mask[:, :3].any()
    if kind == "bert":  # peft 0.21.2 cannot disable it: BERT has no prepare_inputs_for_generation
        return
    with model.disable_adapter():
        (seen,) = masks_of(model, lambda: model(**TEXT))
    assert torch.equal(seen, wanted)


@pytest.mark.parametrize("cached", [False, True])
def test_virtual_tokens_are_no_text_where_text_is_generated(cached):
    if cached and int(tf.__version__.split(".")[0]) > 4:
        pytest.skip("peft 0.21.2 overlooks the cache of transformers 5.24, which it calls `cache`")
    model = prompt_tuned("llama")
    whole = {"input_ids": IDS, "attention_mask": torch.ones_like(IDS)}
    how = {"max_new_tokens": 3, "min_new_tokens": 3, "do_sample": False, "use_cache": cached}
    first, *rest = masks = masks_of(model, lambda: model.generate(**whole, **how), skip=1)
    assert first.shape == (2, 10) and len(masks) == 3
    if cached:
        assert all(mask.shape == (2, 1) and mask.all() for mask in rest)
    for mask in masks[: 1 if cached else 3]:
        assert not mask[:, :4].any() and mask[:, 4:].all()


@pytest.mark.parametrize("told", ["cache_position", "position_ids", "any name"])
def test_tokens_before_are_counted_by_whatever_tells(told):
    """What a call carries differs between versions and models; here a part that takes anything."""

    class Held:
        def get_seq_length(self):
            return 1

    given = {
        "cache_position": torch.tensor([1, 2]),
        "position_ids": torch.tensor([[1, 2]]),
        "any name": Held(),
    }
    x = torch.zeros(1, 2, 4)
    for skip, wanted in ((1, [True, True]), (2, [False, True]), (3, [False, False])):
        inputs = {"input_ids": torch.ones(1, 2), told: given[told]}
        tokens = Tokens.of(torch.nn.Module(), inputs, skip=skip)
        assert tokens.counted(x, skip).tolist() == [wanted]


def test_a_cache_that_does_not_tell_its_length_is_refused():
    inputs = {"input_ids": torch.ones(1, 2), "past_key_values": ((1, 2),)}
    with pytest.raises(ValueError, match="the cache is a tuple.*give attention_mask"):
        Tokens.of(torch.nn.Module(), inputs, skip=1)
    with pytest.raises(ValueError, match="attention_mask is a list"):
        Tokens.of(torch.nn.Module(), {"attention_mask": [[1, 1]]})


@pytest.mark.parametrize("kind", ["boolean", "additive", "by type of layer"])
def test_masks_of_pairs_of_tokens_tell_padding(kind):
    """What `generate` makes for a static cache of nine places, four of them filled."""
    real = torch.tensor([[0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1]]).bool()  # two of them new
    sees = torch.ones(2, 9).bool().tril(4) & torch.nn.functional.pad(real, (0, 3))[:, None]
    mask = sees[:, None]
    if kind == "additive":
        mask = torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min)
    if kind == "by type of layer":
        mask = {"sliding_attention": mask[..., -3:], "full_attention": mask}
    inputs = {"input_ids": torch.ones(2, 2), "attention_mask": mask}
    inputs["cache_position"] = torch.tensor([4, 5])
    x = torch.zeros(2, 2, 4)
    for skip, wanted in ((0, [[1, 1], [0, 1]]), (1, [[1, 1], [0, 0]]), (4, [[0, 1], [0, 0]])):
        tokens = Tokens.of(torch.nn.Module(), inputs, skip=skip)
        assert tokens.counted(x, skip).int().tolist() == wanted
