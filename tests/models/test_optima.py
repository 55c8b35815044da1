"""Analytic and optimal controls on the same rows: names, answers, costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import experiments.pmp as optima
from experiments.experiment import record
from experiments.pmp import PontryaginTrial, conditions, judge
from pidbook.evaluation.results import read_result
from pidbook.evaluation.trial_results import unpack
from pidlib.evaluation.accuracy import right_answers
from pidlib.pid import PIDController


@pytest.fixture(scope="module")
def setup(tiny):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(14)
    return (
        model,
        tokenizer,
        rows,
        PIDController.from_batches(model, tiny.answered(model), scheme="PID"),
    )


TRIAL = PontryaginTrial(n=14, sweeps=5, thresholds=(0.9, 0.8), c=0.1)


def test_every_law_is_compared_under_the_loss_it_was_made_for(setup):
    made = conditions(setup[3], TRIAL)
    names = {"none", "averaged", "PMP"}
    assert set(made) == {
        f"{name} {v} {loss}"
        for v in (90, 80)
        for loss, own in (("relaxed", {"exact-gain", "shrunk"}), ("running", {"residual"}))
        for name in names | own
    }
    assert {p.sweeps for name, p in made.items() if name.startswith("PMP")} == {5}
    assert {p.sweeps for name, p in made.items() if not name.startswith("PMP")} == {0}
    gains = made["shrunk 90 relaxed"].controller.gains
    assert gains == {"P": pytest.approx(0.36), "D": pytest.approx(0.36)}


def test_each_of_several_prices_has_every_control(setup):
    once = conditions(setup[3], replace(TRIAL, thresholds=(0.9,)))
    laws = conditions(setup[3], replace(TRIAL, thresholds=(0.9,), prices=(0.1, 10.0)))
    priced = {name.replace("90", f"90 c={c}") for name in once for c in ("0.1", "10")}
    assert set(laws) == priced and replace(TRIAL, prices=(1.0,)).name == f"{TRIAL.name}-prices"
    for name, control in laws.items():
        assert control.controller.c == (0.1 if "c=0.1" in name else 10)


def answers(cell):
    return unpack(cell["right"], cell["n"])


def test_answers_are_those_of_the_control_and_costs_fall(setup):
    model, tokenizer, rows, fitted = setup
    made = conditions(fitted, TRIAL)
    for name in ("averaged 80 relaxed", "residual 80 running"):
        with made[name].controller.attached(model):
            expected = right_answers(model, tokenizer, rows)
        found = judge(model, tokenizer, rows, made[name], batch_size=4)
        assert (answers(found) == expected).all() and len(found["costs"]) == 1
    none = judge(model, tokenizer, rows, made["none 80 relaxed"])
    assert (answers(none) == right_answers(model, tokenizer, rows)).all()
    for loss, law in (("relaxed", "exact-gain"), ("running", "residual")):
        best = judge(model, tokenizer, rows, made[f"PMP 80 {loss}"])
        start = judge(model, tokenizer, rows, made[f"{law} 80 {loss}"])
        assert len(best["costs"]) == 6 and best["costs"][0] == pytest.approx(start["costs"][0])
        assert (np.diff(best["costs"]) <= 0).all() and best["costs"][-1] < start["costs"][-1]


def test_the_run_writes_a_whole_file_and_goes_on(setup, tiny, tmp_path, monkeypatch):
    model, tokenizer, rows, fitted = setup

    monkeypatch.setattr(optima, "load_model", lambda name: (model, tokenizer))
    monkeypatch.setattr(optima, "load_nli", lambda *a, **k: rows)
    monkeypatch.setattr(optima, "stored_rows", lambda *a: rows)
    monkeypatch.setattr(optima, "fit_rows", lambda *a: rows)
    monkeypatch.setattr(optima.PIDController, "fit", lambda *a, **k: fitted)
    trial = PontryaginTrial(n=6, sweeps=2, thresholds=(0.8,), c=0.1)
    said = []
    first = record(trial, tmp_path / "results", tmp_path / "runs", said.append)
    assert len(said) == 9 * 5
    monkeypatch.setattr(optima, "judge", lambda *a: 1 / 0)  # nothing is judged again
    again = record(trial, tmp_path / "results", tmp_path / "runs", said.append)
    assert again["counts"] == first["counts"]
    result = read_result(tmp_path / "results" / "pmp-snli-test-minilm-nli.json")
    assert "shrunk 80 relaxed" in result["examples"] and "shrunk 80 relaxed" not in result["costs"]
    bits = unpack(result["examples"]["PMP 80 running"]["pso"], 6)
    assert result["counts"]["PMP 80 running"]["pso"] == {"right": int(bits.sum()), "n": 6}


def test_sets_of_unequal_size_are_refused(setup, tmp_path, monkeypatch):
    rows = setup[2]
    monkeypatch.setattr(optima, "load_nli", lambda *a, **k: rows)
    monkeypatch.setattr(
        optima, "stored_rows", lambda rows, data, recipe, *a: rows[: 3 if recipe == "pso" else 9]
    )
    for n in (4, 0):
        with pytest.raises(ValueError, match=rf"n is {n} .*'pso': 3.*take from 1 to 3"):
            record(PontryaginTrial(n=n), tmp_path, tmp_path, lambda line: None)
    assert not list(tmp_path.iterdir())
