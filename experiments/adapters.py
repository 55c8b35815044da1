"""How the adapters that ship with pidlib are made: their data, their training, their record."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, concatenate_datasets

from experiments.experiment import Report
from experiments.rows import HELD_OUT, hold_out
from experiments.training import (
    FreeLB,
    LoraSettings,
    save_adapter,
    set_weights,
    train_lora,
    with_lora,
)
from pidlib.attacks.attack import attack
from pidlib.attacks.outcomes import Outcome, transfer_rows
from pidlib.data.nli import VARIABLE, fingerprint, load_nli
from pidlib.evaluation.accuracy import right_answers
from pidlib.io.embedded import EMBEDDED, MINILM, MPNET, SMOLLM2
from pidlib.io.files import sha256, write_json
from pidlib.models import ADAPTERS, Model, base_classifier, load_adapter, training_record

LICENCES = {
    "captions": "made by pidlib, CC BY 4.0",
    "snli-validation": "SNLI 1.0, CC BY-SA 4.0",
    "snli-counterfactual-train": "counterfactually augmented SNLI, CC BY-SA 4.0",
    "sick-train": "SICK, CC BY-NC-SA 3.0 (non-commercial)",
    "sick-trial": "SICK, CC BY-NC-SA 3.0 (non-commercial)",
}
_SEEN = "The model card of the base lists SNLI and MultiNLI among its pre-training pairs."
NOTES = {
    MINILM.name: _SEEN,
    MPNET.name: _SEEN,
    SMOLLM2.name: "Whether NLI pairs were among the base's texts is not said by its card.",
}
TESTS = ("snli-test", "sick-test")
EXTRA = 2000  # pairs that the last epoch sees twice, for A2T the second time attacked


@dataclass(frozen=True)
class Training:
    """How one adapter is made: of which model, and for how many epochs all that share its start."""

    kind: str = "standard"
    seed: int = 0
    base: str = MINILM.name
    start_epochs: int = 3
    n: int | None = None  # rows of each source, at most

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of LoRA other than MiniLM's; layers bear other names elsewhere."""
        if self.base == MPNET.name:
            targets = ("q", "k", "v", "o", "dense")
            return {"targets": targets, "trained": ("classifier",), "learning_rate": 3e-4}
        if self.base == SMOLLM2.name:
            targets = tuple(f"{name}_proj" for name in ("q", "k", "v", "o", "gate", "up", "down"))
            rates = {"learning_rate": 3e-4, "rank": 8, "alpha": 16}
            return {"targets": targets, "trained": ("score",)} | rates
        return {}

    @property
    def epochs(self) -> int:
        """Epochs that the schedule of the start is made for; larger models need fewer."""
        return 5 if self.base == MINILM.name else 2

    @property
    def start_name(self) -> str:
        """Folder of the start that trainings of a model and a seed share."""
        return f"start-{self.seed}" + ("" if self.base == MINILM.name else f"-{self.base}")


TRAININGS = {
    "minilm-nli": Training(),
    "minilm-nli-a2t": Training("a2t"),
    "minilm-nli-freelb": Training("freelb"),
    "minilm-nli-second": Training(seed=1),
    "mpnet-nli": Training(base=MPNET.name, start_epochs=1),
    "mpnet-nli-freelb": Training("freelb", base=MPNET.name, start_epochs=1),
    "smollm2-nli": Training(base=SMOLLM2.name, start_epochs=1, n=4500),
}


def training_data(n: int | None = None) -> tuple[dict[str, Dataset], dict[str, Dataset]]:
    """Training and validation rows of the standard adapter, by source.

    Captions always; the real files where PIDLIB_DATA_DIR names a folder. From SNLI's
    validation file 1,000 pairs are held out, whole premises at a time. Pairs whose two
    texts also stand in a test file are left out.
    """
    held_out = HELD_OUT if n is None else min(n, HELD_OUT)
    train = {"captions": load_nli("captions", split="train", n=n)}
    validation = {"captions": load_nli("captions", split="validation", n=held_out)}
    if not os.environ.get(VARIABLE):
        return train, validation
    tested, held = set(), set()
    for name in TESTS:
        tested |= {texts_of(row) for row in load_nli(name)}
    for name in list(LICENCES)[1:]:
        rows = load_nli(name)
        if name == "snli-validation":
            rows, validation[name] = hold_out(rows, HELD_OUT)
            held = {texts_of(row) for row in validation[name]}
        unseen = [k for k, row in enumerate(rows) if texts_of(row) not in tested | held]
        train[name] = rows.select(unseen)
    return train, validation


def adapter_record(name: str) -> dict[str, Any]:
    """Name and hashes of an adapter and its base, as a result file holds them."""
    record = training_record(name)
    return {"name": name, "sha256": record["adapter"]["sha256"], "base": record["base"]}


def make_adapter(
    name: str,
    runs: Path,
    settings: LoraSettings | None = None,
    n: int | None = None,
    report: Report = print,
    target: Path | None = None,
    every: float = 60.0,
) -> dict:
    """Train an adapter, measure it, write its record."""
    if name not in TRAININGS:
        raise ValueError(f"unknown adapter {name!r}; known: {list(TRAININGS)}")
    if n is not None and target is None:
        raise ValueError(f"n = {n} makes a trial; name its folder with target (--target)")
    training, started = TRAININGS[name], time.perf_counter()
    base = EMBEDDED[training.base]
    train, validation = (
        {k: _first(part, n or training.n) for k, part in of.items()} for of in training_data(n)
    )
    report(f"training pairs: { {key: len(part) for key, part in train.items()} }")
    settings = settings or LoraSettings(epochs=training.epochs)
    model, stages = _train(name, runs, settings, train, validation, report, every)
    folder = target or ADAPTERS / name
    record = {
        "name": name,
        "training": asdict(training),
        "base": {"name": base.name, "sha256": base.sha256},
        "adapter": save_adapter(model, folder, base.name),
        "note": NOTES[base.name],
        "data": [_source(key, part) for key, part in train.items()],
        "held_out": [_source(key, part) for key, part in validation.items()],
        **stages,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
    write_json(folder / "training.json", record)  # what is measured is what was written
    record["measured"] = _measure(folder, validation, n)
    write_json(folder / "training.json", record)
    report(f"measured: {record['measured']}; {time.perf_counter() - started:.0f} s in all")
    return record


def _train(
    name: str,
    runs: Path,
    settings: LoraSettings,
    train: Mapping[str, Dataset],
    validation: Mapping[str, Dataset],
    report: Report,
    every: float,
) -> tuple[Any, dict[str, Any]]:
    """The start that trainings share, then the last epoch; the model and what was done."""
    training, rows = TRAININGS[name], concatenate_datasets(list(train.values()))
    first = replace(settings, seed=training.seed, **training.settings)
    stop = min(training.start_epochs, first.epochs)
    begun = runs / training.start_name
    base = _fresh(training, "eager")  # its backward pass is the faster on a processor
    curve = train_lora(*base, rows, validation, begun, first, report, stop=stop, every=every)
    start = begun / f"epoch-{stop}.safetensors"

    extra, more = rows.select(_twice(len(rows), training.seed)), {}
    if training.kind == "a2t":
        captions = len(train["captions"])
        extra, attacked = _attacked(start, first, captions, rows, begun, report)
        more["a2t"] = dict(sorted(Counter(outcome.status for outcome in attacked).items()))
    rows = concatenate_datasets([rows, extra])
    left = 1 - stop / first.epochs if stop < first.epochs else 1.0
    last = replace(first, epochs=1, warmup_steps=0, learning_rate=left * first.learning_rate)
    method = FreeLB() if training.kind == "freelb" else None
    if method:
        more["freelb"] = asdict(method)
    end = train_lora(
        *_fresh(training, "eager"), rows, validation, runs / name, last, report,
        start=start, method=method, every=every,
    )  # fmt: skip
    return _trained(runs / name / "epoch-1.safetensors", first, training), {
        "start": _stage(first, curve, stop) | {"sha256": sha256(start)},
        "last": _stage(last, end, 1) | {"pairs": len(rows), "seen_twice": len(extra)} | more,
        "seconds": round(sum(epoch["seconds"] for c in (curve, end) for epoch in c[:stop]), 1),
    }


def _first(rows: Dataset, n: int | None) -> Dataset:
    return rows if n is None else rows.select(range(min(n, len(rows))))


def _twice(n: int, seed: int) -> list[int]:
    """Places of the rows that the last epoch sees twice."""
    chosen = np.random.default_rng(seed).choice(n, min(EXTRA, n), replace=False)
    return sorted(int(k) for k in chosen)


def _fresh(training: Training, attention: str | None = None) -> Model:
    """Return what a training starts from."""
    return base_classifier(training.seed, attention, EMBEDDED[training.base])


def _trained(checkpoint: Path, settings: LoraSettings, training: Training) -> Any:
    """Return the wrapped model with the weights of a checkpoint, in evaluation mode."""
    model = with_lora(_fresh(training).model, settings).eval()
    set_weights(model, checkpoint)
    return model


def _attacked(
    start: Path, settings: LoraSettings, captions: int, rows: Dataset, folder: Path, report: Report
) -> tuple[Dataset, list[Outcome]]:
    """Attack the chosen rows by A2T; captions with the lexicon, real text with PPDB."""
    model = _trained(start, settings, Training("a2t", settings.seed)).merge_and_unload()
    tokenizer = base_classifier(settings.seed).tokenizer
    places = _twice(len(rows), settings.seed)
    split = sum(place < captions for place in places)  # places rise, and captions come first
    changed, outcomes = [], []
    for resources, ids in (("lexicon", places[:split]), ("ppdb", places[split:])):
        if not ids:
            continue
        subset, log = rows.select(ids), folder / f"a2t-{resources}.jsonl"
        new = attack(model, tokenizer, subset, "a2t", resources, settings.seed, ids=ids, log=log)
        report(f"A2T, {resources}: {sum(o.status == 'succeeded' for o in new)} of {len(new)}")
        changed += transfer_rows(subset, new, ids)
        outcomes += new
    columns = {key: [row[key] for row in changed] for key in rows.features}
    return Dataset.from_dict(columns, features=rows.features), outcomes


def _stage(settings: LoraSettings, curve: list, epochs: int) -> dict:
    return {"settings": asdict(settings), "epochs": epochs, "curve": curve[:epochs]}


def _measure(folder: Path, validation: dict[str, Dataset], n: int | None) -> list[dict]:
    """Counts of right answers after the half-precision round trip."""
    loaded = load_adapter(folder)
    tests = {f"{key} (held out)": rows for key, rows in validation.items()}
    tests["captions test"] = load_nli("captions", split="test", n=n)
    if os.environ.get(VARIABLE):
        tests |= {name: load_nli(name, n=n) for name in TESTS}
    measured = []
    for key, rows in tests.items():
        right = int(right_answers(*loaded, rows).sum())
        measured.append({"data": key, "n": len(rows), "right": right})
    return measured


def _source(name: str, rows: Dataset) -> dict:
    sha = fingerprint(rows)
    return {"name": name, "n": len(rows), "sha256": sha, "licence": LICENCES[name]}


def texts_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """Both texts of a pair as they are compared."""
    return row["premise"].strip().lower(), row["hypothesis"].strip().lower()
