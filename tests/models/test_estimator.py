"""The estimating control: attached, cut short, kept, refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from pidlib import load_controller, load_model, load_nli
from pidlib.data.alignment import paired_units
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.estimation.estimator import Estimator
from pidlib.evaluation.placebos import Placebo
from pidlib.hooks import read_states
from pidlib.pid import PIDController

EDITS = RandomEdits({"swap": 1.0, "drop": 1.0}, edits=2)


def fitted(tiny, kind="bert", **settings):
    model = tiny.model(kind)
    return model, Estimator.fit(model, tiny.tokenizer(), tiny.rows(30), EDITS, **settings)


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "gpt2", "opt"])
def test_attached_and_off_again(tiny, kind):
    model, estimator = fitted(tiny, kind)
    inputs = tiny.inputs(kind)
    base = tiny.answer(model, inputs)
    with estimator.attached(model):
        held = tiny.answer(model, inputs)
    assert not torch.allclose(base, held, atol=1e-3)
    assert torch.equal(tiny.answer(model, inputs), base)


@pytest.mark.parametrize("rule", ["regression", "wiener"])
def test_each_map_brings_perturbed_words_nearer_to_their_clean_form(rule):
    rows, how = load_nli("captions", split="train", n=96), {"rule": rule, "rho": 1.0}
    found = Estimator.fit(*load_model("minilm-nli"), rows, RandomEdits("typos"), [0, 3], **how)
    assert found.controlled == (0, 3)
    for row in found.diagnose():
        assert row["left"] < row["change"]
        assert 0 < row["clean"] < row["change"]


def test_the_fit_tells_the_error_of_its_own_words(tiny):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(30)
    one = Estimator.fit(model, tokenizer, rows, EDITS, layers=[1]).estimates[1]
    changed = perturbed_rows(rows, EDITS)
    clean, moved = paired_units(tokenizer, rows, [e for _, e in changed], [r for r, _ in changed])
    both = clean.whole & moved.whole
    with torch.no_grad():
        x = clean.means(read_states(model, clean.inputs).values[1])[both]
        p = moved.means(read_states(model, moved.inputs).values[1])[both]
    error = (p @ one.A.T + one.b - x).pow(2).sum(1).mean()
    assert np.isclose(one.fit.after, float(error), rtol=1e-4)
    assert np.isclose(one.fit.before, float((p - x).pow(2).sum(1).mean()), rtol=1e-4)
    assert one.fit.words == int(both.sum())


def test_kept_and_read_like_any_controller(tiny, tmp_path):
    model, estimator = fitted(tiny)
    estimator.save_pretrained(tmp_path)
    again = load_controller(tmp_path)
    assert isinstance(again, Estimator) and again.summary() == estimator.summary()
    assert again.diagnose() == estimator.diagnose()
    inputs = tiny.inputs("bert")
    with estimator.attached(model):
        expected = tiny.answer(model, inputs)
    with again.attached(model):
        assert torch.equal(tiny.answer(model, inputs), expected)
    with pytest.raises(ValueError, match="load_controller"):
        PIDController.from_pretrained(tmp_path)
    with pytest.raises(ValueError, match="Estimator.fit"):
        tiny.fit(model, law="terminal")


def test_the_maps_are_carried_to_a_model_of_the_same_shape(tiny):
    model, estimator = fitted(tiny)
    other, inputs = tiny.model("bert", seed=9), tiny.inputs("bert")
    carried = estimator.carried_to(other)
    assert carried.sha256 == estimator.sha256
    with pytest.raises(ValueError, match="other weights"), carried.attached(model):
        pass
    other.load_state_dict(model.state_dict())  # the maps act as before
    with estimator.attached(model), estimator.carried_to(other).attached(other):
        assert torch.equal(tiny.answer(model, inputs), tiny.answer(other, inputs))
    for change in ({"num_hidden_layers": 2}, {"hidden_size": 32}):
        with pytest.raises(ValueError, match="states of width"):
            estimator.carried_to(tiny.model("bert", **change))


def test_of_a_rank_the_strongest_directions_stay(tiny):
    model, estimator = fitted(tiny)
    inputs, width, whole = tiny.inputs("bert"), estimator.origin.width, {}
    for rank in (1, 4, width):
        thin = estimator.of_rank(rank)
        assert thin.rank == rank
        for t, estimate in thin.estimates.items():
            sizes = torch.linalg.svdvals(estimator.estimates[t].step)
            left_out = torch.linalg.matrix_norm(estimate.step - estimator.estimates[t].step)
            assert float(left_out) == pytest.approx(float(sizes[rank:].norm()), abs=1e-5)
        with thin.attached(model):
            whole[rank] = tiny.answer(model, inputs)
    with estimator.attached(model):
        full = tiny.answer(model, inputs)
    assert torch.allclose(whole[width], full, atol=1e-4)
    assert not torch.allclose(whole[1], full, atol=1e-4)
    for rank in (0, width + 1, 2.0):
        with pytest.raises(ValueError, match=f"rank is {rank}"):
            estimator.of_rank(rank)


def test_foreign_and_changed_files_are_refused(tiny, tmp_path):
    _, estimator = fitted(tiny)
    estimator.save_pretrained(tmp_path)
    card = tmp_path / "controller.json"
    told = json.loads(card.read_text())
    for wrong in ({"fits": {}}, {"fits": {"0": {"words": 1}}}, {"format": "pidlib-controller"}):
        card.write_text(json.dumps(told | wrong))
        with pytest.raises(ValueError, match=r"incomplete|not a controller"):
            load_controller(tmp_path)


def test_placebos_push_as_hard(tiny):
    model, estimator = fitted(tiny)
    inputs = tiny.inputs("bert")
    with estimator.attached(model):
        held = tiny.answer(model, inputs)
    with Placebo(estimator, "noise").attached(model):
        assert not torch.allclose(tiny.answer(model, inputs), held, atol=1e-3)


def test_bad_settings_are_named(tiny):
    model, rows = tiny.model("bert"), tiny.rows(10)
    for settings, message in (
        ({"rho": -1}, "rho is -1"),
        ({"rule": "kalman"}, "unknown rule 'kalman'"),
        ({"layers": [9]}, "no state 9"),
        ({"layers": []}, "no layers"),
        ({"rows": []}, "no rows"),
    ):
        given = {"rows": rows} | settings
        with pytest.raises(ValueError, match=message):
            Estimator.fit(model, tiny.tokenizer(), perturbed=EDITS, **given)
    with tiny.fit(model).attached(model), pytest.raises(ValueError, match="uncontrolled model"):
        Estimator.fit(model, tiny.tokenizer(), rows, EDITS)
    with pytest.raises(ValueError, match="training mode"):
        Estimator.fit(model.train(), tiny.tokenizer(), rows, EDITS)
