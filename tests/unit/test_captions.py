"""The caption pairs that ship, and their lexicon."""

import re

from pidlib.data.lexicon import Lexicon
from pidlib.data.nli import SPLITS, fingerprint, load_nli

SIZES = {"train": 20_000, "validation": 2_000, "test": 5_000}


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
