"""What changes text before a model reads it: an encoding by synonyms, any function of a text."""

from copy import deepcopy

import pytest
import torch

from pidbook.estimation import AgreedCandidates, NormalisedTokenizer, SynonymEncoding, word_counts
from pidlib import load_nli
from pidlib.attacks import candidates
from pidlib.attacks.attack import attack
from pidlib.attacks.outcomes import transfer_rows
from pidlib.evaluation.accuracy import right_answers

LEXICON = candidates("lexicon")
ENCODING = SynonymEncoding(word_counts(["a dog and a canine", "a dog runs"]), LEXICON, 4)


def mended(text: str) -> str:
    return text.replace("huond", "hound").replace("wmoan", "woman").replace("hh", "h")


@pytest.fixture(scope="module")
def victim(minilm):
    return minilm.model, NormalisedTokenizer(minilm.tokenizer, mended)


def test_words_of_a_group_are_written_alike():
    assert ENCODING("A Canine, a hound") == "A Dog, a dog" == ENCODING("A Dog, a hound")
    assert ENCODING.groups()["dog"] == ("dog", "canine")
    assert AgreedCandidates(LEXICON, LEXICON).synonyms("dog") == LEXICON.synonyms("dog")


def test_a_corrector_comes_before_the_encoding(victim):
    plain = victim[1].tokenizer
    nested = NormalisedTokenizer(NormalisedTokenizer(plain, ENCODING), mended)
    assert nested("A huond runs.")["input_ids"] == plain("A dog runs.")["input_ids"]


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
    rows[0]["hypothesis"] = rows[0]["hypothesis"].replace("h", "hh", 1) + " Nhhow."
    outcomes = attack(*victim, rows, recipe, "lexicon")
    moved = transfer_rows(rows, outcomes)
    kinds = [row["kind"] for row in moved]
    assert right_answers(*victim, moved).tolist() == [kind == "failed" for kind in kinds]
    assert right_answers(*victim, rows).tolist() == [kind != "skipped" for kind in kinds]
    assert any(outcome.edits for outcome in outcomes)
