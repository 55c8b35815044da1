"""Scenes survive synonym swaps, splits share no text, and nothing shallow tells the label."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pidlib.data.lexicon import FORMS, Lexicon
from pidlib.data.nli import SPLITS, load_nli

LEXICON = Lexicon.load()
WORN = ("in", "wearing", "sporting")
PARTS = ("premise", "hypothesis")
NUMBERS = {"a": 1, "an": 1, "some": 0, "two": 2, "three": 3, "four": 4}


CONCEPTS = {
    word: name
    for name, entry in LEXICON.concepts.items()
    for form in FORMS
    for word in entry.get(form, [])
}


def concept(word):
    """Name of the concept of a word, or None."""
    return CONCEPTS.get(word.lower())


class Reader:
    """Reads a caption back into its scene, by the forms of its sentences."""

    def __init__(self, text):
        front, _, body = text.lower().rstrip(".").rpartition(", ")
        self.words, self.scene = body.split(), {}
        if "being" in self.words:
            self.passive()
        else:
            self.active()
        self.tail()
        self.words = front.split()
        self.tail()

    def kind(self, place=0):
        word = self.words[place] if place < len(self.words) else ""
        name = concept(word)
        return name, (LEXICON.concepts[name] if name else {})

    def take(self, *words):
        if self.words and self.words[0] in words:
            return self.words.pop(0)
        return None

    def noun_phrase(self):
        number, quality = NUMBERS.get(self.take(*NUMBERS), 1), None
        if self.kind()[1].get("kind") == "adjective":
            quality = self.kind()[0]
            self.words.pop(0)
        name, entry = self.kind()
        assert entry["kind"] == "noun", self.words
        self.words.pop(0)
        return name, number, quality

    def set(self, **facts):
        self.scene.update({slot: value for slot, value in facts.items() if value is not None})

    def subject(self):
        name, number, trait = self.noun_phrase()
        self.set(subject=name, number=number, trait=trait)
        self.dressed()

    def dressed(self):
        if len(self.words) > 1 and self.words[0] in WORN and self.words[1] != "the":
            self.words.pop(0)
            name, _, colour = self.noun_phrase()
            self.scene["garment"] = (name, colour)

    def thing(self):
        name, number, quality = self.noun_phrase()
        self.set(object=name, quality=quality, count_object=None if number == 1 else number)

    def manner(self):
        if self.kind()[1].get("kind") == "adverb" and self.kind()[0] != "alone":
            self.scene["manner"] = self.kind()[0]
            self.words.pop(0)

    def action(self):
        name, entry = self.kind()
        if entry.get("kind") == "verb":
            self.scene["action"] = name
            self.words.pop(0)
            return True
        return False

    def active(self):
        self.take("there")
        self.take("is", "are")
        self.subject()
        self.take("is", "are")
        self.dressed()
        self.manner()
        if self.action() and self.kind()[1].get("kind") in ("noun", "adjective"):
            self.thing()
        elif "action" in self.scene and self.words and self.words[0] in NUMBERS:
            self.thing()
        self.manner()

    def passive(self):
        self.thing()
        self.take("is", "are")
        self.take("being")
        self.manner()
        assert self.action() and self.take("by")
        self.subject()

    def tail(self):
        while self.words:
            word = self.words.pop(0)
            if word == "with":
                self.scene["company"] = self.noun_phrase()[0]
            elif word == "on" and self.words[0] in ("a", "an"):
                self.scene["sky"] = concept(self.words[1])
                del self.words[:3]
            elif word in ("in", "at", "on"):
                assert self.take("the")
                self.scene["place"] = concept(self.words.pop(0))
            else:
                slot = "company" if concept(word) == "alone" else "place"
                self.scene[slot] = concept(word)
                assert self.scene[slot] in ("alone", "indoors", "outdoors"), word


@cache
def _first(split):
    return load_nli("captions", split, 600).to_list()


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 599), st.sampled_from(SPLITS), st.data())
def test_scenes_survive_synonym_swaps(k, split, data):
    """The label is that of the scenes, whatever the words."""
    row = _first(split)[k]
    for part in PARTS:
        words = row[part].rstrip(".").split()
        for place, word in enumerate(words):
            others = LEXICON.synonyms(word.rstrip(","))
            if others and data.draw(st.booleans()):
                words[place] = data.draw(st.sampled_from(others)) + ("," if "," in word else "")
        assert Reader(" ".join(words)).scene == Reader(row[part]).scene


def test_splits_are_distinct_and_balanced_and_share_no_text():
    texts = {}
    for split in SPLITS:
        found = load_nli("captions", split).to_list()
        assert len({(row["premise"], row["hypothesis"]) for row in found}) == len(found)
        counts = np.bincount([row["label"] for row in found])
        assert counts.max() - counts.min() <= 1
        texts[split] = {row[part] for row in found for part in PARTS}
    for a, b in combinations(SPLITS, 2):
        assert not texts[a] & texts[b]


def _words(text):
    return text.lower().replace(",", "").rstrip(".").split()


def _overlap(row):
    p, h = _words(row["premise"]), _words(row["hypothesis"])
    known, asked = set(p), set(h)
    pairs, asked_pairs = set(zip(p, p[1:], strict=False)), set(zip(h, h[1:], strict=False))
    both, stems = len(known & asked), {word[:4] for word in p}
    return [
        both,
        len(asked - known),
        len(known - asked),
        both / len(asked),
        both / len(known | asked),
        len(asked_pairs - pairs),
        len({word[:4] for word in h} - stems),
    ]


def _lengths(row):
    p, h = row["premise"], row["hypothesis"]
    words = len(p.split()), len(h.split())
    return [*words, words[0] - words[1], len(p), len(h), len(p) - len(h), words[1] / words[0]]


@cache
def _features():
    """Sparse feature blocks of 9,000 train and 3,000 test pairs, with their labels."""
    sets = [
        load_nli("captions", split, n).to_list() for split, n in (("train", 9000), ("test", 3000))
    ]
    blocks = {}
    for name, take in (("overlap", _overlap), ("length", _lengths)):
        blocks[name] = tuple(np.array([take(row) for row in found], float) for found in sets)
    for part in ("premise", "hypothesis"):
        bag = CountVectorizer(ngram_range=(1, 2), min_df=2)
        first = bag.fit_transform([row[part] for row in sets[0]])
        blocks[part] = first, bag.transform([row[part] for row in sets[1]])
    return blocks, tuple(np.array([row["label"] for row in found]) for found in sets)


def _score(classifier, block):
    (train, test), (y, z) = block, _features()[1]
    return classifier.fit(train, y).score(test, z)


def _linear():
    return LogisticRegression(C=0.1, max_iter=300)


@pytest.mark.parametrize("name", ["hypothesis", "premise"])
def test_one_text_alone_does_not_tell_the_label(name):
    assert _score(_linear(), _features()[0][name]) < 0.5


@pytest.mark.parametrize("name", ["overlap", "length"])
def test_overlap_and_lengths_do_not_tell_the_label(name):
    block = _features()[0][name]
    tree = DecisionTreeClassifier(max_depth=5, min_samples_leaf=20, random_state=0)
    assert _score(make_pipeline(StandardScaler(), _linear()), block) < 0.5
    assert _score(tree, block) < 0.5


def test_all_shallow_features_together_stay_weak():
    blocks = _features()[0]
    dense = [np.hstack([blocks["overlap"][k], blocks["length"][k]]) for k in range(2)]
    scale = StandardScaler().fit(dense[0])
    joined = [
        hstack([blocks["premise"][k], blocks["hypothesis"][k], csr_matrix(scale.transform(d))])
        for k, d in enumerate(dense)
    ]
    assert _score(_linear(), [matrix.tocsr() for matrix in joined]) < 0.55
