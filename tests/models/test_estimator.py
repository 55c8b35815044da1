"""The estimating control: attached, cut short, kept, refused."""

import json

import pytest
import torch

from pidlib import load_controller, load_model, load_nli
from pidlib.data.perturbations import RandomEdits
from pidlib.estimation.estimator import Estimator
from pidlib.evaluation.placebos import Placebo
from pidlib.pid import PIDController

EDITS = RandomEdits({"swap": 1.0, "drop": 1.0}, edits=2)


def fitted(tiny, kind="bert", **settings):
    model = tiny.model(kind)
    return model, Estimator.fit(model, tiny.tokenizer(), tiny.rows(30), EDITS, **settings)


@pytest.mark.parametrize("rule", ["regression", "wiener"])
def test_each_map_brings_perturbed_words_nearer_to_their_clean_form(rule):
    rows, how = load_nli("captions", split="train", n=96), {"rule": rule, "rho": 1.0}
    found = Estimator.fit(*load_model("minilm-nli"), rows, RandomEdits("typos"), [0, 3], **how)
    assert found.controlled == (0, 3)
    for row in found.diagnose():
        assert row["left"] < row["change"]
        assert 0 < row["clean"] < row["change"]


def test_kept_and_read_like_any_controller(tiny, tmp_path):
    model, estimator = fitted(tiny)
    estimator.save_pretrained(tmp_path)
    again = load_controller(tmp_path)
    assert isinstance(again, Estimator) and again.summary() == estimator.summary()
    assert again.diagnose() == estimator.diagnose()
    inputs = tiny.inputs("bert")
    expected = tiny.answer(model, inputs, estimator)
    assert torch.equal(tiny.answer(model, inputs, again), expected)
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
        whole[rank] = tiny.answer(model, inputs, thin)
    full = tiny.answer(model, inputs, estimator)
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
    held = tiny.answer(model, inputs, estimator)
    noisy = tiny.answer(model, inputs, Placebo(estimator, "noise"))
    assert not torch.allclose(noisy, held, atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rho": -1, "rule": "regression"}, "rho is -1"),
        ({"rule": "kalman"}, "unknown rule 'kalman'"),
        ({"layers": [9]}, "no state 9; there are 0 to 2"),
        ({"layers": []}, "no layers to correct"),
        ({"rows": []}, "no rows"),
        ({"epochs": 0}, "epochs 0"),
        ({"rate": 0.0}, "rate 0.0"),
        ({"rho": 0.0}, "rho 0.0"),
        ({"skip_first": -1}, "skip_first is -1; give a number of positions"),
        ({"skip_first": 1.5}, "skip_first is 1.5"),
        ({"rank": 0}, "rank is 0; give a number from 1 to 16, or None"),
        ({"rank": 17}, "rank is 17"),
        ({"rank": 2, "rule": "regression"}, "'regression' has maps of full rank"),
    ],
)
def test_bad_settings_are_named(tiny, settings, message):
    given = {"rows": tiny.rows(10), "rule": "terminal"} | settings
    with pytest.raises(ValueError, match=message):
        Estimator.fit(tiny.model("bert"), tiny.tokenizer(), perturbed=EDITS, **given)


def test_a_model_that_is_controlled_or_trained_is_refused(tiny):
    model, rows = tiny.model("bert"), tiny.rows(10)
    with tiny.fit(model).attached(model), pytest.raises(ValueError, match="uncontrolled model"):
        Estimator.fit(model, tiny.tokenizer(), rows, EDITS)
    with pytest.raises(ValueError, match="training mode"):
        Estimator.fit(model.train(), tiny.tokenizer(), rows, EDITS)
