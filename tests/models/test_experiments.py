"""The transfer trial from end to end on a few captions, and the command line around it."""

import sys

import numpy as np
import pytest

from pidlib import __main__ as door
from pidlib.data import load_nli
from pidlib.evaluation import compare
from pidlib.experiments import (
    TransferTrial,
    gains_over_none,
    proportions,
    run_transfer,
    stored_rows,
    unpack,
)
from pidlib.results import read_result

TRIAL = TransferTrial(n=4, clean=40, controls=(("PD", 0.99), ("P", 0.9)), fitted_on=60)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trial")
    said = []
    result = run_transfer(TRIAL, folder / "results", folder / "runs", said.append)
    return folder, result, said


def test_the_result_is_whole_and_counts_agree_with_the_examples(run):
    folder, result, _ = run
    assert read_result(folder / "results" / "transfer-captions.json") == result
    assert list(result["counts"]) == ["none", "P-D 99 %", "P 90 %"]
    for name, sets in result["counts"].items():
        assert {key: c["n"] for key, c in sets.items()} == {
            "clean": 40,
            "textfooler": 4,
            "textbugger": 4,
        }
        for key, count in sets.items():
            assert unpack(result["examples"][name][key], count["n"]).sum() == count["right"]
            assert proportions(result)[name][key].right == count["right"]


def test_the_attacked_model_is_wrong_where_the_attack_succeeded(run):
    folder, result, _ = run
    rows = load_nli("captions", split="test", n=TRIAL.clean)
    for recipe in TRIAL.recipes:
        kinds = [row["kind"] for row in stored_rows(rows, "captions", recipe, folder / "results")]
        right = unpack(result["examples"]["none"][recipe], TRIAL.n)
        assert right.tolist() == [kind == "failed" for kind in kinds]


def test_paired_gains_come_from_the_examples(run):
    _, result, _ = run
    gain = gains_over_none(result, "P-D 99 %")["clean"]
    first, second = (unpack(result["examples"][k]["clean"], 40) for k in ("none", "P-D 99 %"))
    assert gain == compare(np.array(first), np.array(second))
    with pytest.raises(ValueError, match="no control 'D'"):
        gains_over_none(result, "D")


def test_a_second_run_takes_up_the_stored_attacks(run):
    folder, result, _ = run
    logs = {path.name: path.read_bytes() for path in (folder / "runs").iterdir()}
    again = run_transfer(TRIAL, folder / "results", folder / "runs", lambda _: None)
    assert again["counts"] == result["counts"] and again["examples"] == result["examples"]
    assert {path.name: path.read_bytes() for path in (folder / "runs").iterdir()} == logs


def test_mistakes_on_the_command_line_end_with_2_and_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("PIDLIB_DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    cases = {
        ("reproduce", "transfer", "--data", "snli-test"): "PIDLIB_DATA_DIR",
        ("reproduce", "magic"): "unknown experiment 'magic'",
        ("reproduce", "transfer", "--n", "0"): "--n",
    }
    for words, message in cases.items():
        monkeypatch.setattr(sys, "argv", ["pidlib", *words])
        with pytest.raises(SystemExit) as stop:
            door.main()
        assert stop.value.code == 2
        assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
