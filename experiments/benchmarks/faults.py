"""Kill long work at random moments, let it go on, and compare with work that nobody killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import runpy
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from experiments.adapters import adapter_model
from experiments.experiment import Experiment, Report
from pidlib.attacks.outcomes import read_outcomes
from pidlib.io.files import sha256

IN_A_ROW, SIGNAL = 10, "SIGKILL"


class Job(NamedTuple):
    """A command that writes into a folder."""

    name: str
    command: str
    outcome: Callable[[Path], Mapping[str, str]]
    begun: str
    module: str = "pidlib"


class Fault(NamedTuple):
    """What became of a job that was killed again and again."""

    job: str
    kills: int
    inside: int
    most_in_a_row: int
    finished: int
    equal: int
    lost: list[str]
    seconds: float


def _controller(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path) for path in sorted((folder / "control").iterdir())}


def _attacked(folder: Path) -> dict[str, str]:
    """Outcomes by row; when they were made does not matter."""
    file = read_outcomes(folder / "outcomes.jsonl")
    outcomes = {str(outcome.id): repr(outcome) for outcome in file.outcomes}
    outcomes["rows"] = str(len(file.outcomes))  # a row that counts twice makes one more
    return outcomes | {"configuration": json.dumps(file.header["configuration"], sort_keys=True)}


def _adapter(folder: Path) -> dict[str, str]:
    return {"adapter": sha256(folder / "adapter" / "adapter_model.safetensors")}


JOBS = (
    Job(
        "fit",
        "fit {folder}/control --n 120 --batch-size 12 --every 0",
        _controller,
        "control.unfinished/fit.json",
    ),
    Job(
        "fit, terminal cost",
        "fit {folder}/control --law terminal --mix typos --n 64 --every 0",
        _controller,
        "control.unfinished/fit.json",
    ),
    Job(
        "attack",
        "attack {folder}/outcomes.jsonl --n 12 --recipe textbugger",
        _attacked,
        "outcomes.jsonl",
    ),
    Job(
        "train",
        "train --name minilm-nli-second --n 64 --epochs 2 --every 0 --runs {folder}/runs "
        "--target {folder}/adapter",
        _adapter,
        "runs/**/*.safetensors",
        "experiments",
    ),
)
"""Small jobs of every kind of long work."""


def kill_at_random(
    job: Job,
    kills: int,
    folder: Path,
    seed: int = 0,
    in_a_row: int = IN_A_ROW,
    report: Report = print,
) -> Fault:
    """Run a job to its end once, then kill it at random moments, and compare every end.

    A run that is killed is started again in the same folder, until it ends by itself; then the
    next begins from nothing.
    """
    if kills < 1 or in_a_row < 1:
        raise ValueError(f"kills is {kills}, in a row {in_a_row}; give at least 1 of each")
    started, random = time.perf_counter(), np.random.default_rng(seed)
    whole = Path(folder) / "whole"
    whole.mkdir(parents=True)
    ready = _server().Process(target=int)  # the server's start is no part of the work
    ready.start()
    ready.join()
    begun = time.perf_counter()
    _run(job, whole, None)
    length = time.perf_counter() - begun
    wanted, names = job.outcome(whole), _names(whole)
    report(f"{job.name}: {length:.1f} s when nobody kills it")
    done = inside = finished = equal = most = 0
    lost: list[str] = []
    while done < kills:
        here, row = Path(folder) / f"killed-{finished}", 0
        here.mkdir()
        longest = length / 2 if finished % 2 == 0 else length
        while row < min(in_a_row, kills - done):
            if not _run(job, here, float(random.uniform(0, longest))):
                break
            row += 1
            inside += any(here.glob(job.begun))
        else:
            _run(job, here, None)
        done, finished, most = done + row, finished + 1, max(most, row)
        outcome = job.outcome(here)
        wrong = [k for k in {**wanted, **outcome} if wanted.get(k) != outcome.get(k)]
        wrong += [f"left over: {name}" for name in sorted(_names(here) - names)]
        equal += not wrong
        lost += wrong
        report(f"{job.name}: {done} kills, {row} in a row, {'; '.join(wrong) or 'nothing lost'}")
    seconds = round(time.perf_counter() - started, 1)
    return Fault(job.name, done, inside, most, finished, equal, lost, seconds)


def _names(folder: Path) -> set[str]:
    """Files by their place in a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def _run(job: Job, folder: Path, after: float | None) -> bool:
    """Run a job in a process; kill it after so many seconds. True if it was killed."""
    words = [word.format(folder=folder) for word in job.command.split()]
    said = folder.with_suffix(".out")
    process = _server().Process(target=_command, args=(job.module, words, str(said)))
    process.start()
    process.join(after)
    if process.is_alive():
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        return process.exitcode == -signal.SIGKILL
    if process.exitcode:
        last = said.read_text(encoding="utf-8").strip().splitlines()[-1:] or ["no word"]
        raise RuntimeError(f"{job.name} ended with {process.exitcode}: {last[0]}")
    return False


def _server() -> Any:
    """A server that has everything imported forks the processes: their time goes into the work."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["pidlib.cli.commands", "experiments.adapters", "pidlib.attacks.attack"]
    )
    return context


def _command(module: str, words: Sequence[str], said: str) -> None:
    """Run the command line in this process, with what it says in a file."""
    import torch

    file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ.pop("PIDLIB_DATA_DIR", None)  # the small job is the same on every machine
    torch.set_num_threads(1)
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__")  # as python -m does


@dataclass(frozen=True)
class FaultsBenchmark(Experiment):
    """Kills of every kind of long work, shared out over the jobs."""

    kills: int = 56
    in_a_row: int = IN_A_ROW

    name = "bench-faults"

    @property
    def configuration(self) -> dict[str, Any]:
        """The settings, the signal and the commands."""
        return super().configuration | {"signal": SIGNAL, "jobs": {j.name: j.command for j in JOBS}}

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Kill, let go on, and write down what became of it."""
        faults = []
        with TemporaryDirectory() as scratch:
            for k, job in enumerate(JOBS):
                share, place = (self.kills - k + len(JOBS) - 1) // len(JOBS), Path(scratch) / str(k)
                faults.append(kill_at_random(job, share, place, k, self.in_a_row, report))
                report(str(faults[-1]))
        return {
            "data": {"name": "captions", "n": self.kills},
            "model": adapter_model("minilm-nli"),
            "counts": [fault._asdict() for fault in faults],
        }
