"""LoRA fine-tuning: it learns, it resumes to the same weights, it refuses other runs."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from pidlib.predictions import predict
from pidlib.training import Curve, LoraSettings, save_adapter, set_mean, train_lora, with_lora

SETTINGS = LoraSettings(
    rank=4, alpha=8, epochs=3, batch_size=8, warmup_steps=2, learning_rate=0.02, dropout=0.05
)
NAMES = ("dog", "cat", "man", "child")


def rows_of(n, seed=0):
    """Pairs whose label is told by the hypothesis's verb."""
    random = np.random.default_rng(seed)
    verbs = ("runs", "sleeps", "eats")
    made = []
    for _ in range(n):
        label = int(random.integers(3))
        who = NAMES[random.integers(4)]
        made.append(
            {"premise": f"the {who} sits", "hypothesis": f"a {who} {verbs[label]}", "label": label}
        )
    return made


def train(tiny, folder, settings=SETTINGS, rows=None, said=None):
    model, tokenizer = tiny.model("bert"), tiny.tokenizer()
    curve = train_lora(
        model,
        tokenizer,
        rows or rows_of(96),
        {"held": rows_of(48, seed=1)},
        folder,
        settings,
        (said.append if said is not None else lambda _: None),
    )
    return model, tokenizer, curve


def test_it_learns_and_the_half_precision_adapter_answers_alike(tiny, tmp_path):
    torch.set_num_threads(1)
    _, tokenizer, curve = train(
        tiny, tmp_path / "run", LoraSettings(**(vars(SETTINGS) | {"epochs": 6}))
    )
    assert curve.epochs[-1]["loss"] < curve.epochs[0]["loss"]
    best = curve.best()
    assert curve.epochs[best - 1]["validation"]["held"] > 0.8
    model = with_lora(tiny.model("bert"), SETTINGS)
    set_mean(model, [tmp_path / "run" / f"epoch-{best}.safetensors"])
    made = save_adapter(model, tmp_path / "a", "tiny")
    assert made["dtype"] == "float16"
    config = json.loads((tmp_path / "a" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "tiny"
    from peft import PeftModel

    loaded = PeftModel.from_pretrained(tiny.model("bert"), tmp_path / "a")
    merged = loaded.merge_and_unload().float().eval()
    held = rows_of(48, seed=1)
    right = np.mean(predict(merged, tokenizer, held) == [row["label"] for row in held])
    assert right == pytest.approx(curve.epochs[best - 1]["validation"]["held"], abs=0.05)


def test_a_run_broken_off_ends_with_the_same_weights(tiny, tmp_path):
    torch.set_num_threads(1)
    train(tiny, tmp_path / "whole")
    for name in ("curve.json", "epoch-1.safetensors"):
        (tmp_path / "half").mkdir(exist_ok=True)
        (tmp_path / "half" / name).write_bytes((tmp_path / "whole" / name).read_bytes())
    curve = json.loads((tmp_path / "half" / "curve.json").read_text())
    curve["epochs"] = curve["epochs"][:1]
    (tmp_path / "half" / "curve.json").write_text(json.dumps(curve))
    train(tiny, tmp_path / "half")
    whole = load_file(tmp_path / "whole" / "epoch-3.safetensors")
    half = load_file(tmp_path / "half" / "epoch-3.safetensors")
    assert whole.keys() == half.keys()
    assert all(torch.equal(whole[key], half[key]) for key in whole)


def test_a_folder_of_another_run_is_refused(tiny, tmp_path):
    settings = LoraSettings(**(vars(SETTINGS) | {"epochs": 1}))
    train(tiny, tmp_path, settings)
    with pytest.raises(ValueError, match="other settings or data"):
        train(tiny, tmp_path, LoraSettings(**(vars(settings) | {"seed": 1})))
    with pytest.raises(ValueError, match="other settings or data"):
        train(tiny, tmp_path, settings, rows=rows_of(40))


def test_bad_input_writes_nothing(tiny, tmp_path):
    with pytest.raises(ValueError, match="label 3 of row 0"):
        train(tiny, tmp_path / "run", rows=[{"premise": "a", "hypothesis": "b", "label": 3}])
    with pytest.raises(ValueError, match="learning_rate is -1"):
        LoraSettings(learning_rate=-1)
    with pytest.raises(ValueError, match="epochs is 0"):
        LoraSettings(epochs=0)
    assert not (tmp_path / "run").exists()


def test_only_updates_pooler_and_classifier_are_trained(tiny):
    model = with_lora(tiny.model("bert"), SETTINGS)
    trained = [name for name, p in model.named_parameters() if p.requires_grad]
    assert trained and all("lora_" in n or "pooler" in n or "classifier" in n for n in trained)
    assert not [n for n in trained if "pooler" in n and "lora_" in n]


def test_the_first_of_equal_epochs_is_chosen():
    scores = [{"validation": {"a": a, "b": b}} for a, b in [(0.5, 0.7), (0.8, 0.6), (0.7, 0.7)]]
    assert Curve(scores).best() == 2


def test_the_mean_of_two_checkpoints(tiny, tmp_path):
    torch.set_num_threads(1)
    train(tiny, tmp_path)
    one, two, mean = (with_lora(tiny.model("bert"), SETTINGS) for _ in range(3))
    files = [tmp_path / "epoch-1.safetensors", tmp_path / "epoch-3.safetensors"]
    set_mean(one, files[:1])
    set_mean(two, files[1:])
    set_mean(mean, files)
    for a, b, m in zip(one.parameters(), two.parameters(), mean.parameters(), strict=True):
        assert torch.allclose(m, (a + b) / 2 if m.requires_grad else a, atol=1e-7)
