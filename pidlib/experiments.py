"""Whole experiments: fit, attack, judge, and write one result file."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from pidlib.adapters import HELD_OUT
from pidlib.attacks import attack
from pidlib.controller import PIDController
from pidlib.data import fingerprint, hold_out, load_nli
from pidlib.evaluation import Paired, Proportion, compare, transfer
from pidlib.models import BASE, BASE_SHA256, load_model, training_record
from pidlib.outcomes import read_outcomes, transfer_rows
from pidlib.results import write_result

CONTROLS = (
    ("P", 0.99),
    ("PI", 0.99),
    ("PD", 0.99),
    ("PID", 0.99),
    ("P", 0.95),
    ("PD", 0.95),
)


@dataclass(frozen=True)
class TransferTrial:
    """The paper's trial: examples made against the uncontrolled model, shown to the controlled.

    Attributes
    ----------
    data : str
        `"captions"` (its test split) or a file under PIDLIB_DATA_DIR such as `"snli-test"`.
    n : int
        Rows attacked by each recipe, the first of the data.
    clean : int
        Rows judged without attack, the first of the data; at least `n`.
    recipes : tuple of str
    resources : str
        Where candidate words come from: `"lexicon"` or `"ppdb"`.
    controls : tuple of (str, float)
        Scheme and variance threshold of each control.
    c : float
    fitted_on : int
        Training pairs that the subspaces are fitted on.
    model : str
    seed : int

    Source: §3.2, Tables 8 and 9.
    """

    data: str = "captions"
    n: int = 500
    clean: int = 2000
    recipes: tuple[str, ...] = ("textfooler", "textbugger")
    resources: str = "lexicon"
    controls: tuple[tuple[str, float], ...] = CONTROLS
    c: float = 1e-3
    fitted_on: int = 2000
    model: str = "minilm-nli"
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.n <= self.clean:
            raise ValueError(f"n = {self.n} and clean = {self.clean}; need 1 <= n <= clean")

    @property
    def name(self) -> str:
        """Stem of the result file."""
        return f"transfer-{self.data}"

    @property
    def command(self) -> str:
        """What to type to run it again."""
        return (
            f"python -m pidlib reproduce transfer --data {self.data} --n {self.n} "
            f"--clean {self.clean} --resources {self.resources}"
            + (f" --seed {self.seed}" if self.seed else "")
        )


def control_name(scheme: str, variance: float) -> str:
    """Name of a control in result files and figures.

    Examples
    --------
    >>> control_name("PD", 0.99)
    'P-D 99 %'

    Source: ours.
    """
    return f"{'-'.join(scheme.replace('-', ''))} {100 * variance:g} %"


def fit_rows(data: str, n: int) -> Dataset:
    """Return the pairs that subspaces are fitted on when a model is judged on `data`.

    Captions: the training split. SNLI: its validation file without the held-out pairs.

    Source: §3.1 (training data that the model predicts accurately).
    """
    if data == "captions":
        return load_nli("captions", split="train", n=n)
    kept, _ = hold_out(load_nli("snli-validation"), HELD_OUT)
    return kept.select(range(min(n, len(kept))))


def run_transfer(
    trial: TransferTrial,
    results: Path,
    runs: Path,
    report: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Run a transfer trial and write its result file.

    Parameters
    ----------
    trial : TransferTrial
    results : Path
        Folder of the result file; outcomes of the attacks go into its folder `attacks`.
    runs : Path
        Folder of unfinished attacks; a broken-off one goes on where it stopped.
    report : callable
        Gets one line of text now and then.

    Returns
    -------
    dict
        The result, as written.

    Source: Tables 8 and 9.
    """
    started = time.perf_counter()
    model, tokenizer = load_model(trial.model)
    split = "test" if trial.data == "captions" else None
    rows = load_nli(trial.data, split=split, n=trial.clean)
    attacked, summary = {}, {}
    for recipe in trial.recipes:
        log = runs / f"{trial.data}-{trial.resources}-{recipe}-{trial.n}.jsonl"
        outcomes = attack(
            model,
            tokenizer,
            rows.select(range(trial.n)),
            recipe=recipe,
            resources=trial.resources,
            seed=trial.seed,
            log=log,
            data=trial.data,
        )
        attacked[recipe] = transfer_rows(rows, outcomes)
        summary[recipe] = _summary(outcomes)
        stored = results / "attacks" / f"{trial.data}-{recipe}.jsonl"
        stored.parent.mkdir(parents=True, exist_ok=True)
        partial = stored.with_suffix(".partial")
        shutil.copyfile(log, partial)
        os.replace(partial, stored)
        report(f"{recipe}: {summary[recipe]}")
    scheme = "PID"  # one fit serves every scheme and threshold
    fitted = PIDController.fit(
        model, tokenizer, fit_rows(trial.data, trial.fitted_on), scheme=scheme, c=trial.c
    )
    controls: dict[str, Any] = {"none": None}
    for scheme, variance in trial.controls:
        controls[control_name(scheme, variance)] = fitted.retune(scheme=scheme, variance=variance)
    right = transfer(model, tokenizer, {"clean": rows, **attacked}, controls)
    counts = {
        name: {key: {"right": int(bits.sum()), "n": len(bits)} for key, bits in sets.items()}
        for name, sets in right.items()
    }
    report(str(counts))
    return write_result(
        results / f"{trial.name}.json",
        command=trial.command,
        configuration={k: v for k, v in asdict(trial).items() if k != "model"}
        | {"controls": [list(pair) for pair in trial.controls], "recipes": list(trial.recipes)},
        data={"name": trial.data, "n": trial.n, "clean": len(rows), "sha256": fingerprint(rows)},
        model={
            "name": trial.model,
            "sha256": training_record(trial.model)["adapter"]["sha256"],
            "base": {"name": BASE, "sha256": BASE_SHA256},
        },
        seed=trial.seed,
        counts=counts,
        attacks=summary,
        examples={
            name: {key: pack(bits) for key, bits in sets.items()} for name, sets in right.items()
        },
        seconds=time.perf_counter() - started,
    )


def stored_rows(rows: Dataset, data: str, recipe: str, results: Path) -> list[dict]:
    """Attacked rows rebuilt from the outcomes that a trial stored.

    Raises
    ------
    FileNotFoundError
        No such outcomes.
    ValueError
        The rows are not those that were attacked.

    Source: ours.
    """
    file = read_outcomes(results / "attacks" / f"{data}-{recipe}.jsonl")
    return transfer_rows(rows, file.outcomes)


def proportions(result: dict[str, Any]) -> dict[str, dict[str, Proportion]]:
    """Counts of a result as proportions, by control and set.

    Source: ours.
    """
    return {
        name: {key: Proportion(c["right"], c["n"]) for key, c in sets.items()}
        for name, sets in result["counts"].items()
    }


def gains_over_none(result: dict[str, Any], control: str) -> dict[str, Paired]:
    """Compare a control of a result with no control, row by row, for each set.

    Source: ours.
    """
    examples = result["examples"]
    if control not in examples:
        raise ValueError(f"no control {control!r} in the result; there are {sorted(examples)}")
    return {
        key: compare(
            unpack(examples["none"][key], result["counts"]["none"][key]["n"]),
            unpack(bits, result["counts"][control][key]["n"]),
        )
        for key, bits in examples[control].items()
    }


def pack(bits: np.ndarray) -> str:
    """True and false answers as hexadecimal digits, eight to the byte.

    Examples
    --------
    >>> pack(np.array([True, False, True]))
    'a0'

    Source: ours.
    """
    return np.packbits(np.asarray(bits, bool)).tobytes().hex()


def unpack(text: str, n: int) -> np.ndarray:
    """Undo `pack`, for `n` answers.

    Examples
    --------
    >>> unpack("a0", 3).tolist()
    [True, False, True]

    Source: ours.
    """
    if len(text) != 2 * -(-n // 8):
        raise ValueError(f"{len(text)} digits cannot hold {n} answers")
    return np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8), count=n).astype(bool)


def _summary(outcomes: list) -> dict[str, Any]:
    kinds = [outcome.status for outcome in outcomes]
    return {
        **{kind: kinds.count(kind) for kind in ("succeeded", "failed", "skipped")},
        "queries": sum(outcome.queries for outcome in outcomes),
        "forwards": sum(outcome.forwards for outcome in outcomes),
    }
