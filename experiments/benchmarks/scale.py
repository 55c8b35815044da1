"""What grows with the text and what does not: memory of a fit, time of an attack in two parts."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from datasets import IterableDataset
from transformers import BertConfig, BertForSequenceClassification

from pidlib.attacks.outcomes import read_outcomes
from pidlib.data.labels import LABELS
from pidlib.data.nli import load_nli
from pidlib.evaluation.results import configuration_hash, write_result
from pidlib.models import base_folder, load_tokenizer
from pidlib.pid import PIDController

SEQUENCES = 100_000
MARKS = 10  # how often the memory is read
ROWS = 200
RECIPE = "textfooler"
RESULT = "bench-scale"


def stream_memory(sequences: int = SEQUENCES, marks: int = MARKS) -> dict[str, Any]:
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
                peaks.append(_peak())
            yield texts[k % len(texts)]

    tokenizer = load_tokenizer(base_folder())
    names = {"id2label": dict(enumerate(LABELS))}
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=128, **names,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = BertForSequenceClassification(config).eval()
    started = time.perf_counter()
    found = PIDController.fit(
        model, tokenizer, IterableDataset.from_generator(rows), correct_only=False
    )
    return {
        "sequences": found.origin.rows,
        "tokens": found.origin.tokens,
        "megabytes": [*peaks, _peak()],
        "seconds": round(time.perf_counter() - started, 1),
    }


def two_processes(rows: int = ROWS, recipe: str = RECIPE, rounds: int = 2) -> dict[str, Any]:
    """Attack the same rows by one process and by two, one thread each, turn about."""
    taken: dict[str, list[float]] = {"1": [], "2": []}
    inside: dict[str, list[float]] = {"1": [], "2": []}
    outcomes = []
    with TemporaryDirectory() as scratch:
        for turn in range(rounds):
            for count in (1, 2):
                log = Path(scratch) / f"{turn}-{count}.jsonl"
                words = ["attack", str(log), "--n", str(rows), "--recipe", recipe, "--json"]
                started = time.perf_counter()
                told = _launched(words, count)
                taken[str(count)].append(round(time.perf_counter() - started, 2))
                inside[str(count)].append(told["seconds"])
                outcomes.append(list(read_outcomes(log).outcomes))
    return {
        "rows": rows,
        "recipe": recipe,
        "seconds": taken,
        "attack": inside,
        "equal": all(found == outcomes[0] for found in outcomes),
    }


def _launched(words: list[str], count: int) -> dict[str, Any]:
    """What a command prints as JSON, run by some processes of one thread each."""
    # whatever its name, this starts processes without graphics cards too; --cpu starts one
    launch = ["accelerate.commands.launch", "--multi_gpu", "--num_processes", str(count)]
    launch += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
    launch += ["--num_cpu_threads_per_process", "1", "--main_process_port", "0", "-m"]
    quiet = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    quiet["TOKENIZERS_PARALLELISM"] = "false"
    done = subprocess.run(
        [sys.executable, "-m", *(launch if count > 1 else []), "pidlib", *words],
        capture_output=True,
        text=True,
        env=quiet,
        check=False,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no word"]
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {last[0]}")
    found = json.loads(done.stdout[done.stdout.index("{") :])
    if found["processes"] != count:
        raise RuntimeError(f"{found['processes']} processes did the work of {count}")
    return found


def _peak() -> float:
    """Most memory that this process has held, in MB."""
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


def run_scale_benchmark(
    results: Path, quick: bool = False, report: Callable[[str], None] = print
) -> dict[str, Any]:
    """Measure both and write `bench-scale.json`."""
    started = time.perf_counter()
    stream = stream_memory(SEQUENCES // (10 if quick else 1))
    report(str(stream))
    attack = two_processes(rounds=1 if quick else 2)
    report(str(attack))
    configuration = {"sequences": stream["sequences"], "rows": ROWS, "recipe": RECIPE}
    return write_result(
        Path(results) / f"{RESULT}.json",
        command=f"python -m pidlib bench --scale{' --quick' if quick else ''}",
        configuration=configuration,
        data={"name": "captions", "sha256": configuration_hash(configuration), "n": ROWS},
        model={"name": "minilm-nli", "sha256": configuration_hash({"model": "minilm-nli"})},
        seed=0,
        counts={"equal": attack["equal"], "sequences": stream["sequences"]},
        seconds=time.perf_counter() - started,
        stream=stream,
        attack=attack,
    )
