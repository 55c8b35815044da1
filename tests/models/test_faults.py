"""Killed at any moment, long work goes on and ends as if nobody had killed it.

Small work is taken up from every state that its files go through; real work is really killed.
"""

from __future__ import annotations

import copy
import re
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

import experiments.adapters as adapters
import experiments.benchmarks.faults as faults
import pidlib.cli.commands as commands
from experiments.benchmarks.faults import JOBS, FaultsBenchmark, Job, kill_at_random
from experiments.experiment import record
from experiments.training import LoraSettings
from pidbook.evaluation.results import read_result
from pidlib.cli.settings import AttackSettings, FitSettings
from pidlib.data.labels import LABELS
from pidlib.io.embedded import embedded_folder
from pidlib.models import Model

BY_NAME = {job.name: job for job in JOBS}
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
def small(monkeypatch):
    """Two blocks with random weights in place of the models that commands load."""
    monkeypatch.delenv("PIDLIB_DATA_DIR", raising=False)
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(embedded_folder())
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        names = dict(enumerate(LABELS))
        config = BertConfig(**shape, intermediate_size=24, initializer_range=0.3, id2label=names)
        model = BertForSequenceClassification(config).eval()

    def fresh(*_):
        return Model(copy.deepcopy(model), tokenizer)

    monkeypatch.setattr(commands, "load_model", fresh)
    monkeypatch.setattr(adapters, "_fresh", fresh)
    monkeypatch.setattr(adapters, "_measure", lambda *_: [])


def _fit(folder):
    commands.fit(FitSettings(n=24, batch_size=8, every=0), folder / "control", replace=True)


def _fit_terminal(folder):
    settings = FitSettings(n=24, law="terminal", mix="typos", every=0)
    commands.fit(settings, folder / "control", replace=True)


def _attack(folder):
    commands.attack(AttackSettings(n=3, recipe="textbugger", budget=12), folder / "outcomes.jsonl")


def _train(folder):
    settings = LoraSettings(rank=2, epochs=2, batch_size=8, warmup_steps=1)
    name, runs, target = "minilm-nli-second", folder / "runs", folder / "adapter"
    adapters.make_adapter(name, runs, settings, 8, lambda _: None, target, every=0)


@pytest.mark.parametrize(
    ("name", "work"),
    [("fit", _fit), ("fit, terminal cost", _fit_terminal), ("attack", _attack), ("train", _train)],
)
def test_killed_at_any_change_on_disk_work_ends_the_same(name, work, small, tmp_path):
    job, whole = BY_NAME[name], tmp_path / "whole"
    whole.mkdir()
    states = states_during(work, whole)
    wanted, names = job.outcome(whole), set(files_of(whole))
    begun = 0
    for k, state in enumerate(states):
        here = tmp_path / str(k)
        for place, content in state.items():
            (here / place).parent.mkdir(parents=True, exist_ok=True)
            (here / place).write_bytes(content)
        begun += any(here.glob(job.begun))
        work(here)
        assert job.outcome(here) == wanted and set(files_of(here)) == names, sorted(state)
    assert begun >= 4 and any(HALF.encode() in b"".join(state.values()) for state in states)


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("fit", 60),
        pytest.param("attack", 6, marks=pytest.mark.long),
        pytest.param("train", 24, marks=pytest.mark.long),
    ],
)
def test_two_kills_lose_nothing(name, n, tmp_path):
    job = BY_NAME[name]
    command = re.sub(r"--n \d+", f"--n {n}", job.command)  # of the same kind, and shorter
    found = kill_at_random(job._replace(command=command), 2, tmp_path / "work", seed=3)
    assert found.kills == 2 and found.lost == []
    assert found.equal == found.finished >= 1


def _stamp(folder):
    return {"text": (folder / "control").read_text()}


def test_what_is_lost_is_told(tmp_path):
    """The control of the control: outcomes that differ are seen, and a job that fails is named."""
    turns = iter(["a", "b"])

    def changing(folder):
        return {"text": next(turns, "b")}

    job = Job("help", "--help", changing, "*")
    found = kill_at_random(job, 1, tmp_path / "work", seed=1)
    assert found.lost == ["text"] * found.finished and found.equal == 0
    wrong = Job("fit", "fit {folder}/control --n 0", _stamp, "*")
    with pytest.raises(RuntimeError, match="fit ended with 2: error: .*n is 0"):
        kill_at_random(wrong, 1, tmp_path / "wrong")
    with pytest.raises(ValueError, match="kills is 0"):
        kill_at_random(job, 0, tmp_path / "none")


def test_the_record_is_a_result_file(tmp_path, monkeypatch):
    job = Job("help", "--help", lambda folder: {}, "*")
    monkeypatch.setattr(faults, "JOBS", [job])
    made = record(FaultsBenchmark(kills=1), tmp_path, report=lambda _: None)
    assert read_result(tmp_path / "bench-faults.json") == made
    (one,) = made["counts"]
    assert one["job"] == "help" and one["kills"] == 1 and one["equal"] == one["finished"]
