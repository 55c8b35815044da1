"""The embedded model, its adapter and models in folders."""

import shutil

import pytest
import torch

from pidlib.data.labels import LABELS
from pidlib.data.nli import load_nli
from pidlib.evaluation.accuracy import predict, right_answers
from pidlib.evaluation.statistics import Proportion
from pidlib.io.embedded import MINILM, embedded_folder
from pidlib.models import (
    ADAPTERS,
    adapters,
    load_adapter,
    load_model,
    training_record,
)


@pytest.fixture(autouse=True)
def adapters_are_read_each_time(monkeypatch):
    monkeypatch.setattr("pidlib.models.load_adapter", load_adapter)


PAIR = {"premise": "A dog runs in the park.", "hypothesis": "An animal is outdoors.", "label": 0}


def test_the_embedded_weights_are_the_official_ones():
    assert training_record()["base"]["sha256"] == MINILM.sha256
    assert (embedded_folder() / "model.safetensors").is_file()


def test_the_loaded_model_is_plain_merged_and_still():
    torch.manual_seed(5)
    drawn = torch.get_rng_state()
    model, tokenizer = load_model("minilm-nli")
    assert torch.equal(torch.get_rng_state(), drawn)
    assert type(model).__name__ == "BertForSequenceClassification" and not model.training
    assert [model.config.id2label[k] for k in range(3)] == list(LABELS)
    assert not [name for name, _ in model.named_parameters() if "lora" in name]
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    pairs = zip(model.parameters(), load_model("minilm-nli").model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert predict(model, tokenizer, [PAIR]).tolist() == [0]
    with pytest.raises(ValueError, match="training mode"):
        predict(model.train(), tokenizer, [PAIR])


def test_accuracy_on_captions_is_the_recorded_one():
    recorded = next(p for p in training_record()["measured"] if p["data"] == "captions test")
    right = right_answers(*load_model("minilm-nli"), load_nli("captions", split="test", n=300))
    low, high = Proportion(int(right.sum()), len(right)).interval(0.999)
    assert low <= recorded["right"] / recorded["n"] <= high


@pytest.mark.data
def test_accuracy_on_snli(real_data):
    right = right_answers(*load_model("minilm-nli"), load_nli("snli-test", n=300))
    assert Proportion(int(right.sum()), len(right)).interval(0.99)[1] >= 0.80


def test_unknown_names_list_the_known():
    with pytest.raises(ValueError, match=r"unknown model 'bert'.*minilm-nli"):
        load_model("bert")
    with pytest.raises(ValueError, match=r"unknown adapter 'x'"):
        training_record("x")
    assert "minilm-nli" in adapters()


def test_a_damaged_adapter_is_refused(tmp_path):
    folder = tmp_path / "adapter"
    shutil.copytree(ADAPTERS / "minilm-nli", folder)
    file = folder / "adapter_model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="checksum mismatch: adapter_model.safetensors"):
        load_adapter(folder)
    file.unlink()
    with pytest.raises(
        FileNotFoundError, match="weights of 'adapter' are not in the installed package"
    ):
        load_adapter(folder)


def test_a_folder_saved_by_transformers_loads(tiny, tmp_path):
    for kind in ("bert", "opt"):
        folder = tmp_path / kind
        model, tokenizer = tiny.model(kind), tiny.tokenizer()
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        loaded = load_model(str(folder))
        rows = [{"premise": "the dog runs", "hypothesis": "a cat sits", "label": 1}] * 3
        assert predict(*loaded, rows).tolist() == predict(model, tokenizer, rows).tolist()


def test_predictions_do_not_depend_on_order_or_batch():
    model, tokenizer = load_model("minilm-nli")
    rows = [PAIR | {"premise": "A dog runs. " * k} for k in range(1, 9)]
    one = predict(model, tokenizer, rows, batch_size=1)
    assert predict(model, tokenizer, rows[::-1], batch_size=3)[::-1].tolist() == one.tolist()


def test_trainings_differ_in_their_last_epoch_alone():
    kinds = {"": ("standard", 0), "-a2t": ("a2t", 0), "-freelb": ("freelb", 0)}
    kinds |= {"-second": ("standard", 1)}
    records = {f"minilm-nli{end}": training_record(f"minilm-nli{end}") for end in kinds}
    assert set(records) <= set(adapters())
    one, a2t, freelb, second = records.values()
    assert one["start"] == a2t["start"] == freelb["start"] != second["start"]
    assert [part["n"] for part in one["data"]] == [part["n"] for part in second["data"]]
    for record, (kind, seed) in zip(records.values(), kinds.values(), strict=True):
        assert record["training"] == {"kind": kind, "seed": seed}
        last = record["last"]
        assert last["settings"] == one["last"]["settings"] | {"seed": record["training"]["seed"]}
        assert (last["pairs"], last["seen_twice"]) == (one["last"]["pairs"], 2000)
        assert {part["data"] for part in record["measured"]} >= {"snli-test", "captions test"}
    assert sum(a2t["last"]["a2t"].values()) == 2000 and a2t["last"]["a2t"]["succeeded"] > 500
    assert freelb["last"]["freelb"]["steps"] == 2
    assert not ({"a2t", "freelb"} & {*one["last"], *second["last"]})
