"""A fit that was broken off goes on, and ends with the same bits."""

import json

import pytest

from pidlib import PIDController
from pidlib.data.batches import batches
from pidlib.io.checkpoints import CARD, Checkpoint


def stream(tiny, size=4):
    return batches(tiny.tokenizer(), tiny.rows(22), size)


def fit(tiny, parts, **settings):
    return PIDController.from_batches(tiny.model("bert"), parts, correct_only=False, **settings)


def test_a_fit_of_another_kind_is_refused_and_named(tiny, tmp_path):
    fit(tiny, stream(tiny), checkpoint=Checkpoint(tmp_path, {"data": "x"}, every=0))
    with pytest.raises(ValueError, match="'x' there, 'y' now"):
        fit(tiny, stream(tiny), checkpoint=Checkpoint(tmp_path, {"data": "y"}))
    with pytest.raises(ValueError, match="terms: 'PD' there, 'PID' now"):
        fit(tiny, stream(tiny), terms="PID", checkpoint=Checkpoint(tmp_path, {"data": "x"}))
    other = tiny.model("bert", seed=5)
    with pytest.raises(ValueError, match="blocks"):
        PIDController.from_batches(
            other, stream(tiny), correct_only=False, checkpoint=Checkpoint(tmp_path, {"data": "x"})
        )


def test_changed_or_foreign_sums_are_refused(tiny, tmp_path):
    fit(tiny, stream(tiny), checkpoint=Checkpoint(tmp_path, {"data": "x"}, every=0))
    (sums,) = tmp_path.glob("sums-*")
    card = tmp_path / CARD
    kept, text = sums.read_bytes(), card.read_text()
    sums.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    keep = Checkpoint(tmp_path, {"data": "x"})
    with pytest.raises(ValueError, match="checksum mismatch"):
        fit(tiny, stream(tiny), checkpoint=keep)
    for wrong in ("{", "[]", json.dumps(json.loads(text) | {"tokens": {}})):
        sums.write_bytes(kept)
        card.write_text(wrong)
        with pytest.raises(ValueError, match="delete it"):
            fit(tiny, stream(tiny), checkpoint=keep)
    keep.clear()
    assert not tmp_path.exists()
