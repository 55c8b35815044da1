"""Result files and checksums: whole or refused."""

import json

import pytest

from pidbook.evaluation.results import is_stale, load_result, read_result, write_result
from pidlib.data.nli import fingerprint
from pidlib.io.files import check_sha256, sha256, write_json
from pidlib.models import training_record

PARTS = dict(
    command="python -m experiments run trial",
    configuration={"c": 1e-3, "scheme": "PD"},
    data={"name": "captions", "n": 5, "sha256": "a" * 64},
    model={"name": "minilm-nli", "sha256": "b" * 64},
    seed=3,
    counts={"none": {"clean": {"right": 4, "n": 5}}},
    seconds=1.23,
)


def test_a_result_is_read_as_written(tmp_path):
    written = write_result(tmp_path / "one.json", **PARTS, forwards=7)
    read = read_result(tmp_path / "one.json")
    assert read == written and read["forwards"] == 7 and read["name"] == "one"
    assert {"torch", "python"} <= set(read["versions"])
    assert list(tmp_path.iterdir()) == [tmp_path / "one.json"]


CHANGES = [
    (lambda text: text[: len(text) // 2], "not a whole JSON file"),
    (lambda text: text.replace('"schema": 1', '"schema": 99'), "schema 1"),
    (lambda text: text.replace('"scheme": "PD"', '"scheme": "P"'), "configuration was changed"),
    (lambda text: text.replace('"counts"', '"count"'), "counts is missing"),
    (lambda text: "[]", "schema 1"),
    (lambda text: text.replace('"seed": 3', '"seed": "3"'), "seed is '3'; it has to be int"),
    (lambda text: text.replace('"seed": 3', '"seed": true'), "seed is True"),
    (lambda text: text.replace('"seconds": 1.2', '"seconds": null'), "seconds is None"),
    (lambda text: text.replace('"counts": {', '"counts": 1, "c": {'), r"1; .* dict \| list"),
    (lambda text: text.replace('"torch"', '"torsch"'), "versions.torch is missing"),
    (lambda text: text.replace('"right": 4', '"right": 3'), "was changed after it was written"),
    (lambda text: text.replace('"seed": 3', '"seed": 4'), "was changed after it was written"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_a_result_that_is_not_whole_is_refused(tmp_path, change, message):
    path = tmp_path / "one.json"
    write_result(path, **PARTS)
    path.write_text(change(path.read_text()))
    with pytest.raises(ValueError, match=message):
        read_result(path)


def test_missing_file_and_missing_hash(tmp_path):
    with pytest.raises(FileNotFoundError, match="experiments run"):
        read_result(tmp_path / "none.json")
    with pytest.raises(ValueError, match="sha256 is missing"):
        write_result(tmp_path / "one.json", **(PARTS | {"data": {"name": "x"}}))
    with pytest.raises(ValueError, match="ends in .json"):
        write_result(tmp_path / "one.txt", **PARTS)
    assert not list(tmp_path.iterdir())


def test_what_json_cannot_hold_leaves_the_old_file(tmp_path):
    write_json(tmp_path / "a.json", {"x": 1})
    with pytest.raises(ValueError):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": 1}


def test_staleness_names_what_differs(tmp_path):
    rows = [{"premise": "a", "hypothesis": "b", "label": 0}]
    own = {
        "data": {"name": "made", "n": 1, "sha256": fingerprint(rows)},
        "model": {"name": "m", "sha256": training_record("minilm-nli")["adapter"]["sha256"]},
    }
    result = write_result(tmp_path / "one.json", **(PARTS | own))
    assert is_stale(result, rows=rows, model="minilm-nli") == []
    assert is_stale(result) == []
    reasons = is_stale(result, rows=rows * 2, model="mpnet-nli")
    assert reasons == ["the data changed", "the model changed"]
    with pytest.raises(ValueError, match="unknown adapter 'gpt'"):
        is_stale(result, model="gpt")


def test_checksum(tmp_path):
    path = tmp_path / "weights.bin"
    path.write_bytes(b"abc")
    check_sha256(path, sha256(path))
    with pytest.raises(ValueError, match="checksum mismatch: weights.bin"):
        check_sha256(path, "0" * 64)
    with pytest.raises(FileNotFoundError, match="absent.bin is missing"):
        check_sha256(tmp_path / "absent.bin", "0" * 64)


def test_numbers_as_keys_and_tuples_are_read_again(tmp_path):
    path, counts = tmp_path / "one.json", {10: {"right": 2, "n": 3}, 9: (1, 2)}
    made = write_result(path, **PARTS | {"counts": counts})
    assert read_result(path)["content_sha256"] == made["content_sha256"]


def test_a_name_that_a_result_lacks_is_refused_with_those_that_it_has():
    counts = load_result("trial-snli-test-minilm-nli")["counts"]
    with pytest.raises(KeyError, match="no 'PD'; there are .*'P-D 99 %'"):
        counts["PD"]
    with pytest.raises(KeyError, match="no 'a2'; there are .*'a2t'"):
        counts["none"]["a2"]
