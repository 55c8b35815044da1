"""Answers on fresh pairs, row by row: where another run asked the same, they are its answers."""

from __future__ import annotations

from pathlib import Path

import pytest

import experiments.words.contrast as contrast
import experiments.words.fresh as fresh_trial
from experiments.experiment import record
from experiments.rows import fit_rows
from experiments.trial import WIENER
from experiments.words.fresh import FreshTrial
from pidbook.evaluation.results import read_result
from pidbook.evaluation.trial_results import answers
from pidlib.attacks.synonyms import words_for
from pidlib.data.nli import load_nli
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.estimation.estimator import Estimator
from pidlib.evaluation.accuracy import right_answers
from pidlib.models import load_model

pytestmark = pytest.mark.usefixtures("small_fits")

RESULTS = Path(__file__).parents[2] / "book" / "results"


def test_the_answers_are_those_of_the_closed_form(tmp_path, real_data, wordnet_files, monkeypatch):
    rows = load_nli("snli-test").select(range(8))
    monkeypatch.setattr(fresh_trial, "load_nli", lambda data: rows)
    monkeypatch.setitem(contrast.ESTIMATED_ON, WIENER, 12)
    monkeypatch.setattr(contrast, "TUNED_ON", 16)
    trial = FreshTrial(after=2, rho=2.0)
    result = record(trial, tmp_path, tmp_path / "runs", lambda _: None)
    names = "none", "P-D 99 %", "Terminal both", "Wiener both", "Wiener both, 16 rows"
    assert tuple(result["counts"]) == names
    model, tokenizer = load_model("minilm-nli")
    edits = RandomEdits("both", source=words_for("both", "ppdb"))
    pairs = [dict(row) for row in rows][2:]
    sets = {"clean": pairs, "perturbed": [row for row, _ in perturbed_rows(pairs, edits, 1)]}
    for name, n in zip(names[3:], (12, 16), strict=True):
        fitted = Estimator.fit(model, tokenizer, fit_rows("snli-test", n), edits, rho=2.0)
        for key, part in sets.items():
            with fitted.attached(model):
                expected = right_answers(model, tokenizer, part)
            assert (answers(result, name, key) == expected).all()


@pytest.mark.parametrize(("key", "other"), [("clean", "ordinary"), ("edited", "edited")])
@pytest.mark.parametrize("name", ["none", "P-D 99 %", "Terminal both"])
def test_recorded_answers_are_those_of_the_trial_of_meanings(name, key, other):
    fresh = read_result(RESULTS / "fresh-snli-minilm-nli.json")
    heard = read_result(RESULTS / "contrast-snli-minilm-nli.json")
    assert (answers(fresh, name, key) == answers(heard, name, other)).all()
