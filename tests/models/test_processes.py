"""Two processes find what one finds: fit, evaluate, attack."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from pidlib import PIDController
from pidlib.attacks.outcomes import read_outcomes
from pidlib.cli import app as door
from pidlib.cli.processes import Processes, begin_part, merge_parts, part_of, processes
from tests.conftest import typed

# Commands one after the other: what takes long is the start of the processes.
SCRIPT = """
import json, sys
from pidlib.__main__ import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["pidlib", *words]
    try:
        main()
    except SystemExit as stop:
        if stop.code:
            raise
"""


def here(words):
    """What a command prints as JSON, in this process."""
    code, out, _ = typed(door, *words)
    assert code == 0 and json.loads(out)["processes"] == 1
    return json.loads(out)


def in_two(script, commands):
    """What some commands print as JSON, in two processes of one thread each."""
    # whatever its name, this starts processes without graphics cards too; --cpu starts one
    launch = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    launch += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
    launch += ["--num_cpu_threads_per_process", "1", "--main_process_port", "0"]
    quiet = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    started = [sys.executable, *launch, str(script), json.dumps(commands)]
    done = subprocess.run(started, capture_output=True, text=True, env=quiet, timeout=1800)
    assert done.returncode == 0, done.stderr[-2000:]
    rest, found = done.stdout[done.stdout.index("{") :].strip(), []
    while rest:
        one, end = json.JSONDecoder().raw_decode(rest)
        assert one["processes"] == 2  # else one process did it all
        found, rest = [*found, one], rest[end:].strip()
    return found


def test_two_processes_fit_judge_and_attack_as_one(tmp_path):
    import nltk  # noqa: F401  the attack needs the extra `attacks`

    found, folders, logs = {}, {}, {}
    (tmp_path / "both.py").write_text(SCRIPT)
    for count in (1, 2):
        folders[count], logs[count] = tmp_path / f"c{count}", tmp_path / f"a{count}.jsonl"
        fit = ["fit", folders[count], "--n", 60, "--batch-size", 8]
        evaluate = ["evaluate", "--n", 30, "--control", tmp_path / "c1"]
        attack = ["attack", logs[count], "--n", 5, "--recipe", "textbugger"]
        commands = [[*map(str, words), "--json"] for words in (fit, evaluate, attack)]
        if count == 1:
            fitted, judged, attacked = map(here, commands)
        else:
            fitted, judged, attacked = in_two(tmp_path / "both.py", commands)
        found[count] = fitted["rows"], judged["counts"], judged["gain"], attacked["counts"]
    one, two = (PIDController.from_pretrained(folders[k]) for k in (1, 2))
    assert one.origin == two.origin
    for term, values in one.bases.values.items():  # sums in another order: to rounding
        assert torch.allclose(values, two.bases.values[term], rtol=1e-9, atol=1e-12)
    ranks = [[row[f"rank {i}"] for row in found[k][0] for i in "PD"] for k in (1, 2)]
    assert ranks[0] == ranks[1]
    assert found[1][1:] == found[2][1:]
    first, second = (list(read_outcomes(logs[k]).outcomes) for k in (1, 2))
    assert first == second
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"both.py", "c1", "c2", "a1.jsonl", "a2.jsonl"}


def test_alone_there_is_one_process(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    team = processes()
    assert team == Processes() and team.first
    bits = np.array([True, False, True])
    assert (team.together(bits, [4, 0, 1], 5) == [False, True, False, False, True]).all()
    team.wait()


def test_logs_of_processes_become_one_and_go_on(tmp_path):
    from pidlib.attacks.outcomes import Outcome, OutcomeLog

    def outcome(k):
        return Outcome(k, "failed", (), 3, 3, f"row {k}")

    log, teams = tmp_path / "out.jsonl", [Processes(k, 2) for k in range(2)]
    OutcomeLog(log, {"recipe": "x"}).append(outcome(0))
    for team in teams:
        begin_part(log, part_of(log, team), list(team.share(range(4))))
        part = OutcomeLog(part_of(log, team), {"recipe": "x"})
        assert list(part.done) == ([0] if team.first else [])
        for k in team.share(range(4)):
            if k not in part.done:
                part.append(outcome(k))
    merge_parts(log, 2)
    assert read_outcomes(log).outcomes == [outcome(k) for k in range(4)]
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    OutcomeLog(part_of(log, teams[0]), {"recipe": "y"})
    with pytest.raises(ValueError, match="another attack"):
        merge_parts(log, 2)
