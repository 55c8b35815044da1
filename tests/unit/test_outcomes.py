"""Edits, outcomes and their file: exact text, resume, refusal."""

import json
import random

import pytest

from pidlib.attacks.outcomes import Outcome, OutcomeLog, attack_table, read_outcomes, transfer_rows
from pidlib.data.edits import Edit, find_edits, rebuild, row_hash, word_spans
from tests.conftest import refusals

ROW = {
    "premise": "Two dogs -- both well-fed -- don't run, they 'walk'.",
    "hypothesis": "  Two dogs, both well-fed, don't run ... they  walk !",
    "label": 0,
}


def words(text):
    return [text[a:b] for a, b in word_spans(text)]


ONE = (Edit("hypothesis", 1, "hounds"),)


def outcome(key=0, status="succeeded", edits=ONE, row=ROW):
    return Outcome(key, status, tuple(edits), 12, 7, row_hash(row))


def test_words_keep_inner_marks_and_drop_outer_ones():
    assert words(ROW["premise"]) == [
        "Two", "dogs", "both", "well-fed", "don't", "run", "they", "walk",
    ]  # fmt: skip
    assert words(" -- ' _ ") == []
    assert words("@home a_b *x* ˗9 c×d") == ["home", "a_b", "x", "˗9", "c×d"]


def test_rebuild_changes_the_named_words_only():
    edits = [Edit("hypothesis", 7, "st roll"), Edit("hypothesis", 1, "hounds")]
    rebuilt = rebuild(ROW, edits)
    assert rebuilt["hypothesis"] == "  Two hounds, both well-fed, don't run ... they  st roll !"
    assert rebuilt["premise"] == ROW["premise"] and rebuilt["label"] == 0
    assert rebuild(ROW, []) == ROW


def test_find_edits_recovers_random_edits_exactly():
    rng = random.Random(0)
    split, drop = (lambda w: w[:1] + " " + w[1:]), (lambda w: w[:1] + w[2:])
    bugs = [split, drop, lambda w: "hound", lambda w: w[:-1] + "е"]
    old = words(ROW["hypothesis"])
    for _ in range(300):
        chosen = sorted(rng.sample(range(len(old)), rng.randint(0, 4)))
        edits = [Edit("hypothesis", k, rng.choice(bugs)(old[k])) for k in chosen]
        edits = [edit for edit in edits if edit.replacement != old[edit.word]]
        attacked = rebuild(ROW, edits)["hypothesis"]
        found = find_edits(ROW, {"premise": ROW["premise"], "hypothesis": attacked})
        assert rebuild(ROW, found)["hypothesis"] == attacked
        assert len(found) <= len(edits)


def test_a_split_word_is_one_edit_of_its_own_word():
    row = {"text": "a man is running fast in a park"}
    found = find_edits(row, {"text": "a man is run ning fast in a pa rk"})
    assert found == (Edit("text", 3, "run ning"), Edit("text", 7, "pa rk"))


def test_find_edits_of_a_long_text_finds_the_one_change():
    row = {"text": " ".join(["the dog and the cat"] * 60)}
    attacked = row["text"][:600] + row["text"][600:].replace("cat", "c at", 1)
    (found,) = find_edits(row, {"text": attacked})
    assert found.replacement == "c at"
    assert rebuild(row, [found])["text"] == attacked


REFUSED = [
    (lambda: rebuild(ROW, [Edit("hypothesis", 8, "x")]), "8 words"),
    (lambda: rebuild(ROW, [Edit("hypothesis", -1, "x")]), "word -1"),
    (lambda: rebuild(ROW, [Edit("answer", 0, "x")]), "answer"),
    (lambda: rebuild(ROW, [Edit("label", 0, "x")]), "label"),
    (lambda: find_edits({"text": "one, two"}, {"text": "one two"}), "with words replaced"),
]


test_edits_of_another_row_are_refused = refusals(REFUSED)


def test_log_resumes_and_drops_a_torn_line(tmp_path):
    path = tmp_path / "runs" / "log.jsonl"
    log = OutcomeLog(path, {"recipe": "textfooler", "seed": 0}, {"versions": {}})
    log.append(outcome(0))
    log.append(outcome(1, "failed", edits=[Edit("hypothesis", 0, "T\u2028wo")]))
    whole = path.read_bytes()
    path.write_bytes(whole + outcome(2).as_json().encode()[:25])
    assert [o.id for o in read_outcomes(path).outcomes] == [0, 1]
    again = OutcomeLog(path, {"seed": 0, "recipe": "textfooler"})
    assert sorted(again.done) == [0, 1]
    assert path.read_bytes() == whole
    again.append(outcome(2))
    stored = read_outcomes(path)
    assert [o.id for o in stored.outcomes] == [0, 1, 2]
    assert stored.header["configuration"]["recipe"] == "textfooler"


@pytest.mark.parametrize("content", ['{"schema": "other"}\n', "hello\n", "[1]\n", "", "\n"])
def test_foreign_files_are_refused(tmp_path, content):
    path = tmp_path / "log.jsonl"
    path.write_text(content)
    with pytest.raises(ValueError, match="not a file of outcomes"):
        read_outcomes(path)


def test_a_broken_line_within_is_named(tmp_path):
    path = tmp_path / "log.jsonl"
    OutcomeLog(path, {}).append(outcome())
    stored = json.loads(outcome(1).as_json())
    stored["status"] = "won"
    with path.open("a") as file:
        file.write(json.dumps(stored) + "\n")
    with pytest.raises(ValueError, match="line 3.*won"):
        read_outcomes(path)
    with pytest.raises(FileNotFoundError, match="none.jsonl"):
        read_outcomes(tmp_path / "none.jsonl")


def test_transfer_rows_by_id_with_kinds():
    other = {**ROW, "hypothesis": "Cats sleep ."}
    rows = [ROW, other]
    outcomes = [
        outcome(8, "failed", [Edit("hypothesis", 1, "nap")], other),
        outcome(5, "skipped", [], ROW),
    ]
    moved = transfer_rows(rows, outcomes, ids=[5, 8])
    assert [(r["id"], r["kind"]) for r in moved] == [(8, "failed"), (5, "skipped")]
    assert moved[0]["hypothesis"] == "Cats nap ." and moved[1]["hypothesis"] == ROW["hypothesis"]
    assert other["hypothesis"] == "Cats sleep ."
    with pytest.raises(ValueError, match="no row 8"):
        transfer_rows(rows, outcomes)
    with pytest.raises(ValueError, match="not the text that was attacked"):
        transfer_rows(rows, outcomes, ids=[8, 5])


def test_row_hash_sees_text_and_label_only():
    assert row_hash(ROW) == row_hash({**ROW, "source": "here"})
    assert row_hash(ROW) != row_hash({**ROW, "label": 1})
    assert row_hash(ROW) != row_hash({**ROW, "hypothesis": ROW["hypothesis"] + " "})


def test_counts_add_up():
    table = attack_table(
        [outcome(0), outcome(1, edits=[]), outcome(2, "failed"), outcome(3, "skipped", [])]
    )
    assert (table.n, table.clean, table.attacked) == (4, 3, 1)
    assert table.succeeded + table.failed + table.skipped == table.n
    assert table.words_changed == 0.5 and table.forwards == 28
    assert attack_table([]).n == 0
