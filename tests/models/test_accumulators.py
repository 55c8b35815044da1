"""A fit that was broken off goes on, and ends with the same bits."""

from __future__ import annotations

import json

import pytest
import torch

from pidlib import PIDController
from pidlib.data.batches import batches
from pidlib.fitting import Accumulators
from pidlib.io.checkpoints import CARD, Checkpoint


def stream(tiny, size=4):
    return batches(tiny.tokenizer(), tiny.rows(22), size)


def broken(parts, after):
    """A stream that fails after some batches."""
    for k, part in enumerate(parts):
        if k == after:
            raise KeyboardInterrupt
        yield part


def fit(tiny, parts, **settings):
    return PIDController.from_batches(tiny.model("bert"), parts, correct_only=False, **settings)


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_broken_off_anywhere_it_ends_with_the_same_bits(tiny, tmp_path, after):
    whole = fit(tiny, stream(tiny))
    keep = Checkpoint(tmp_path / "sums", {"data": "x"}, every=0)
    with pytest.raises(KeyboardInterrupt):
        fit(tiny, broken(stream(tiny), after), checkpoint=keep)
    again = fit(tiny, stream(tiny), checkpoint=Checkpoint(tmp_path / "sums", {"data": "x"}, 0))
    for term in whole.bases.values:
        assert torch.equal(whole.bases.values[term], again.bases.values[term])
        assert torch.equal(whole.bases.vectors[term], again.bases.vectors[term])
    assert whole.origin == again.origin


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


def test_nothing_kept_is_a_fresh_start(tmp_path):
    begun = Accumulators.begin(Checkpoint(tmp_path, {}), {}, "PID")
    assert begun.counts == Accumulators().counts
