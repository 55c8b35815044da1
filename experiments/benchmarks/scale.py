"""What grows with the text and what does not: memory of a fit, time of an attack in two parts."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from datasets import IterableDataset
from transformers import BertConfig, BertForSequenceClassification

from experiments.adapters import adapter_model
from experiments.experiment import Experiment, Report
from pidlib.attacks.outcomes import read_outcomes
from pidlib.data.labels import LABELS
from pidlib.data.nli import load_nli
from pidlib.io.embedded import embedded_folder
from pidlib.models import load_tokenizer
from pidlib.pid import PIDController

MARKS = 10  # how often the memory is read
ROUNDS = 2  # of both attacks


@dataclass(frozen=True)
class ScaleBenchmark(Experiment):
    """A fit on a stream of many sequences, and an attack by one process and by two."""

    sequences: int = 100_000
    rows: int = 200
    recipe: str = "textfooler"

    name = "bench-scale"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Measure both."""
        stream = stream_memory(self.sequences)
        report(str(stream))
        attack = two_processes(self.rows, self.recipe)
        report(str(attack))
        return {
            "data": {"name": "captions", "n": self.rows},
            "model": adapter_model("minilm-nli"),
            "counts": {"equal": attack["equal"], "sequences": stream["sequences"]},
            "stream": stream,
            "attack": attack,
        }


def stream_memory(sequences: int, marks: int = MARKS) -> dict[str, Any]:
    """Fit on a stream of many sequences and watch the memory of the process.

    The model is a random one of two blocks of width 64, so that the time goes into reading; what
    is kept of the text does not depend on the model but for d.
    """
    if sequences < marks:
        raise ValueError(f"{sequences} sequences for {marks} marks; give at least as many")
    texts, peaks, step = load_nli("captions", "train", 2000).to_list(), [], sequences // marks

    def rows() -> Iterator[dict[str, Any]]:
        for k in range(step * marks):
            if k and k % step == 0:
                peaks.append(peak_mb())
            yield texts[k % len(texts)]

    tokenizer = load_tokenizer(embedded_folder())
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=128, id2label=dict(enumerate(LABELS)),
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = BertForSequenceClassification(config).eval()
    started = time.perf_counter()
    stream = IterableDataset.from_generator(rows)
    origin = PIDController.fit(model, tokenizer, stream, correct_only=False).origin
    return {
        "sequences": origin.rows,
        "tokens": origin.tokens,
        "megabytes": [*peaks, peak_mb()],
        "seconds": round(time.perf_counter() - started, 1),
    }


def two_processes(rows: int, recipe: str) -> dict[str, Any]:
    """Attack the same rows by one process and by two, one thread each, turn about."""
    seconds: dict[str, list[float]] = {"1": [], "2": []}
    inside: dict[str, list[float]] = {"1": [], "2": []}
    outcomes = []
    with TemporaryDirectory() as scratch:
        for turn in range(ROUNDS):
            for count in (1, 2):
                log = Path(scratch) / f"{turn}-{count}.jsonl"
                words = ["attack", str(log), "--n", str(rows), "--recipe", recipe, "--json"]
                started = time.perf_counter()
                printed = _launched(words, count)
                seconds[str(count)].append(round(time.perf_counter() - started, 2))
                inside[str(count)].append(printed["seconds"])
                outcomes.append(list(read_outcomes(log).outcomes))
    equal = all(of_log == outcomes[0] for of_log in outcomes)
    return {"rows": rows, "recipe": recipe, "seconds": seconds, "attack": inside, "equal": equal}


def _launched(words: list[str], count: int) -> dict[str, Any]:
    """What a command prints as JSON, run by some processes of one thread each."""
    # whatever its name, this starts processes without graphics cards too; --cpu starts one
    launch = f"accelerate.commands.launch --multi_gpu --num_processes {count} --num_machines 1"
    launch += " --mixed_precision no --dynamo_backend no --num_cpu_threads_per_process 1"
    launch += " --main_process_port 0 -m"
    quiet = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        [sys.executable, "-m", *(launch.split() if count > 1 else []), "pidlib", *words],
        capture_output=True,
        text=True,
        env=os.environ | quiet,
        check=False,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no word"]
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {last[0]}")
    printed = json.loads(done.stdout[done.stdout.index("{") :])
    if printed["processes"] != count:
        raise RuntimeError(f"{printed['processes']} processes did the work of {count}")
    return printed


def peak_mb() -> float:
    """Most memory that this process has held, in MB of 2^20 bytes."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)
