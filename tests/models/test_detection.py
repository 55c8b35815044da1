"""Scores of the size of the control, and the area under their curve."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import mannwhitneyu

from pidbook.estimation.detection import Detector, auroc, doubt, innovation_scores
from pidlib.data.perturbations import RandomEdits
from pidlib.estimation.estimator import Estimator
from pidlib.hooks import read_states

EDITS = RandomEdits({"swap": 1.0, "drop": 1.0}, edits=2)


def test_the_score_is_the_largest_relative_innovation_of_a_text(tiny):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(30)
    estimator = Estimator.fit(model, tokenizer, rows, EDITS, layers=[0, 1])
    base = [logits(model, tokenizer, row) for row in rows[:3]]
    scores = innovation_scores(model, tokenizer, rows, estimator, batch_size=4)
    assert scores.shape == (30, 2) and (scores > 0).all()
    one = estimator.estimates[0]
    for k in (0, 7, 29):
        inputs = tokenizer(rows[k]["premise"], rows[k]["hypothesis"], return_tensors="pt")
        with torch.no_grad():
            x = read_states(model, inputs).values[0][0].double()
        u = x @ one.A.T + one.b - x
        assert np.isclose(scores[k, 0], float((u.norm(dim=1) / x.norm(dim=1)).max()), rtol=1e-4)
    for row, before in zip(rows[:3], base, strict=True):
        assert torch.equal(logits(model, tokenizer, row), before)


def logits(model, tokenizer, row):
    inputs = tokenizer(row["premise"], row["hypothesis"], return_tensors="pt")
    with torch.no_grad():
        return model(**inputs).logits


def test_typos_stand_out_on_a_real_model():
    from pidlib import load_model, load_nli
    from pidlib.data.perturbations import perturbed_rows

    model, tokenizer = load_model("minilm-nli")
    rows = load_nli("captions", split="train", n=150)
    typos = RandomEdits("typos")
    estimator = Estimator.fit(model, tokenizer, rows.select(range(100)), typos, layers=[0])
    fresh = [rows[k] for k in range(100, 150)]
    moved = [row for row, _ in perturbed_rows(fresh, typos, seed=3)]
    scores = [innovation_scores(model, tokenizer, part, estimator)[:, 0] for part in (fresh, moved)]
    assert auroc(*scores).low > 0.6
    detector = Detector.fit(model, tokenizer, rows.select(range(100)), estimator)
    found = [detector.score(model, tokenizer, part) for part in (fresh, moved)]
    assert abs(found[0].mean()) < 1 < found[1].mean()  # of one state the order is the same
    assert np.isclose(auroc(*found).auroc, auroc(*scores).auroc)


def test_doubt_is_what_the_answer_leaves(tiny):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(6)
    found = doubt(model, tokenizer, rows, batch_size=4)
    for row, one in zip(rows, found, strict=True):
        answers = logits(model, tokenizer, row).softmax(-1)
        assert np.isclose(one, 1 - float(answers.max()), atol=1e-6)


def test_the_area_is_that_of_mann_and_whitney():
    random = np.random.default_rng(0)
    a, b = random.integers(0, 9, 40), random.integers(2, 11, 60)
    found = auroc(a, b)
    assert np.isclose(found.auroc, mannwhitneyu(b, a).statistic / (40 * 60))
    assert found.low < found.auroc < found.high
    assert np.isclose(auroc(b, a).auroc, 1 - found.auroc)
    assert auroc([1.0] * 5, [1.0] * 5).auroc == 0.5


def test_bad_input_is_named(tiny):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(12)
    with pytest.raises(ValueError, match="0 clean"):
        auroc([], [1.0])
    with pytest.raises(ValueError, match="finite"):
        auroc([np.nan], [1.0])
    estimator = Estimator.fit(model, tokenizer, rows, EDITS, layers=[0])
    with pytest.raises(ValueError, match="1 rows; give at least 2"):
        Detector.fit(model, tokenizer, rows[:1], estimator)
    from pidlib.pid import PIDController

    still = PIDController.fit(
        model, tokenizer, rows, c=float("inf"), variance=0.8, correct_only=False
    )
    with pytest.raises(ValueError, match="controls no state"):
        innovation_scores(model, tokenizer, rows, still)
