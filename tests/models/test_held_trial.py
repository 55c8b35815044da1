"""Answers on the held-out pairs, row by row: they are those that the choice of a control counted."""

from __future__ import annotations

from pathlib import Path

import pytest

import experiments.words.contrast as contrast
import experiments.words.held as held_trial
from experiments.experiment import record
from experiments.trial import WIENER, fit_rows, held_rows
from experiments.words.held import HeldTrial
from pidlib.attacks.synonyms import words_for
from pidlib.data.perturbations import RandomEdits
from pidlib.estimation.selection import choose
from pidlib.evaluation.results import read_result
from pidlib.evaluation.trial_results import answers
from pidlib.models import load_model

RESULTS = Path(__file__).parents[2] / "book" / "results"
ESTIMATES = "Wiener both", "Terminal both"


def test_the_closed_form_answers_as_it_did_when_it_was_chosen(tmp_path, real_data, monkeypatch):
    held = held_rows("snli-test").select(range(12))
    monkeypatch.setattr(held_trial, "held_rows", lambda data: held)
    monkeypatch.setitem(contrast.ESTIMATED_ON, WIENER, 40)
    result = record(HeldTrial(), tmp_path, tmp_path / "runs", lambda _: None)
    assert list(result["counts"]) == ["none", "P-D 99 %", "Terminal both", "Wiener both"]
    edits = RandomEdits("both", source=words_for("both", "ppdb"))
    tried = choose(
        *load_model("minilm-nli"), fit_rows("snli-test", 40), held, edits, rhos=[2.0]
    ).tried
    for name, setting in (("none", tried[0]), ("Wiener both", tried[-1])):
        for key in ("clean", "perturbed"):
            bits = answers(result, name, key)
            assert len(bits) == 12 and bits.mean() == pytest.approx(getattr(setting, key))


@pytest.mark.parametrize("key", ["clean", "perturbed"])
def test_the_recorded_answers_are_those_that_the_trial_counted(key):
    held = read_result(RESULTS / "held-snli-minilm-nli.json")
    chosen = read_result(RESULTS / "wiener-snli-test-minilm-nli.json")["selection"]
    for name in ESTIMATES:
        bare, *tried = chosen[name]
        assert answers(held, "none", key).mean() == pytest.approx(bare[key])
        at = held["configuration"]["rho"] if name.startswith("Wiener") else 1.0
        (shipped,) = [one for one in tried if (one["rho"], one["last"]) == (at, 5)]
        assert answers(held, name, key).mean() == pytest.approx(shipped[key])
