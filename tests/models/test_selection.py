"""Strength and depth chosen on held-out rows, by the stated rule."""

from __future__ import annotations

import pytest
import torch

import pidbook.estimation.selection as selection
from pidbook.estimation.selection import choose
from pidlib.data.perturbations import RandomEdits
from pidlib.estimation.estimator import Estimator

EDITS = RandomEdits({"swap": 1.0, "drop": 1.0}, edits=3)


def tried_with(tiny, monkeypatch, answers, **settings):
    """Choose, with given shares of right answers, clean and perturbed in turn."""
    told = iter(v for pair in answers for v in pair)
    monkeypatch.setattr(selection, "right_answers", lambda *_: torch.tensor([next(told)]))
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(24)
    return model, choose(model, tokenizer, rows[:16], rows[16:], EDITS, **settings)


def test_the_best_of_those_that_cost_little(tiny, monkeypatch):
    answers = [(0.80, 0.60), (0.80, 0.62), (0.795, 0.66), (0.78, 0.70)]  # none, x_0, x_1, x_2
    model, found = tried_with(tiny, monkeypatch, answers, rhos=[1.0])
    assert found.chosen.last == 1 and found.estimator.controlled == (0, 1)
    assert [one.last for one in found.tried] == [-1, 0, 1, 2]
    alone = Estimator.fit(
        model, tiny.tokenizer(), tiny.rows(24)[:16], EDITS, layers=[0, 1], rho=1.0
    )
    assert torch.equal(alone.estimates[1].A, found.estimator.estimates[1].A)


def test_none_where_all_cost_too_much(tiny, monkeypatch):
    answers = [(0.8, 0.6)] + [(0.78, 0.6), (0.7, 0.5), (0.7, 0.9)] * 2
    _, found = tried_with(tiny, monkeypatch, answers, rhos=[0.5, 1.0])
    assert found.estimator is None and found.chosen.last == -1 and len(found.tried) == 7


def test_held_out_rows_get_other_draws_and_the_model_is_left_alone(tiny):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(24)
    said = []
    found = choose(model, tokenizer, rows[:16], rows[16:], EDITS, rhos=[1.0], report=said.append)
    assert len(said) == 3 and all(0 <= one.clean <= 1 for one in found.tried)
    assert not any(m._forward_pre_hooks for m in model.modules())


def test_bad_settings_are_named(tiny):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(8)
    with pytest.raises(ValueError, match="0 held-out rows"):
        choose(model, tokenizer, rows, [], EDITS)
    with pytest.raises(ValueError, match=r"rhos \[\]"):
        choose(model, tokenizer, rows, rows, EDITS, rhos=[])
