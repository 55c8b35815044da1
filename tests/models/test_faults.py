"""Killed at any moment, long work goes on and ends as if nobody had killed it.

Small work is taken up from every state that its files go through; a fit is really killed.
"""

import copy
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import pidlib.cli.commands as commands
from pidlib.attacks.outcomes import read_outcomes
from pidlib.cli.settings import AttackSettings, FitSettings
from pidlib.models import Model

FITTING = "control.unfinished/fit.json"
HALF = '{"half'  # of what was to be written
CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"}
watchers = []  # told of each change on disk before it is made


def _watch(event, args):
    if watchers and (event == "open" or event in CHANGES):
        watcher = watchers.pop()  # it reads files itself
        watcher(*args[:2] if event == "open" else (None, None))
        watchers.append(watcher)


sys.addaudithook(_watch)  # Python takes no hook away again; this one is quiet without watchers


def files_of(folder):
    """Content of each file by its place in a folder."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def states_during(work, folder):
    """Do some work in a folder; return the states of its files in which a kill would leave them."""
    states = []

    def note(path, mode):
        state = files_of(folder)
        if mode and mode[0] in "wa" and folder in Path(path).parents:
            name = str(Path(path).relative_to(folder))
            state[name] = (state.get(name, b"") if mode[0] == "a" else b"") + HALF.encode()
        if state not in states:
            states.append(state)

    watchers.append(note)
    try:
        work(folder)
    finally:
        watchers.clear()
    return states


@pytest.fixture
def small(tiny, monkeypatch):
    """Two blocks with random weights in place of the models that commands load."""
    monkeypatch.delenv("PIDLIB_DATA_DIR", raising=False)
    torch.set_num_threads(1)
    model, tokenizer = tiny.reader(initializer_range=0.3)

    def fresh(*_):
        return Model(copy.deepcopy(model), tokenizer)

    monkeypatch.setattr(commands, "load_model", fresh)


def _fit(folder):
    commands.run_fit(FitSettings(n=24, batch_size=8, every=0), folder / "control", replace=True)


def _fit_terminal(folder):
    settings = FitSettings(n=24, law="terminal", mix="typos", every=0)
    commands.run_fit(settings, folder / "control", replace=True)


def _attack(folder):
    commands.run_attack(
        AttackSettings(n=3, recipe="textbugger", budget=12), folder / "outcomes.jsonl"
    )


def _controller(folder):
    return files_of(folder / "control")


def _attacked(folder):
    """Outcomes in their order; when they were made does not matter."""
    file = read_outcomes(folder / "outcomes.jsonl")
    return list(map(repr, file.outcomes)), file.header["configuration"]


@pytest.mark.parametrize(
    ("work", "outcome", "begin"),
    [
        (_fit, _controller, FITTING),
        (_fit_terminal, _controller, FITTING),
        (_attack, _attacked, "outcomes.jsonl"),
    ],
)
def test_killed_at_any_change_on_disk_work_ends_the_same(work, outcome, begin, small, tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    states = states_during(work, whole)
    wanted, names = outcome(whole), set(files_of(whole))
    begun = 0
    for k, state in enumerate(states):
        here = tmp_path / str(k)
        for place, content in state.items():
            (here / place).parent.mkdir(parents=True, exist_ok=True)
            (here / place).write_bytes(content)
        begun += any(here.glob(begin))
        work(here)
        assert outcome(here) == wanted and set(files_of(here)) == names, sorted(state)
    assert begun >= 4 and any(HALF.encode() in b"".join(state.values()) for state in states)


@pytest.mark.long
def test_a_fit_that_is_really_killed_goes_on(tmp_path):
    """As soon as it has written down a part of its work, by the signal that nobody hears."""
    words = [sys.executable, "-m", "pidlib", "fit", "control", "--n", "60"]
    words += ["--batch-size", "12", "--every", "0"]
    quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
    environment = {k: v for k, v in os.environ.items() if k != "PIDLIB_DATA_DIR"} | quiet
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    work = subprocess.Popen(words, cwd=killed, env=environment)
    while not any(killed.glob(FITTING)):
        assert work.poll() is None, "it ended before it wrote down anything"
        time.sleep(0.002)
    work.kill()
    assert work.wait() == -signal.SIGKILL and not any(killed.glob("control/*"))
    for folder in (whole, killed):
        subprocess.run(words, cwd=folder, env=environment, check=True)
    assert files_of(killed) == files_of(whole)
