"""The recorded trial on pictures: trained, fitted, judged and attacked once, and read again."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.beyond import strong_attacks, vision
from experiments.experiment import record
from pidbook.evaluation.trial_results import answers
from pidbook.image_models import ResidualCNN

SHIPPED = Path(__file__).resolve().parents[2] / "book" / "results" / "vision"


def test_it_runs_whole_and_goes_on(tmp_path, monkeypatch):
    asked = []

    def stub(model, images, labels, epsilon, before, seed):
        asked.append(epsilon)
        return {"after square": before, "all": before}

    monkeypatch.setenv("FASHION_MNIST_DIR", str(SHIPPED))
    monkeypatch.setattr(vision, "withstood", stub)
    monkeypatch.setattr(vision, "FEW", 0)
    monkeypatch.setattr(vision, "STRENGTHS", {kind: (0.1, 0.2, 0.4) for kind in vision.LEARNT})
    monkeypatch.setattr(vision, "PLACEBOS", (("noise", 0),))
    trial = vision.Vision(
        "cnn", epochs=6.0, rate=1e-2, trained_on=156, fitted_on=100, n=16, attacked=6, pairs=4,
        after=16, epsilons=(2,), searched=2, steps=2,
    )  # fmt: skip
    result = record(trial, tmp_path, tmp_path / "runs", lambda _: None)
    assert (tmp_path / "vision" / "cnn" / "model.safetensors").is_file()
    counts = result["counts"]
    assert set(counts["none"]) >= {
        "clean",
        "blur 0.2",
        "alike",
        "contrast",
        "transfer 2",
        "worst 2",
    }
    assert "blur 0.2" not in counts["estimate: noise 0"]
    assert counts["none"]["clean"]["n"] == 16 and counts["none"]["adaptive 2"]["n"] == 6
    worst, own = (answers(result, "estimate", f"{kind} 2") for kind in ("worst", "adaptive"))
    assert not (worst & ~own).any()
    assert asked == [2 / 255] * 3 and "worst 2" not in counts["fine-tuned"]
    again = record(trial, tmp_path, tmp_path / "runs", lambda _: None)
    assert again["counts"] == counts and len(asked) == 3

    monkeypatch.setattr(vision, "FEW", 500)  # now it is a small one
    small = record(replace(trial, pairs=3), tmp_path, tmp_path / "runs", lambda _: None)
    assert "fine-tuned" not in small["counts"] and "worst 2" not in small["counts"]["none"]
    assert "blur 0.2" not in small["counts"]["none"] and len(asked) == 3


def test_settings_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="searched is 3 and attacked 250"):
        vision.Vision("cnn", searched=3)


def test_the_library_of_attacks_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "art.attacks.evasion", None)
    model, dark = ResidualCNN(1, 4).eval(), torch.zeros(2, 1, 28, 28)
    with pytest.raises(ImportError, match="pip install .adversarial-robustness-toolbox=="):
        strong_attacks.withstood(model, dark, torch.tensor([0, 1]), 0.1, np.ones(2, bool), seed=0)
