"""Order of labels, and text as batches."""

from types import SimpleNamespace

import numpy as np
import pytest

from pidlib.data.batches import batches, texts
from pidlib.data.labels import LABELS, check_labels, label_order
from pidlib.io.embedded import embedded_folder
from tests.conftest import refusals

PAIR = {"premise": "A dog runs.", "hypothesis": "An animal moves.", "label": 0}


def named(*names):
    return SimpleNamespace(id2label=dict(enumerate(names)))


def test_order_of_labels_puts_columns_in_ours():
    for names in (LABELS, ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), ("neutral", *LABELS[::2])):
        order = label_order(named(*names))
        assert tuple(names[k].lower() for k in order) == LABELS


def test_placeholders_are_refused_and_other_tasks_kept():
    with pytest.raises(ValueError, match="set model.config.id2label"):
        label_order(named("LABEL_0", "LABEL_1", "LABEL_2"))
    assert label_order(named("negative", "positive")) == [0, 1]
    assert label_order(named("LABEL_0", "LABEL_1")) == [0, 1]  # three alone may be ours


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(embedded_folder())


def test_each_row_stands_once_longest_first(tokenizer):
    rows = [PAIR | {"premise": "dog " * (k + 1), "label": k % 3} for k in range(23)]
    seen = list(batches(tokenizer, rows, batch_size=5))
    places = np.concatenate([batch.indices for batch in seen])
    assert sorted(places) == list(range(23)) and places[0] == 22
    widths = [batch.inputs["input_ids"].shape[1] for batch in seen]
    assert widths == sorted(widths, reverse=True)
    for batch in seen:
        assert batch.labels.tolist() == [rows[k]["label"] for k in batch.indices]
        assert batch.inputs["attention_mask"].sum(1).max() == batch.inputs["input_ids"].shape[1]


def test_long_text_is_cut_and_counted(tokenizer):
    rows = [PAIR, PAIR | {"premise": "dog " * 400}]
    seen = list(batches(tokenizer, rows, max_length=32))
    assert sum(batch.truncated for batch in seen) == 1
    assert max(batch.inputs["input_ids"].shape[1] for batch in seen) == 32


def test_single_sentences_and_rows_without_labels(tokenizer):
    (batch,) = batches(tokenizer, [{"text": "fine"}, {"text": "not so fine"}])
    assert batch.labels is None and batch.inputs["input_ids"].shape[0] == 2


BAD_INPUT = [
    (lambda: texts([]), "there are no rows"),
    (lambda: texts([{"sentence": "a"}]), "row 0 has the keys"),
    (lambda: texts([PAIR, {"text": "a"}]), "give one kind"),
    (lambda: next(batches(None, [PAIR], batch_size=0)), "batch_size is 0"),
    *((lambda k=k: check_labels([0, k]), "of row 1 is not one") for k in (-1, 3, 1.5, True)),
]


test_bad_input_is_named = refusals(BAD_INPUT)
