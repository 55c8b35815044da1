"""What was measured once: it says where its code is, its page tells all, and its numbers agree."""

import json
import shutil
import subprocess

import pytest

import chapter_pages
import provenance
from contents import RESULTS, ROOT
from experiments import __main__ as door
from experiments.experiment import command_again, frozen, read_experiment
from pidbook.evaluation import read_result
from tests.conftest import typed

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
        module, *words = command_again(name).split()[2:]
        held = f"experiments/configs/{words[1]}.toml" if words else f"{module.replace('.', '/')}.py"
        done = git("cat-file", "-e", f"{commit}:{held}")
        assert done.returncode == 0, (name, done.stderr)


@pytest.mark.parametrize("name", sorted(FROZEN))
def test_a_frozen_name_says_which_commit_and_which_commands(name):
    with pytest.raises(ValueError, match="measured once") as told:
        read_experiment(name)
    commands = [f"git checkout {FROZEN[name]}", "make env", command_again(name)]
    assert all(command in str(told.value) for command in commands)
    assert "\n" not in str(told.value)


def test_the_list_shows_what_is_frozen():
    code, out, _ = typed(door, "list", "--json")
    found = {row["name"]: row["state"] for row in json.loads(out)["experiments"]}
    assert code == 0
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
        assert f"\n{command_again(name)}\n" in text
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
