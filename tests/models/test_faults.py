"""Killed at random moments, long work goes on and ends as if nobody had killed it."""

from __future__ import annotations

import re

import pytest

import experiments.benchmarks.faults as faults
from experiments.benchmarks.faults import JOBS, FaultsBenchmark, Job, kill_at_random
from experiments.experiment import record
from pidlib.evaluation.results import read_result

BY_NAME = {job.name: job for job in JOBS}


@pytest.mark.parametrize(
    ("name", "n"), [("fit", 60), ("attack", 6), ("train", 24)], ids=["fit", "attack", "train"]
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

    job = Job("diagnose", "doctor --json", changing, "*")
    found = kill_at_random(job, 1, tmp_path / "work", seed=1)
    assert found.lost == ["text"] * found.finished and found.equal == 0
    wrong = Job("fit", "fit {folder}/control --n 0", _stamp, "*")
    with pytest.raises(RuntimeError, match="fit ended with 2: error: .*n is 0"):
        kill_at_random(wrong, 1, tmp_path / "wrong")
    with pytest.raises(ValueError, match="kills is 0"):
        kill_at_random(job, 0, tmp_path / "none")


def test_the_record_is_a_result_file(tmp_path, monkeypatch):
    job = Job("doctor", "doctor --json", lambda folder: {}, "*")
    monkeypatch.setattr(faults, "JOBS", [job])
    made = record(FaultsBenchmark(kills=1), tmp_path, report=lambda _: None)
    assert read_result(tmp_path / "bench-faults.json") == made
    (one,) = made["counts"]
    assert one["job"] == "doctor" and one["kills"] == 1 and one["equal"] == one["finished"]
