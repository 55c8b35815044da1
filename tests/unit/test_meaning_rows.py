"""Pairs that keep entailment, pairs whose words overlap, and biases that are fitted anew."""

import re

import numpy as np
import pytest

from experiments.scripts.control_laws import is_right, refit
from pidbook.estimation.detection import auc
from pidbook.evaluation.kept_rows import kept_pairs
from pidbook.evaluation.overlap_rows import TEMPLATES, overlap_pairs
from pidbook.evaluation.sister_rows import are_apart, sisters
from pidlib.attacks.wordnet import WordNet


def words(text):
    return re.findall(r"\w+", text.lower())


def test_a_hypothesis_of_a_template_holds_words_of_its_premise_only():
    kept, lost = overlap_pairs(50, seed=1)
    assert len(kept) == len(lost) == 50
    assert {row["kind"] for row in kept} == set(TEMPLATES)
    for yes, no in zip(kept, lost, strict=True):
        assert yes["premise"] == no["premise"] and yes["hypothesis"] != no["hypothesis"]
        own = set(words(yes["premise"])) | {"saw"}  # of the passive: seen
        assert set(words(yes["hypothesis"])) | set(words(no["hypothesis"])) <= own
    assert overlap_pairs(50, seed=1) == (kept, lost) != overlap_pairs(50, seed=2)


def test_one_word_becomes_wider_or_a_number_smaller(wordnet_files):
    wordnet, sides = WordNet(wordnet_files), ("Three men walk a dog.", "Men walk the dog.")
    dogs = {"premise": sides[0], "hypothesis": sides[1], "label": 0}
    denied = {"premise": "No man walks a dog.", "hypothesis": "Nobody walks the dog.", "label": 0}
    seen = {"premise": "A person sees the animal of Ann.", "hypothesis": "x", "label": 1}
    rows = [dogs, denied, *(seen | {"premise": f"{seen['premise']} {k}"} for k in range(5))]
    found = [pair for seed in range(8) for pair in kept_pairs(rows, [0, 1], wordnet, seed)]
    assert found[: len(found) // 8] == kept_pairs(rows, [0, 1], wordnet, 0)
    for pair in found:
        assert pair["id"] == 0 and pair["label"] == 0  # the denied pair is left out
        new = words(pair["hypothesis"])
        old = [words(text) for text in sides if len(words(text)) == len(new)]
        assert 1 in [sum(a != b for a, b in zip(new, text, strict=True)) for text in old]
    assert "smaller" in {pair["kind"] for pair in found}


def test_a_noun_becomes_a_sister_of_its_group_and_nothing_wider(wordnet_files):
    wordnet = WordNet(wordnet_files)
    groups = {"instrument": ("instrument", "guitar", "violin"), "dog": ("dog", "hound")}
    row = {"premise": "A boy shows a guitar to a dog.", "hypothesis": "x", "label": 1}
    both = {"premise": "A boy has a guitar, a girl a violin.", "hypothesis": "x", "label": 1}
    rows = [row, both, row | {"premise": "Nobody shows a guitar."}]
    (edit,) = sisters(rows, range(3), wordnet, groups, seed=0)
    assert edit[:2] == (0, "premise") and edit.replacement == "violin"
    assert sisters(rows, [0], wordnet, groups, seed=0) == [edit]
    assert are_apart("guitar", "violin", wordnet)
    persons = ("boy", "girl")
    for pair in (("guitar", "instrument"), ("hound", "dog"), ("dog", "dog"), persons):
        assert not are_apart(*pair, wordnet)


def test_biases_and_a_temperature_are_found_again():
    random = np.random.default_rng(0)
    logits = 2 * random.standard_normal((4000, 3))
    shift = np.array([1.0, -0.5, 0.0])
    shares = np.exp(0.7 * logits + shift)
    shares /= shares.sum(axis=1, keepdims=True)
    labels = np.array([random.choice(3, p=share) for share in shares])
    first, second, log_temperature = refit(logits, labels)
    assert first == pytest.approx(1.0, abs=0.15) and second == pytest.approx(-0.5, abs=0.15)
    assert np.exp(log_temperature) == pytest.approx(0.7, abs=0.06)


def test_where_entailment_was_lost_any_other_answer_is_right():
    logits = np.array([[2.0, 0, 0], [0, 2, 0], [0, 0, 2]])
    rows = [{"label": 0}] * 3
    assert is_right(logits, rows, lost=False).tolist() == [True, False, False]
    assert is_right(logits, rows, lost=True).tolist() == [False, True, True]


def test_the_area_counts_pairs_that_stand_in_order():
    assert auc(np.array([0.1, 0.2]), np.array([0.3, 0.4])) == 1.0
    assert auc(np.array([0.3, 0.4]), np.array([0.1, 0.2])) == 0.0
    assert auc(np.array([1.0]), np.array([1.0])) == 0.5
