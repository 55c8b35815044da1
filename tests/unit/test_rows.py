"""Rows of text of every common kind, taken as one mapping a row or refused by name."""

import numpy as np
import pandas
import pytest
import torch
from datasets import Dataset, DatasetDict

from pidlib.data.edits import row_hash
from pidlib.data.labels import LABELS
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.data.rows import as_rows, stream_rows

PLAIN = [
    {"premise": "A dog runs.", "hypothesis": "An animal moves.", "label": 0},
    {"premise": "A man sits.", "hypothesis": "A man stands.", "label": 2},
    {"premise": "A man sits.", "hypothesis": "A man is tired.", "label": 1},
]
TEXTS = [{key: row[key] for key in ("premise", "hypothesis")} for row in PLAIN]


def labelled(of):
    return [row | {"label": of(row["label"])} for row in PLAIN]


KINDS = {
    "data set": lambda: Dataset.from_list(PLAIN),
    "slice of a data set": lambda: Dataset.from_list(PLAIN)[:],
    "torch format": lambda: Dataset.from_list(PLAIN).with_format("torch"),
    "slice in torch format": lambda: Dataset.from_list(PLAIN).with_format("torch")[:],
    "numpy format": lambda: Dataset.from_list(PLAIN).with_format("numpy"),
    "pandas format": lambda: Dataset.from_list(PLAIN).with_format("pandas")[:],
    "stream": lambda: Dataset.from_list(PLAIN).to_iterable_dataset(),
    "data frame": lambda: pandas.DataFrame(PLAIN, index=[7, 3, 5]),
    "tuple": lambda: tuple(PLAIN),
    "generator": lambda: iter(PLAIN),
    "keys of pipelines": lambda: [
        {"text": row["premise"], "text_pair": row["hypothesis"], "label": row["label"]}
        for row in PLAIN
    ],
    "names": lambda: labelled(lambda k: LABELS[k].capitalize()),
    "tensors": lambda: labelled(torch.tensor),
    "tensors of one number": lambda: labelled(lambda k: torch.tensor([k])),
    "numbers of numpy": lambda: labelled(np.int64),
    "arrays": lambda: labelled(np.array),
    "whole floats": lambda: labelled(float),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_common_kind_gives_the_same_rows(kind):
    rows = as_rows(KINDS[kind](), LABELS)
    assert rows == PLAIN and all(type(row["label"]) is int for row in rows)
    assert [row_hash(row) for row in rows] == [row_hash(row) for row in PLAIN]
    assert [{key: row[key] for key in TEXTS[0]} for row in as_rows(KINDS[kind]())] == TEXTS


def test_rows_are_copies_and_other_columns_stay():
    given = [{"text": "A dog.", "source": 7}]
    (row,) = as_rows(given)
    row["text"] = "changed"
    assert given == [{"text": "A dog.", "source": 7}] and row["source"] == 7


def test_single_sentences():
    expected = [{"text": "A dog."}, {"text": "A man."}]
    for kind in (list, np.array, pandas.Series):
        assert as_rows(kind(["A dog.", "A man."])) == expected
    assert as_rows({"text": ["A dog.", "A man."]}) == expected
    assert as_rows([{"text": "A dog.", "text_pair": None}]) == [
        {"text": "A dog.", "text_pair": None}
    ]


def test_names_of_another_task():
    rows = as_rows([{"text": "fine", "label": "positive"}], ["negative", "positive"])
    assert rows[0]["label"] == 1


def test_a_stream_is_read_no_further_than_asked():
    def endless():
        yield from PLAIN
        raise AssertionError("read too far")

    assert next(stream_rows(endless(), LABELS)) == PLAIN[0]


def unlabelled(label):
    return lambda: [*PLAIN[:2], PLAIN[2] | {"label": label}]


WRONG = {
    "one text": (lambda: "A dog runs.", "the rows are one str, 'A dog runs.'; give a list"),
    "one row": (lambda: PLAIN[0], r"the rows are one mapping, .*give a list: \[row\]"),
    "splits": (
        lambda: DatasetDict(train=Dataset.from_list(PLAIN)),
        r"several splits, \['train'\]; give one: rows\['train'\]",
    ),
    "unlike columns": (lambda: {"text": ["a", "b"], "label": [0]}, "columns of unlike lengths"),
    "tuples": (lambda: [("a", "b", 0)], r"row 0 is a tuple, \('a', 'b', 0\); give mappings"),
    "numbers": (lambda: [1, 2], "row 0 is a int, 1; give mappings"),
    "other keys": (lambda: [{"sentence": "a"}], "row 0 has the keys .*needs 'premise'"),
    "other columns": (
        lambda: Dataset.from_list([{"sentence": "a"}]), r"rows\.rename_column\('sentence', 'text'\)"
    ),
    "a batch": (lambda: [{"text": ["a", "b"]}], "'text' of row 0 is a list, .*one a row"),
    "no text": (lambda: [PLAIN[0], PLAIN[1] | {"premise": None}], "'premise' of row 1 is a NoneType"),
    "none": (list, "there are no rows"),
    "no columns": (lambda: {"text": []}, "there are no rows"),
    "no label": (unlabelled(None), r"row 2 has no label; .*'entailment', 'neutral', 'contra"),
    "not a number": (unlabelled(float("nan")), "row 2 has no label"),
    "too large": (unlabelled(7), r"label 7 of row 2 is not one of 0\.\.2"),
    "unlabelled": (unlabelled(-1), "label -1 of row 2 .*leave them out"),
    "a half": (unlabelled(0.5), "label 0.5 of row 2"),
    "a truth": (unlabelled(True), "label True of row 2"),
    "a name": (unlabelled("maybe"), "label 'maybe' of row 2"),
    "two labels": (unlabelled(torch.tensor([0, 1])), r"is a Tensor of the shape \(2,\); give one"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_every_other_kind_is_refused_by_name(kind):
    rows, message = WRONG[kind]
    with pytest.raises(ValueError, match=message):
        as_rows(rows(), LABELS)


def test_a_row_without_a_word_is_left_as_it_is_and_named():
    rows = [{"text": "one two"}, {"text": "..."}, {"text": "three four"}]

    def shout(row, random):
        return {"text": row["text"].replace(".", "?").upper()}

    for perturb in (RandomEdits("typos"), shout):
        with pytest.warns(UserWarning, match=r"no word could change in the rows \[1\]"):
            changed = perturbed_rows(rows, perturb)
        assert changed[1] == (rows[1], ())
        assert changed[0][1] and changed[2][1]
    with pytest.raises(ValueError, match="none of the 1 rows has a word"):
        perturbed_rows(rows[1:2], shout)
