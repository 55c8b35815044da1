"""What a control is compared with: mended text."""

from __future__ import annotations

import sys
from copy import deepcopy

import pytest
import torch
from hypothesis import given, strategies as st

from pidbook.estimation import NormalisedTokenizer, spelling
from pidbook.estimation.spelling import SpellingNormaliser
from pidlib import load_model, load_nli
from pidlib.attacks.attack import attack
from pidlib.attacks.outcomes import transfer_rows
from pidlib.data.edits import word_spans
from pidlib.evaluation.accuracy import right_answers


@pytest.fixture(scope="module")
def mend():
    return SpellingNormaliser(known=["Selfie"])


@pytest.fixture(scope="module")
def victim(mend):
    model, tokenizer = load_model("minilm-nli")
    return model, NormalisedTokenizer(tokenizer, mend)


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("A wmoan plays thhe guitarr.", "A woman plays the guitar."),
        ("Wmoan!  'Chidlren'", "Woman!  'Children'"),
        ("the m\u0430n's d\u043eg", "the man's dog"),
        ("x o 2nd b1ke 4x4 ... ?", "x o 2nd b1ke 4x4 ... ?"),
        ("she isn't, isn\u2019t, is n't; he doessn't", "she isn't, isn\u2019t, is n't; he doesn't"),
        ("a bicylce-riderr's selfie", "a bicycle-rider's selfie"),
        ("MEN ARE HERE qzxvkjqz", "MEN ARE HERE qzxvkjqz"),
    ],
)
def test_words_are_mended(mend, text, mended):
    assert mend(text) == mended
    assert mend(mended) == mended


def test_the_nearest_word_wins_and_then_the_most_frequent(mend):
    frequent = spelling.speller().words
    assert mend("hosue") == "house"  # one swap, though "some" is more frequent
    assert mend("thee") == "thee" and "thee" in frequent  # a word is a word
    assert mend("wter") == "water" and frequent["water"] > frequent["wader"]


@given(st.text(alphabet="abehinorst\u0430\u0435 '-_*@.,2X\u2019", max_size=40))
def test_words_keep_their_number_and_what_is_between_them(text):
    made = SpellingNormaliser()(text)

    def gaps(of):
        spans = [(0, 0), *word_spans(of), (len(of), len(of))]
        return [of[a[1] : b[0]] for a, b in zip(spans, spans[1:], strict=False)]

    assert gaps(made) == gaps(text)


def test_bad_known_words_and_a_missing_library_are_named(monkeypatch):
    with pytest.raises(ValueError, match="the string 'selfie'"):
        SpellingNormaliser(known="selfie")
    monkeypatch.setitem(sys.modules, "symspellpy", None)
    with pytest.raises(ImportError, match="pip install symspellpy"):
        spelling.speller.__wrapped__()


def test_the_tokenizer_reads_every_form_of_text_normalised(victim):
    _, both = victim
    plain = both.tokenizer
    bad, good = ("A wmoan runs.", "Thhe dog"), ("A woman runs.", "The dog")
    one = {"padding": True, "return_tensors": "pt"}
    for given_text, right in [
        (bad[:1], good[:1]),
        (bad, good),
        ([list(bad)], [list(good)]),
        ([[bad, bad[::-1]]], [[good, good[::-1]]]),
        ([list(bad), list(bad)], [list(good), list(good)]),
    ]:
        assert torch.equal(both(*given_text, **one)["input_ids"], plain(*right, **one)["input_ids"])
    assert both.encode(*bad) == plain.encode(*good)
    assert both.tokenize(bad[0]) == plain.tokenize(good[0])
    assert both("a dog", None)["input_ids"] == plain("a dog")["input_ids"]
    assert both.pad_token == plain.pad_token and both.is_fast and len(both) == len(plain)
    assert deepcopy(both)(bad[0])["input_ids"] == plain(good[0])["input_ids"]
    with pytest.raises(ValueError, match="normalise the rows"):
        both("a dog", return_offsets_mapping=True)
    with pytest.raises(AttributeError, match="shout"):
        both.shout  # noqa: B018


@pytest.mark.parametrize("recipe", ["textbugger", "a2t"])
def test_an_attack_sees_what_the_judge_sees(victim, recipe):
    rows = [dict(row) for row in load_nli("captions", split="train", n=3)]
    rows[0]["hypothesis"] = rows[0]["hypothesis"].replace("is", "iss", 1) + " Nnow."
    outcomes = attack(*victim, rows, recipe, "lexicon")
    moved = transfer_rows(rows, outcomes)
    kinds = [row["kind"] for row in moved]
    assert right_answers(*victim, moved).tolist() == [kind == "failed" for kind in kinds]
    assert right_answers(*victim, rows).tolist() == [kind != "skipped" for kind in kinds]
    assert any(outcome.edits for outcome in outcomes)
