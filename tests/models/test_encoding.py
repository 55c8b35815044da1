"""An encoding by groups of synonyms, before the tokenizer of a model."""

from __future__ import annotations

from pidbook.estimation import AgreedCandidates, NormalisedTokenizer, SynonymEncoding, word_counts
from pidlib.attacks import candidates
from pidlib.models import load_model

LEXICON = candidates("lexicon")
ENCODING = SynonymEncoding(word_counts(["a dog and a canine", "a dog runs"]), LEXICON, 4)


def test_words_of_a_group_are_written_alike():
    assert ENCODING("A Canine, a hound") == "A Dog, a dog" == ENCODING("A Dog, a hound")
    assert ENCODING.groups()["dog"] == ("dog", "canine")
    assert AgreedCandidates(LEXICON, LEXICON).synonyms("dog") == LEXICON.synonyms("dog")


def test_a_corrector_comes_before_the_encoding():
    tokenizer = load_model("minilm-nli").tokenizer

    def mended(text: str) -> str:
        return text.replace("huond", "hound")

    nested = NormalisedTokenizer(NormalisedTokenizer(tokenizer, ENCODING), mended)
    assert nested("A huond runs.")["input_ids"] == tokenizer("A dog runs.")["input_ids"]
