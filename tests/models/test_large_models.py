"""Models that do not fit: half precision, maps of devices, weights on disk, text as a stream."""

import pytest
import torch
from accelerate import cpu_offload, disk_offload, dispatch_model
from datasets import IterableDataset

from pidlib import Estimator, PIDController
from pidlib.data.batches import WINDOW, batches, encode
from pidlib.evaluation.accuracy import right_answers


@pytest.fixture
def fitted(tiny):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(24)
    found = PIDController.fit(model, tokenizer, rows, variance=0.7, correct_only=False)
    return found, tiny.answer(model, encode(tokenizer, rows), found)


@pytest.mark.parametrize("where", ["map", "memory", "disk"])
def test_weights_may_lie_elsewhere(tiny, fitted, tmp_path, where):
    found, wanted = fitted
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(24)
    if where == "map":
        model = dispatch_model(model, {"": "cpu"})
    elif where == "memory":
        cpu_offload(model, execution_device="cpu")
    else:
        disk_offload(model, str(tmp_path), execution_device="cpu")
    elsewhere = any(p.is_meta for p in model.parameters())
    assert elsewhere == (where != "map")
    with found.attached(model):
        assert torch.equal(tiny.answer(model, encode(tokenizer, rows)), wanted)
        right = right_answers(model, tokenizer, rows)
    plain = tiny.model("bert")
    with found.attached(plain):
        assert (right == right_answers(plain, tokenizer, rows)).all()
    again = PIDController.fit(model, tokenizer, rows, variance=0.7, correct_only=False)
    assert again.origin == found.origin
    assert all(torch.equal(v, again.bases.values[i]) for i, v in found.bases.values.items())


def test_a_stream_is_fitted_as_the_rows_are(tiny):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(300)
    stream = IterableDataset.from_generator(lambda: iter(rows))
    settings = {"variance": 0.7, "batch_size": 4, "correct_only": False}
    whole = PIDController.fit(model, tokenizer, rows, **settings)
    again = PIDController.fit(model, tokenizer, stream, **settings)
    assert whole.origin == again.origin
    for term, values in whole.bases.values.items():  # sums in another order: to rounding
        assert torch.allclose(values, again.bases.values[term], rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match=r"list\(rows.take\(2000\)\)"):
        Estimator.fit(model, tokenizer, stream, str.lower, rule="terminal")


def test_a_stream_is_read_no_further_than_a_window(tiny):
    rows, tokenizer, taken = tiny.rows(3 * WINDOW), tiny.tokenizer(), []

    def watched():
        for row in rows:
            taken.append(row)
            yield row

    parts = batches(tokenizer, watched(), batch_size=1)
    places = [int(next(parts).indices[0]) for _ in range(3)]
    assert len(taken) == WINDOW and set(places) < set(range(WINDOW))
    places += [int(part.indices[0]) for part in parts]
    assert sorted(places) == list(range(len(rows)))
    one = [part.inputs["input_ids"].tolist() for part in batches(tokenizer, iter(rows[:9]), 4)]
    assert one == [part.inputs["input_ids"].tolist() for part in batches(tokenizer, rows[:9], 4)]
