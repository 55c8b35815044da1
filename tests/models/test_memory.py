"""How much a memory of the state before adds: measured by two regressions on other text."""

from __future__ import annotations

import numpy as np
import pytest

from pidbook.analysis.memory import _states, memory_shares
from pidlib import load_model, load_nli
from pidlib.data.perturbations import RandomEdits, perturbed_rows


def test_on_a_real_model_a_memory_adds_next_to_nothing():
    rows = load_nli("captions", split="train", n=160)
    found = memory_shares(*load_model("minilm-nli"), rows, RandomEdits("typos"))
    assert [row["t"] for row in found] == [1, 2, 3, 4, 5]
    for row in found:
        assert row["alone"] < row["change"]
        assert abs(row["memory"] - row["alone"]) < 0.1 * row["alone"]


def test_only_words_whose_own_tokens_changed_are_counted(tiny):
    """A word in more pieces moves those after it to other places; they are not changed."""

    def longer(row, random):  # "dogcat" is unknown: one token; "dog cat cat" are three
        return {**row, "premise": row["premise"].replace("the", "a the", 1)}

    model, tokenizer = tiny.model("bert"), tiny.tokenizer()
    rows = [{"premise": "the dog sleeps in the park", "hypothesis": "a cat", "label": 0}] * 4
    changed = perturbed_rows(rows, longer)
    found = _states(model, tokenizer, rows, changed, range(4), 64)
    assert len(found.split) == 4 and found.split.all()
    assert all(len(state) == 4 for state in (*found.clean, *found.changed))
    unchanged = perturbed_rows(rows, lambda row, random: row)
    with pytest.raises(ValueError, match="no word of 4 rows was changed"):
        _states(model, tokenizer, rows, unchanged, range(4), 64)


def test_maps_by_class_are_regressions_of_their_own(tiny):
    """Words in one piece alone: then there is one class, and its map is that of all words."""
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(60)
    found = memory_shares(model, tokenizer, rows, RandomEdits({"swap": 1.0}, edits=2))
    assert all(row["classes"] == row["alone"] for row in found)


def test_the_size_of_a_batch_does_not_matter(tiny):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(60)
    edits = RandomEdits({"swap": 1.0}, edits=2)
    first, again = (memory_shares(model, tokenizer, rows, edits, batch_size=k) for k in (7, 64))
    for one, other in zip(first, again, strict=True):
        assert all(np.isclose(one[key], other[key], rtol=1e-3) for key in one)


def test_too_few_rows_are_refused(tiny):
    with pytest.raises(ValueError, match="3 rows; give at least 4"):
        memory_shares(tiny.model("bert"), tiny.tokenizer(), tiny.rows(3), RandomEdits("typos"))
