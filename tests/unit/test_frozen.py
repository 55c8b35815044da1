"""What was measured once: it says where its code is, its page tells all, and its numbers agree."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import chapter_pages
import provenance
from contents import RESULTS, ROOT
from experiments import __main__ as door
from experiments.experiment import frozen, read_experiment
from pidbook.evaluation import answers, read_result, recorded_trial, unpack

FROZEN = frozen()


def git(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def in_history() -> bool:
    """Whether this is a checkout with all its commits."""
    asked = "--is-shallow-repository", "--show-toplevel"
    return bool(shutil.which("git")) and git("rev-parse", *asked).stdout == f"false\n{ROOT}\n"


@pytest.mark.skipif(not in_history(), reason="no git history")
def test_the_commit_holds_the_configuration():
    for name, commit in FROZEN.items():
        assert len(commit) == 40
        done = git("cat-file", "-e", f"{commit}:experiments/configs/{name}.toml")
        assert done.returncode == 0, (name, done.stderr)


@pytest.mark.parametrize("name", sorted(FROZEN))
def test_a_frozen_name_says_which_commit_and_which_commands(name):
    with pytest.raises(ValueError, match="measured once") as told:
        read_experiment(name)
    commands = [f"git checkout {FROZEN[name]}", "make env", f"python -m experiments run {name}"]
    assert all(command in str(told.value) for command in commands)
    assert "\n" not in str(told.value)


def test_the_list_shows_what_is_frozen(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["experiments", "list", "--json"])
    with pytest.raises(SystemExit) as stop:
        door.main()
    assert not stop.value.code
    found = {
        row["name"]: row["state"] for row in json.loads(capsys.readouterr().out)["experiments"]
    }
    assert found["trial-captions-minilm-nli"] == "can be run here"
    assert found["vision-cnn"] == f"frozen at {FROZEN['vision-cnn']}"


def test_every_result_is_on_the_page_and_the_page_tells_of_nothing_else():
    names = {path.stem for path in RESULTS.glob("*.json")}
    assert set(chapter_pages.sentences()) == names
    text = chapter_pages.measured()
    for name in names:
        result = read_result(RESULTS / f"{name}.json")
        row = next(line for line in text.splitlines() if f" `{name}` |" in line)
        assert result["date"] in row and chapter_pages.sentences()[name] in row
        assert not result["data"]["n"] or f"| {result['data']['n']:,} |" in row
        assert f"\n{result['command']}\n" in text
    live, last = text.split("## Frozen at", 1)
    for name, commit in FROZEN.items():
        assert f" `{name}` |" in last and f" `{name}` |" not in live
        assert f"git checkout {commit}\n" in last


def test_the_box_under_a_figure_tells_the_commit_of_a_frozen_result():
    for name in ("vision-cnn", "trial-captions-minilm-nli"):
        text = provenance.item(f"{name}.json", [f"{name}.json"], RESULTS)
        assert f"python -m experiments run {name}" in text
        assert ("frozen at commit" in text) == (name in FROZEN)
    assert FROZEN["vision-cnn"][:12] in provenance.item("vision-cnn.json", [], RESULTS)


# What the frozen files say of each other, and of the trials that still run.


@pytest.mark.parametrize("data", ["captions", "snli-test"])
def test_the_parts_by_answer_add_up_to_the_trial(data):
    split = read_result(RESULTS / f"by-answer-{data}-minilm-nli.json")
    trial = read_result(RESULTS / f"trial-{data}-minilm-nli.json")
    assert len(split["counts"]) == 4 and split["pushes"] > 1
    for recipe, parts in split["counts"].items():
        for name in ("none", "P-D 99 %"):
            right = answers(trial, name, recipe)
            assert sum(part["n"] for part in parts.values()) == len(right)
            assert sum(part[name] for part in parts.values()) == right.sum()
        leads = [part["n"] * split["lead"][recipe][k][0] for k, part in parts.items()]
        whole = recorded_trial(trial, recipe).beyond("noise")[0]
        assert sum(leads) / len(right) == pytest.approx(whole, abs=1e-9)
        for k, part in parts.items():
            lead, low, high = split["lead"][recipe][k]
            assert part["n"] * lead == pytest.approx(part["P-D 99 %"] - part["noise"])
            assert low < lead < high


@pytest.mark.parametrize(("key", "other"), [("clean", "ordinary"), ("edited", "edited")])
@pytest.mark.parametrize("name", ["none", "P-D 99 %", "Terminal both"])
def test_answers_on_fresh_pairs_are_those_of_the_trial_of_meanings(name, key, other):
    fresh = read_result(RESULTS / "fresh-snli-minilm-nli.json")
    heard = read_result(RESULTS / "contrast-snli-minilm-nli.json")
    assert (answers(fresh, name, key) == answers(heard, name, other)).all()


def test_both_searches_for_gains_kept_the_total():
    result = read_result(RESULTS / "gains-snli-test-minilm-nli.json")
    for name, law in result["laws"].items():
        assert (np.abs(np.array(law["shares"]).sum(1) - 1) < 2e-3).all()
        cost = np.mean(result["costs"]["fit"][name])
        assert "CMA" not in name or np.isclose(cost, law["path"][-1], atol=1e-3)
    for key, of in result["costs"].items():
        assert {len(costs) for costs in of.values()} == {result["sets"][key]["n"]}


def test_a_search_does_no_more_than_the_truth_allows():
    result = read_result(RESULTS / "optimal-attack-snli-test-minilm-nli.json")
    n, most = result["data"]["n"], result["configuration"]["budget"]
    for name, of in result["examples"].items():
        clean, held = unpack(of["clean"], n), unpack(result["truth"][name]["held"], n)
        for search in of.keys() & result["counts"][name].keys() - {"clean"}:
            fell = np.array([k is not None for k in of[search]])
            assert all(1 < k <= most for k in of[search] if k is not None)
            assert not (fell & held).any() and not (fell & ~clean).any()
            assert result["truth"][name]["turned here"] <= 0.05 * n
            assert result["counts"][name][search] == int((clean & ~fell).sum())


def test_every_law_of_steering_has_the_size_that_was_asked_for():
    result = read_result(RESULTS / "steering-smollm2.json")
    at = result["configuration"]["size"]
    for key, of in result["examples"].items():
        if of["size"] is not None:
            assert len(of["log_odds"]) == result["counts"]["prompts"], key
            assert len(of["loss"]) == result["counts"]["texts"] and np.isfinite(of["loss"]).all()
    for law in result["configuration"]["laws"]:
        assert result["examples"][f"{law}, {at:g}"]["size"] == pytest.approx(at, rel=0.5)
