"""Data sets: one schema, no silent substitute, errors that name what is wrong."""

import json

import pytest

from experiments.rows import hold_out
from pidlib.data.nli import VARIABLE, fingerprint, load_nli, read_jsonl

ROW = {"premise": "A dog runs.", "hypothesis": "An animal moves.", "label": 0}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    rows = [ROW | {"label": k % 3, "premise": f"A dog runs {k // 2} times."} for k in range(9)]
    (tmp_path / "mine.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return tmp_path


def test_a_file_is_read_in_order(folder):
    rows = load_nli("mine")
    assert rows["label"][:] == [0, 1, 2] * 3
    assert load_nli("mine", n=4)["premise"][:] == rows["premise"][:4]
    assert load_nli(str(folder / "mine.jsonl"), n=2)[1]["label"] == 1


ABSENT = [
    (("captions", "dev"), ValueError, "'dev'.*train, validation, test"),
    (("captions", "test", 5001), ValueError, "5001.*5000"),
    (("captions", "test", True), ValueError, "n is True"),
    (("captions", "test", 2.5), TypeError, "float"),
    (("other",), FileNotFoundError, r"no file other\.jsonl.*mine"),
    (("mine", None, 0), ValueError, "n is 0"),
    (("mine", "test"), ValueError, "no splits"),
    (("someone/something",), ValueError, "name its split"),
]


@pytest.mark.parametrize(("asked", "error", "message"), ABSENT)
def test_what_there_is_not_is_named(folder, asked, error, message):
    with pytest.raises(error, match=message):
        load_nli(*asked)


def test_a_missing_folder_is_named(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError, match="PIDLIB_DATA_DIR.*not set.*captions"):
        load_nli("snli-test")
    monkeypatch.setenv(VARIABLE, "/nowhere")
    with pytest.raises(FileNotFoundError, match="nowhere is not a folder"):
        load_nli("mine")


BROKEN = [
    ("\n", "no rows"),
    ('\n{"premise": "a", "hypothesis": "b", "label": 3}', "line 2: label 3 is not 0, 1 or 2"),
    ('\n{"premise": "a", "label": 1}', "line 2.*hypothesis"),
    ('\n{"premise": "a", "hypo', "line 2.*JSON"),
    ("\n[1, 2]", "line 2"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_a_broken_file_is_named(folder, text, message):
    first = "" if text == "\n" else json.dumps(ROW)
    (folder / "broken.jsonl").write_text(f"{first}{text}\n")
    with pytest.raises(ValueError, match=message):
        load_nli("broken")


def test_hold_out_shares_no_premise(folder):
    rows = load_nli("mine")
    kept, held = hold_out(rows, 3)
    assert len(held) == 3
    assert not set(kept["premise"]) & set(held["premise"])
    assert set(kept["premise"]) | set(held["premise"]) == set(rows["premise"])
    again = hold_out(rows, 3)
    assert fingerprint(again[1]) == fingerprint(held)
    for n in (0, 9):
        with pytest.raises(ValueError, match=f"cannot hold out {n} of 9"):
            hold_out(rows, n)


def test_fingerprint_sees_text_label_and_order():
    base = [ROW, ROW | {"label": 1}]
    others = [base[::-1], [ROW, ROW], [ROW, ROW | {"premise": "A dog  runs."}], base[:1]]
    assert len({fingerprint(rows) for rows in [base, *others]}) == 5


def test_read_stops_before_a_later_fault(folder):
    (folder / "late.jsonl").write_text(json.dumps(ROW) + "\nbroken\n")
    assert len(read_jsonl(folder / "late.jsonl", n=1)) == 1
