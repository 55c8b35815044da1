"""The caption pairs, their rules of inference and their lexicon."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from experiments.captions.generator import SIZES, _sum, captions, scenes
from experiments.captions.scenes import infer, kind_relation, plausible
from pidlib.data.lexicon import FORMS, Lexicon
from pidlib.data.nli import SPLITS, fingerprint, load_nli

GIRL = {"subject": "girl", "number": 1, "action": "v:sleep", "place": "park"}
TWO = {"subject": "girl", "number": 2, "action": "v:feed", "object": "duck"}


@pytest.mark.parametrize(
    ("premise", "hypothesis", "label"),
    [
        (GIRL, {"subject": "child", "number": 1}, 0),
        (GIRL, {"subject": "person", "number": 1, "action": "v:rest"}, 0),
        (GIRL, {"subject": "girl", "number": 1, "place": "outdoors"}, 0),
        (GIRL, {"subject": "girl", "number": 1, "action": "v:sleep", "company": "friend"}, 1),
        (GIRL, {"subject": "girl", "number": 1, "garment": ("coat", "red")}, 1),
        (GIRL, {"subject": "girl", "number": 1, "action": "v:run"}, 2),
        (GIRL, {"subject": "dog", "number": 1, "action": "v:sleep"}, 2),
        (GIRL, {"subject": "girl", "number": 1, "place": "kitchen"}, 2),
        (GIRL, {"subject": "girl", "number": 1, "place": "indoors"}, 2),
        (GIRL, {"subject": "girl", "number": 1, "place": "garden"}, None),
        (TWO, {"subject": "child", "number": 0, "action": "v:feed", "object": "bird"}, 0),
        (TWO, {"subject": "girl", "number": 3, "action": "v:feed"}, 2),
        (TWO, {"subject": "child", "number": 3, "action": "v:feed"}, None),
        (TWO, {"subject": "girl", "number": 1, "action": "v:feed"}, None),
        (TWO, {"subject": "girl", "number": 2, "action": "v:feed", "object": "horse"}, 2),
        (
            {**GIRL, "garment": ("coat", "red")},
            {"subject": "girl", "number": 1, "garment": ("coat", "blue")},
            2,
        ),
        (
            {**GIRL, "garment": ("coat", "red")},
            {"subject": "girl", "number": 1, "garment": ("hat", "blue")},
            1,
        ),
        (
            {"subject": "puppy", "number": 1, "trait": "big"},
            {"subject": "dog", "number": 1, "trait": "big"},
            None,
        ),
    ],
)
def test_rules_of_inference(premise, hypothesis, label):
    assert infer(premise, hypothesis) == label


@pytest.mark.parametrize(
    ("known", "asked", "relation"),
    [
        ("puppy", "animal", 0),
        ("animal", "puppy", 1),
        ("doctor", "woman", 1),
        ("doctor", "chef", 2),
        ("woman", "girl", None),
        ("apple", "food", 0),
        ("boat", "vehicle", 0),
        ("soup", "stew", None),
        ("farm", "barn", None),
        ("beach", "indoors", 2),
    ],
)
def test_kinds(known, asked, relation):
    assert kind_relation(known, asked) == relation


def test_implausible_scenes():
    assert not plausible({**GIRL, "sky": "sunny", "place": "kitchen"})
    assert not plausible({"subject": "girl", "number": 1, "action": "v:drive", "object": "car"})
    assert not plausible({"subject": "girl", "number": 2, "company": "alone"})
    assert not plausible({"subject": "dog", "number": 1, "garment": ("hat", None)})
    assert not plausible({"subject": "girl", "number": 1, "trait": "old"})


def test_sizes_keys_and_balance_of_prefixes():
    rows = captions("validation", n=500)
    assert {tuple(row) for row in rows} == {("premise", "hypothesis", "label")}
    for n in (3, 100, 301, len(rows)):
        counts = Counter(row["label"] for row in rows[:n])
        assert max(counts.values()) - min(counts.values()) <= 1


def test_prefixes_are_stable_and_seeds_differ():
    assert captions("test", n=200)[:5] == captions("test", n=5) != captions("test", n=5, seed=1)


def test_rows_are_the_same_on_every_python():
    """Stored attacks know their rows by hash; a rounded tie once chose another premise."""
    digest = hashlib.sha256(json.dumps(captions("test", n=1000)).encode()).hexdigest()
    assert digest == "29d9d5ae62dc6e891b8bafb2e5697e879a15c1103b330e2d55490cdbd4c7c243"
    assert _sum([1e16, 1.0, -1e16]) == 0.0  # sum gives 1.0 from Python 3.12 on


@pytest.mark.parametrize("split", SPLITS)
def test_what_ships_is_what_the_generator_makes(split):
    assert load_nli("captions", split, 500).to_list() == captions(split, 500)


def test_all_that_ships_is_as_it_was_recorded():
    """Adapters, controllers and results name their captions by these hashes."""
    assert SPLITS == tuple(SIZES)
    rows = {split: load_nli("captions", split) for split in SPLITS}
    assert {split: len(of) for split, of in rows.items()} == SIZES
    assert {split: fingerprint(of)[:16] for split, of in rows.items()} == {
        "train": "7381cb6bc9ee67a9",
        "validation": "9a4106d4d62fbb9e",
        "test": "7eb19726ace68350",
    }


def test_every_hypothesis_occurs_once_under_each_label():
    rows = captions("test", n=180 * 3)
    labels = {}
    for row in rows:
        labels.setdefault(row["hypothesis"], []).append(row["label"])
    assert all(sorted(found) == [0, 1, 2] for found in labels.values())


def test_english_form():
    for row in load_nli("captions", "train", 1500):
        for text in (row["premise"], row["hypothesis"]):
            assert re.fullmatch(r"[A-Z][a-z]*,? [a-z ,]+\.", text), text
            assert not re.search(r"\ba [aeiou]|\ban [^aeiou]|  ", text.lower()), text
            assert not re.search(r"\b(\w+) \1\b", text), text


def test_labels_follow_from_the_scenes():
    for split in SPLITS:
        for row in scenes(split, n=900):
            assert infer(row["premise_scene"], row["hypothesis_scene"]) == row["label"]


def test_order_does_not_depend_on_the_hash_seed():
    code = (
        "import hashlib, json\nfrom experiments.captions.generator import captions\n"
        "rows = [captions(s, n=60) for s in ('train', 'validation', 'test')]\n"
        "print(hashlib.sha256(json.dumps(rows).encode()).hexdigest())"
    )
    here = [captions(s, n=60) for s in ("train", "validation", "test")]
    digest = hashlib.sha256(json.dumps(here).encode()).hexdigest()
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.strip() == digest


def test_no_word_has_two_meanings():
    owners = {}
    for name, entry in Lexicon.load().concepts.items():
        for form in FORMS:
            for word in entry.get(form, []):
                assert owners.setdefault(word, (name, form)) == (name, form), word


def test_synonyms_are_symmetric_single_words_in_the_same_inflection():
    lexicon = Lexicon.load()
    for word in lexicon.words:
        for other in lexicon.synonyms(word):
            assert re.fullmatch("[a-z]+", other)
            assert word in lexicon.synonyms(other)
    for name, entry in lexicon.concepts.items():
        if entry["kind"] == "verb":
            assert all(word.endswith("ing") or name == "v:sit" for word in entry["ing"])
            assert len(entry.get("participle", entry["ing"])) == len(entry["ing"])


def test_lexicon_names_are_known():
    lexicon = Lexicon.load()
    for entry in lexicon.concepts.values():
        for key in ("parents", "subjects", "objects", "places"):
            assert set(entry.get(key, [])) <= set(lexicon.concepts)


def test_captions_leave_synonyms_for_the_attack():
    lexicon = Lexicon.load()
    used = Counter()
    for row in load_nli("captions", "train", 1500):
        used.update(re.findall("[a-z]+", f"{row['premise']} {row['hypothesis']}".lower()))
    content = {word: k for word, k in used.items() if word in lexicon.words}
    unseen = {word for word in lexicon.words if word not in used}
    swappable = sum(k for word, k in content.items() if set(lexicon.synonyms(word)) & unseen)
    assert swappable / sum(content.values()) > 0.6
