"""One-word edits follow their rules, and the recorded check agrees with itself."""

import pytest

from contents import RESULTS
from pidbook.evaluation.contrast import (
    KINDS,
    RESULT,
    TEXTS,
    Contrast,
    by_kind,
    edits_of,
    of_rows,
)
from pidbook.evaluation.contrast_rows import ENTAILED, before, contrasts, edited
from pidbook.evaluation.results import read_result
from pidbook.evaluation.trial_results import gains_over_none
from pidlib.attacks.wordnet import WordNet
from pidlib.data.nli import fingerprint, load_nli
from tests.conftest import write_wordnet


def row(premise, hypothesis, label=ENTAILED):
    return {"premise": premise, "hypothesis": hypothesis, "label": label}


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory):
    """Four nouns: an instrument, its two kinds, and a kind of one of them."""
    nouns = [
        ("instrument", {"~": [1, 2]}), ("guitar", {"@": [0], "~": [3]}), ("violin", {"@": [0]}),
        ("ukulele", {"@": [1]}),
    ]  # fmt: skip
    return WordNet(write_wordnet(tmp_path_factory.mktemp("wordnet"), {"noun": nouns}))


def made(rows, wordnet, ids=(0,), seed=0):
    """Edits of the hypothesis by kind."""
    found = contrasts(rows, ids, wordnet, seed)
    return {one.kind: one for one in found if one.text == "hypothesis"}


def test_a_number_grows_and_keeps_its_capital(wordnet):
    rows = [row("Three dogs run while ten look on .", "Three dogs run .")]
    for seed in range(20):
        one = made(rows, wordnet, seed=seed)["number"]
        assert one.word == 0 and one.replacement in "Four Five Six Seven Eight Nine".split()
    assert "number" not in made([row("Ten dogs run .", "Ten dogs run fast .")], wordnet)


RULES = [
    ("colour", "A red car .", "A red thing .", "blue green yellow black white brown pink "
     "purple"),  # no "a orange"
    ("colour", "A car .", "A red thing .", ""),  # the premise does not say it
    ("sex", "A man with his dog .", "A man is outside .", "woman"),
    ("sex", "A man and his daughter .", "A man is outside .", ""),  # the other is there too
    ("sex", "A person runs .", "A man is outside .", ""),
    ("action", "A cat sits and sleeps .", "A cat is sitting .", "standing lying kneeling "
     "running walking jumping swimming climbing"),
    ("action", "A cat rests .", "A cat is sitting .", ""),
    ("contrary", "A cat in a park .", "A cat is outside .", "inside indoors"),
    ("contrary", "A cat outside , one inside .", "A cat is outside .", "indoors"),
    ("thing", "He plays a guitar .", "It is a guitar .", "violin"),
    ("thing", "A guitar by a violin .", "It is a guitar .", ""),
    ("thing", "A violin and a ukulele .", "It is a violin .", ""),  # which is a guitar
    ("thing", "An instrument .", "It is an instrument .", ""),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "premise", "hypothesis", "allowed"), RULES)
def test_each_kind_takes_what_its_rule_allows(wordnet, kind, premise, hypothesis, allowed):
    spoken = [row(f"A violin , a guitar and an instrument {k} .", "", 1) for k in range(5)]
    rows = [row(premise, hypothesis), *spoken]
    seen = {
        one[kind].replacement for s in range(60) if kind in (one := made(rows, wordnet, seed=s))
    }
    assert seen == set(allowed.split())


def test_a_thing_has_to_be_common(wordnet):
    spoken = [row(f"A violin {k} .", "", 1) for k in range(5)]
    rows = [row("He plays a guitar .", "It is a guitar ."), *spoken]
    assert made(rows, wordnet)["thing"].replacement == "violin"
    assert "thing" not in made(rows[:5], wordnet)


def test_only_what_is_entailed_and_not_denied_is_edited(wordnet):
    for label in (1, 2):  # its premise beside itself is entailed all the same
        found = contrasts([row("Two men run .", "Two men walk .", label)], [0], wordnet)
        assert found and {one.text for one in found} == {"premise"}
    assert contrasts([row("Two men do not run .", "Two men .")], [0], wordnet) == []
    assert not made([row("Two men run .", "No two women run .")], wordnet)


def test_the_edits_hang_on_the_row_and_the_seed_only(wordnet):
    rows = [row("Two men sit in red cars .", "Two men are outside .") for _ in range(2)]
    rows.append(row("Four boys walk .", "Four boys walk outside ."))
    whole = contrasts(rows, range(3), wordnet)
    assert whole == contrasts(rows, range(3), wordnet)
    assert [one for one in whole if one.id == 2] == contrasts(rows, [2], wordnet)
    assert {one.id for one in whole} == {0, 2}  # the same pair is edited once
    others = [contrasts(rows, range(3), wordnet, seed) for seed in range(1, 6)]
    assert any(other != whole for other in others)
    pairs, changed = before(rows, whole), edited(rows, whole)
    for one, old, new in zip(whole, pairs, changed, strict=True):
        first, second = old["hypothesis"].split(), new["hypothesis"].split()
        assert old["premise"] == new["premise"] == rows[one.id]["premise"]
        assert sum(a != b for a, b in zip(first, second, strict=True)) == 1
        assert one.replacement in second and one.replacement not in old["premise"].split()


def test_edits_of_other_rows_are_refused(wordnet):
    with pytest.raises(ValueError, match="change word 9.*has 2 words"):
        edited([row("Two men .", "A man .")], [Contrast(0, "hypothesis", 9, "x", "thing")])


@pytest.fixture(scope="module")
def recorded():
    return read_result(RESULTS / RESULT)


def test_gains_by_kind_by_text_and_by_row_add_up(recorded):
    made = edits_of(recorded)
    for name in recorded["counts"].keys() - {"none"}:
        kinds, whole = by_kind(recorded, name), gains_over_none(recorded, name)["edited"]
        for group in (KINDS, TEXTS):
            assert sum(kinds[key].n for key in group) == len(made)
            assert sum(kinds[key].lost for key in group) == whole.lost
        assert of_rows(recorded, name).n == len({one.id for one in made})


def test_real_rows_are_the_recorded_ones(recorded, real_data):
    trial = recorded["configuration"]
    rows = [dict(one) for one in load_nli(trial["data"])]
    made, sets = edits_of(recorded), recorded["data"]["sets"]
    assert fingerprint(edited(rows, made)) == sets["edited"]["sha256"] == recorded["data"]["sha256"]
    assert fingerprint(before(rows, made)) == sets["before"]["sha256"]
    assert fingerprint(rows[trial["after"] :]) == sets["ordinary"]["sha256"]


def test_real_rows_give_the_recorded_edits(recorded, real_data, wordnet_files):
    trial, source = recorded["configuration"], WordNet(wordnet_files)
    rows, made = [dict(one) for one in load_nli(trial["data"])], edits_of(recorded)
    assert source.files_sha256 == recorded["data"]["wordnet"]
    assert contrasts(rows, range(trial["after"], len(rows)), source, trial["seed"]) == made
    assert {rows[one.id]["label"] for one in made if one.text == "hypothesis"} == {ENTAILED}
