"""LoRA fine-tuning: it learns, it resumes to the same weights, it refuses other runs."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file

from experiments.training import (
    FreeLB,
    LoraSettings,
    plain_backward,
    save_adapter,
    set_weights,
    train_lora,
    with_lora,
)
from pidlib.evaluation.accuracy import predict

SETTINGS = LoraSettings(
    rank=4, alpha=8, epochs=3, batch_size=8, warmup_steps=2, learning_rate=0.02, dropout=0.05
)
NAMES = ("dog", "cat", "man", "child")


def rows_of(n, seed=0):
    """Pairs whose label is told by the hypothesis's verb."""
    random = np.random.default_rng(seed)
    verbs, made = ("runs", "sleeps", "eats"), []
    for _ in range(n):
        label, who = int(random.integers(3)), NAMES[random.integers(4)]
        hypothesis = f"a {who} {verbs[label]}"
        made.append({"premise": f"the {who} sits", "hypothesis": hypothesis, "label": label})
    return made


def quiet(_line):
    pass


def train(tiny, folder, settings=SETTINGS, rows=None, **more):
    """The curve of a run, with 48 rows held out."""
    model, tokenizer = tiny.model("bert"), tiny.tokenizer()
    rows, held = rows or rows_of(96), {"held": rows_of(48, seed=1)}
    return train_lora(model, tokenizer, rows, held, folder, settings, quiet, **more)


def test_it_learns_and_the_half_precision_adapter_answers_alike(tiny, tmp_path):
    torch.set_num_threads(1)
    curve = train(tiny, tmp_path / "run", replace(SETTINGS, epochs=6))
    assert curve[-1]["loss"] < curve[0]["loss"]
    scores = [epoch["validation"]["held"] for epoch in curve]
    best = 1 + int(np.argmax(scores))
    assert max(scores) > 0.8
    model = with_lora(tiny.model("bert"), SETTINGS)
    set_weights(model, tmp_path / "run" / f"epoch-{best}.safetensors")
    made = save_adapter(model, tmp_path / "a", "tiny")
    assert made["dtype"] == "float16"
    config = json.loads((tmp_path / "a" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "tiny"
    loaded = PeftModel.from_pretrained(tiny.model("bert"), tmp_path / "a")
    merged = loaded.merge_and_unload().float().eval()
    held = rows_of(48, seed=1)
    right = np.mean(predict(merged, tiny.tokenizer(), held) == [row["label"] for row in held])
    assert right == pytest.approx(max(scores), abs=0.05)


def test_broken_off_within_an_epoch_it_ends_with_the_same_weights(tiny, tmp_path, monkeypatch):
    """With the loss that test_faults.py does not train on."""
    torch.set_num_threads(1)
    backward, calls = FreeLB.backward, []
    settings, two = {"method": FreeLB(), "every": 0}, replace(SETTINGS, epochs=2)

    def failing(*parts):
        calls.append(1)
        if len(calls) == 7:  # of four steps an epoch: in the second
            raise KeyboardInterrupt
        return backward(*parts)

    whole, half = tmp_path / "whole", tmp_path / "half"
    wanted = train(tiny, whole, two, rows_of(32), **settings)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(FreeLB, "backward", failing)
        train(tiny, half, two, rows_of(32), **settings)
    assert (half / "unfinished").is_dir()
    curve = train(tiny, half, two, rows_of(32), **settings)
    assert not (half / "unfinished").exists()
    assert [one["loss"] for one in curve] == [one["loss"] for one in wanted]  # no step counts twice
    one, other = (load_file(folder / "epoch-2.safetensors") for folder in (whole, half))
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_a_folder_of_another_run_is_refused(tiny, tmp_path):
    settings = replace(SETTINGS, epochs=1)
    train(tiny, tmp_path, settings)
    with pytest.raises(ValueError, match="other settings or data"):
        train(tiny, tmp_path, replace(settings, seed=1))
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


def test_two_trainings_share_a_start_and_differ_after_it(tiny, tmp_path):
    torch.set_num_threads(1)
    begun, made = tmp_path / "start", {}
    assert len(train(tiny, begun, rows=rows_of(48), stop=1)) == 1
    last = replace(SETTINGS, epochs=1, warmup_steps=0)
    for name, method in {"plain": None, "again": None, "freelb": FreeLB()}.items():
        start = {"start": begun / "epoch-1.safetensors", "method": method}
        train(tiny, tmp_path / name, last, rows_of(48), **start)
        made[name] = load_file(tmp_path / name / "epoch-1.safetensors")
    keys = [key for key in made["plain"] if key.startswith("weight.")]
    assert all(torch.equal(made["plain"][key], made["again"][key]) for key in keys)
    assert any(not torch.equal(made["plain"][key], made["freelb"][key]) for key in keys)
    steps = [made["plain"][key] for key in made["plain"] if key.startswith("step.")]
    assert {int(step) for step in steps} == {12}  # six of the start and six more
    with pytest.raises(ValueError, match="other settings or data"):
        train(tiny, tmp_path / "freelb", last, rows_of(48))


def batch_of(tiny, n=6):
    rows = rows_of(n)
    text = [row["premise"] for row in rows], [row["hypothesis"] for row in rows]
    inputs = dict(tiny.tokenizer()(*text, padding=True, return_tensors="pt"))
    return inputs, torch.tensor([row["label"] for row in rows])


def test_freelb_climbs_the_loss_within_its_radius(tiny, monkeypatch):
    model = tiny.model("bert").eval()
    inputs, labels = batch_of(tiny)
    words = model.get_input_embeddings()(inputs["input_ids"]).detach()
    seen = []
    real = model.forward
    monkeypatch.setattr(
        model, "forward", lambda **given: seen.append(given["inputs_embeds"]) or real(**given)
    )
    losses = []
    for steps in (1, 4):
        seen.clear()
        one = FreeLB(steps, start=0.05, step_size=0.5, radius=0.6)
        torch.manual_seed(0)
        model.zero_grad()
        losses.append(float(one.backward(model, inputs, labels)))
    sizes = [(given.detach() - words).norm(dim=(1, 2)) for given in seen]
    assert all((size <= one.radius + 1e-5).all() for size in sizes)
    assert (sizes[0] <= one.start + 1e-6).all() and (sizes[-1] > sizes[0]).all()
    padding = inputs["attention_mask"] == 0
    assert all(torch.equal(given[padding], words[padding]) for given in seen)
    assert losses[1] > losses[0]


def test_freelb_of_one_tiny_step_is_standard_training(tiny):
    inputs, labels = batch_of(tiny)
    found = []
    for backward in (plain_backward, FreeLB(steps=1, start=1e-9).backward):
        model = tiny.model("bert").eval()
        backward(model, inputs, labels)
        found.append([p.grad for n, p in model.named_parameters() if "encoder" in n])
    for a, b in zip(*found, strict=True):
        assert torch.allclose(a, b, atol=2e-3)
