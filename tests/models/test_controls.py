"""Controls that ship: found, of the adapter that ships, refused elsewhere."""

import json
import shutil

import pytest

import pidlib.estimation.pretrained as door
from pidbook.evaluation.trial_results import stored_rows
from pidlib import load_nli
from pidlib.estimation.pretrained import controls, fit_record, load_control
from pidlib.evaluation.accuracy import right_answers
from pidlib.models import training_record


def test_a_control_is_of_the_adapter_that_ships_and_says_what_it_learnt_from():
    assert "minilm-nli-terminal" in controls()
    for name in controls():
        record = fit_record(name)
        assert record["adapter_sha256"] == training_record(record["model"])["adapter"]["sha256"]
        assert record["data"]["licence"] and record["command"].startswith("python -m pidlib")


def test_it_brings_back_attacked_text_that_it_never_saw(minilm, request):
    rows = load_nli("captions", split="test", n=1000)
    results = request.config.rootpath / "book" / "results"
    attacked = stored_rows(rows, "captions", "textbugger", results, "minilm-nli")[:100]
    clean = rows.select(range(100))
    bare = [right_answers(*minilm, part).mean() for part in (clean, attacked)]
    with load_control("minilm-nli-terminal", minilm.model).attached(minilm.model):
        held = [right_answers(*minilm, part).mean() for part in (clean, attacked)]
    assert held[1] > bare[1] + 0.1 and held[0] > bare[0] - 0.1


def test_another_model_adapter_or_name_is_refused(minilm, tiny, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="unknown control 'x'; known"):
        load_control("x", minilm.model)
    with pytest.raises(ValueError, match=r"give load_model\('minilm-nli'\)"):
        load_control("minilm-nli-terminal", tiny.model("bert"))
    shutil.copytree(door.CONTROLS, tmp_path / "controls")
    card = tmp_path / "controls" / "minilm-nli-terminal" / "fit.json"
    card.write_text(json.dumps(fit_record() | {"adapter_sha256": "0" * 64}))
    monkeypatch.setattr(door, "CONTROLS", tmp_path / "controls")
    with pytest.raises(ValueError, match="another training of 'minilm-nli'"):
        load_control("minilm-nli-terminal", minilm.model)
