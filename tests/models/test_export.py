"""The example of *How to run it* that exports a controlled model to ONNX."""

import re

import pytest
import torch

from contents import ROOT
from pidlib import PIDController


def test_an_exported_model_answers_as_the_controlled_one(tiny, tmp_path, monkeypatch):
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package, reason=f"{package} is not installed; no extra asks for it")
    model, tokenizer = tiny.reader(labels=2)
    rows = [{"text": f"A fine movie {word}."} for word in ("here", "now", "then", "again", "once")]
    controller = PIDController.fit(
        model, tokenizer, rows, scheme="P", variance=0.5, c=0.0, correct_only=False
    )
    page = (ROOT / "book" / "how-to-run.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    [block] = [code for code in blocks if "onnxruntime" in code]
    space = {"torch": torch, "model": model, "tokenizer": tokenizer, "controller": controller}
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "book/how-to-run.md", "exec"), space)
    for texts in (["A dull scene.", "What a long and winding story this is!", "No."], ["Fine."]):
        batch = tokenizer(texts, padding=True, return_tensors="pt")
        given = {name: batch[name].numpy() for name in space["names"]}
        [logits] = space["session"].run(["logits"], given)
        bare, controlled = (tiny.answer(model, batch, of) for of in (None, controller))
        assert torch.allclose(torch.tensor(logits), controlled, atol=1e-5)
        assert not torch.allclose(bare, controlled, atol=1e-4)
