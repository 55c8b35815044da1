"""Random edits: what they change, how often, and a user's own."""

import difflib

import numpy as np
from hypothesis import given, strategies as st

from pidlib.attacks.synonyms import candidates
from pidlib.data.edits import Edit, word_spans
from pidlib.data.perturbations import CHANGES, TYPOS, RandomEdits, perturbed_rows
from tests.conftest import refusals

ROW = {"premise": "A man in red rides a bicycle.", "hypothesis": "The man is outside.", "label": 0}


def words(text):
    return [text[a:b] for a, b in word_spans(text)]


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(TYPOS), edits=st.integers(1, 4))
def test_each_typo_changes_so_many_words_by_one_letter(seed, kind, edits):
    made = RandomEdits({kind: 1.0}, edits)(ROW, np.random.default_rng(seed))
    assert len(made) == len({(e.column, e.word) for e in made}) <= edits
    for edit in made:
        old = words(ROW[edit.column])[edit.word]
        same = difflib.SequenceMatcher(None, old, edit.replacement, False)
        kept = sum(block.size for block in same.get_matching_blocks())
        assert edit.replacement != old and kept >= len(old) - 1
        assert abs(len(edit.replacement) - len(old)) <= 1


def test_kinds_come_as_often_as_their_weights_say():
    source = candidates("lexicon")
    perturb = RandomEdits({"split": 3.0, "drop": 1.0}, edits=1)
    made = [perturb(ROW, np.random.default_rng(k))[0].replacement for k in range(800)]
    drops = sum(new == "" for new in made)
    assert all(new == "" or " " in new for new in made) and abs(drops - 200) < 60
    both = RandomEdits("both", 2, source)
    assert set(both.weights) == set(CHANGES) - {"drop"}
    assert both.weights["synonym"] == sum(both.weights[kind] for kind in TYPOS)


def test_synonyms_keep_the_case_and_come_from_the_source():
    source = candidates("lexicon")
    row = {"text": "Man rides bicycle"}
    for seed in range(20):
        for edit in RandomEdits("synonyms", 1, source)(row, np.random.default_rng(seed)):
            old = words(row["text"])[edit.word]
            assert edit.replacement.lower() in source.synonyms(old.lower())
            assert edit.replacement[:1].isupper() == old[:1].isupper()


def test_rows_are_changed_alike_whatever_stands_before_them():
    perturb = RandomEdits("typos", 2)
    one = perturbed_rows([ROW, ROW, ROW], perturb, seed=3)
    other = perturbed_rows([{**ROW, "premise": "x"}, ROW, ROW], perturb, seed=3)
    assert other[1:] == one[1:] and one[1] != one[2]
    assert perturbed_rows([ROW], perturb, seed=4) != one[:1]
    assert one[0][0]["label"] == 0


def test_a_function_of_ones_own_may_return_a_row_or_edits():
    def shout(row, random):
        return {"hypothesis": row["hypothesis"].replace("outside", "OUT SIDE")}

    (row, edits), *_ = perturbed_rows([ROW], shout)
    assert edits == (Edit("hypothesis", 3, "OUT SIDE"),)
    assert row["premise"] == ROW["premise"] and row["hypothesis"] == "The man is OUT SIDE."
    (row, edits), *_ = perturbed_rows([ROW], lambda row, random: [("premise", 0, "One")])
    assert row["premise"].startswith("One man")


BAD_SETTINGS = [
    (lambda: RandomEdits(mix="noise"), "unknown mix 'noise'"),
    (lambda: RandomEdits(mix={"shuffle": 1.0}), "unknown kind of edit 'shuffle'"),
    (lambda: RandomEdits(mix={"swap": 0.0}), "one above 0"),
    (lambda: RandomEdits(mix={}), "one above 0"),
    (lambda: RandomEdits(edits=0), "0 edits"),
    (lambda: RandomEdits(mix="synonyms"), "need a source"),
]


test_bad_settings_are_named = refusals(BAD_SETTINGS)


def answering(answer):
    return lambda: perturbed_rows([ROW], lambda row, random: answer)


BAD_ANSWERS = [
    (answering(None), "returned NoneType for row 0"),
    (answering("text"), "returned str"),
    (answering({"label": 1}), "return the text of"),
    (answering({"premise": "words in another order"}), "not the original with words replaced"),
    (answering([("premise", 99, "x")]), "which has 7 words"),
]
test_bad_answers_of_a_users_function_are_named = refusals(BAD_ANSWERS)
