"""The estimating control: attached, cut short, kept, refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from pidlib import load_controller
from pidlib.data.perturbations import RandomEdits
from pidlib.estimation.estimator import Estimator
from pidlib.evaluation.placebos import Placebo
from pidlib.pid import PIDController

EDITS = RandomEdits({"swap": 1.0, "drop": 1.0}, edits=2)


def fitted(tiny, kind="bert", **settings):
    model = tiny.model(kind)
    return model, Estimator.fit(model, tiny.tokenizer(), tiny.rows(30), EDITS, **settings)


def logits(model, inputs):
    with torch.no_grad():
        return model(**inputs).logits


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "gpt2", "opt"])
def test_attached_and_off_again(tiny, kind):
    model, estimator = fitted(tiny, kind)
    inputs = tiny.inputs(kind)
    base = logits(model, inputs)
    with estimator.attached(model):
        held = logits(model, inputs)
    assert not torch.allclose(base, held, atol=1e-3)
    assert torch.equal(logits(model, inputs), base)
    with pytest.raises(KeyError), estimator.attached(model):
        raise KeyError
    assert torch.equal(logits(model, inputs), base)


def test_of_a_user_s_own_function_and_without_labels(tiny):
    rows = [{"text": "the dog runs in the park"}, {"text": "a man sings"}] * 6

    def shouted(row, random):
        return {"text": row["text"].replace("a", "o")}

    estimator = Estimator.fit(tiny.model("bert"), tiny.tokenizer(), rows, shouted, layers=[1])
    assert estimator.controlled == (1,) and estimator.origin.rows == 12


@pytest.mark.parametrize("rule", ["regression", "wiener"])
def test_each_map_brings_perturbed_words_nearer_to_their_clean_form(rule):
    from pidlib import load_model, load_nli

    model, tokenizer = load_model("minilm-nli")
    rows = load_nli("captions", split="train", n=96)
    found = Estimator.fit(
        model, tokenizer, rows, RandomEdits("typos"), layers=[0, 3], rule=rule, rho=1.0
    )
    assert found.controlled == (0, 3)
    for row in found.diagnose():
        assert row["left"] < row["change"]
        assert 0 < row["clean"] < row["change"]


def test_the_fit_tells_the_error_of_its_own_words(tiny):
    from pidlib.data.alignment import paired_units
    from pidlib.data.perturbations import perturbed_rows
    from pidlib.hooks import read_states

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


def test_later_states_can_go_and_earlier_cannot(tiny):
    model, estimator = fitted(tiny, layers=[1, 2])
    short = estimator.up_to(1)
    assert short.controlled == (1,)
    _, alone = fitted(tiny, layers=[1])
    assert torch.equal(short.estimates[1].A, alone.estimates[1].A)
    with pytest.raises(ValueError, match="the first is 1"):
        estimator.up_to(0)


def test_kept_and_read_like_any_controller(tiny, tmp_path):
    model, estimator = fitted(tiny)
    estimator.save_pretrained(tmp_path)
    again = load_controller(tmp_path)
    assert isinstance(again, Estimator) and again.summary() == estimator.summary()
    assert again.diagnose() == estimator.diagnose()
    inputs = tiny.inputs("bert")
    with estimator.attached(model):
        expected = logits(model, inputs)
    with again.attached(model):
        assert torch.equal(logits(model, inputs), expected)
    with pytest.raises(ValueError, match="other weights"):
        with again.attached(tiny.model("bert", seed=9)):
            pass


def test_the_maps_are_carried_to_a_model_of_the_same_shape(tiny):
    model, estimator = fitted(tiny)
    other, inputs = tiny.model("bert", seed=9), tiny.inputs("bert")
    carried = estimator.carried_to(other)
    assert carried.sha256 == estimator.sha256 != estimator.up_to(0).sha256
    with pytest.raises(ValueError, match="other weights"), carried.attached(model):
        pass
    other.load_state_dict(model.state_dict())  # the maps act as before
    with estimator.attached(model), estimator.carried_to(other).attached(other):
        assert torch.equal(logits(model, inputs), logits(other, inputs))
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
            whole[rank] = logits(model, inputs)
    with estimator.attached(model):
        full = logits(model, inputs)
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
    card.write_text(json.dumps(told))
    file = next(tmp_path.glob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(ValueError, match="checksum"):
        load_controller(tmp_path)


def test_placebos_push_as_hard(tiny):
    model, estimator = fitted(tiny)
    inputs = tiny.inputs("bert")
    with estimator.attached(model):
        held = logits(model, inputs)
    with Placebo(estimator, "noise").attached(model):
        assert not torch.allclose(logits(model, inputs), held, atol=1e-3)


def test_each_method_has_its_own_door_and_one_reader_serves_both(tiny, tmp_path):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(20)
    estimator = Estimator.fit(model, tokenizer, rows, EDITS, layers=[0, 2])
    assert estimator.controlled == (0, 2) and estimator.rho == 0.5
    with pytest.raises(ValueError, match="Estimator.fit"):
        PIDController.fit(model, tokenizer, rows, law="terminal")
    controller = PIDController.fit(model, tokenizer, rows, correct_only=False)
    for kind, fitted in {"estimator": estimator, "pid": controller}.items():
        fitted.save_pretrained(tmp_path / kind)
        again = load_controller(tmp_path / kind)
        assert type(again) is type(fitted) and again.summary() == fitted.summary()
    with pytest.raises(ValueError, match="load_controller"):
        PIDController.from_pretrained(tmp_path / "estimator")


def test_bad_settings_are_named(tiny):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(10)
    fit = (model, tokenizer, rows, EDITS)
    with pytest.raises(ValueError, match="rho is -1"):
        Estimator.fit(*fit, rho=-1)
    with pytest.raises(ValueError, match="unknown rule 'kalman'"):
        Estimator.fit(*fit, rule="kalman")
    with pytest.raises(ValueError, match="no state 9"):
        Estimator.fit(*fit, layers=[9])
    with pytest.raises(ValueError, match="no layers"):
        Estimator.fit(*fit, layers=[])
    with pytest.raises(ValueError, match="no rows"):
        Estimator.fit(model, tokenizer, [], EDITS)
    _, estimator = fitted(tiny)
    with estimator.attached(model), pytest.raises(ValueError, match="uncontrolled model"):
        Estimator.fit(*fit)
    model.train()
    with pytest.raises(ValueError, match="training mode"):
        Estimator.fit(*fit)
