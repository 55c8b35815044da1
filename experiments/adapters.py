"""How the adapters that ship with pidlib are made: their data, their training, their record."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, concatenate_datasets

from experiments.training import (
    Curve,
    FreeLB,
    LoraSettings,
    save_adapter,
    set_weights,
    train_lora,
    with_lora,
)
from pidlib.attacks.attack import attack
from pidlib.attacks.outcomes import Outcome, transfer_rows
from pidlib.data.nli import VARIABLE, fingerprint, hold_out, load_nli
from pidlib.estimation.estimator import Estimator
from pidlib.estimation.pretrained import CONTROLS
from pidlib.evaluation.accuracy import predict
from pidlib.io.environment import versions
from pidlib.io.files import sha256, write_json
from pidlib.models import (
    ADAPTERS,
    BASE,
    BASE_SHA256,
    TARGETS,
    Model,
    base_classifier,
    base_folder,
    decoder_classifier,
    load_adapter,
    load_tokenizer,
    training_record,
)

SNLI = "SNLI 1.0, CC BY-SA 4.0"
LICENCES = {
    "captions": "made by pidlib, CC BY 4.0",
    "snli-validation": SNLI,
    "snli-counterfactual-train": "counterfactually augmented SNLI, CC BY-SA 4.0",
    "sick-train": "SICK, CC BY-NC-SA 3.0 (non-commercial)",
    "sick-trial": "SICK, CC BY-NC-SA 3.0 (non-commercial)",
}
HELD_OUT = 1000
START_EPOCHS = 3  # shared by all trainings of a seed
EXTRA = 2000  # pairs that the last epoch sees twice, for A2T the second time attacked


@dataclass(frozen=True)
class Training:
    """How one adapter is made."""

    kind: str = "standard"
    seed: int = 0


TRAININGS = {
    "minilm-nli": Training(),
    "minilm-nli-a2t": Training("a2t"),
    "minilm-nli-freelb": Training("freelb"),
    "minilm-nli-second": Training(seed=1),
    "minilm-opt": Training("decoder"),
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
    for name in ("snli-test", "sick-test"):
        tested |= {_texts(row) for row in load_nli(name)}
    for name in list(LICENCES)[1:]:
        rows = load_nli(name)
        if name == "snli-validation":
            rows, validation[name] = hold_out(rows, HELD_OUT)
            held = {_texts(row) for row in validation[name]}
        kept = [k for k, row in enumerate(rows) if _texts(row) not in tested | held]
        train[name] = rows.select(kept)
    return train, validation


def make_adapter(
    name: str,
    runs: Path,
    settings: LoraSettings | None = None,
    n: int | None = None,
    report: Callable[[str], None] = print,
    target: Path | None = None,
    every: float = 60.0,
) -> dict:
    """Train an adapter, measure it, write its record."""
    if name not in TRAININGS:
        raise ValueError(f"unknown adapter {name!r}; known: {list(TRAININGS)}")
    if n is not None and target is None:
        raise ValueError(f"n = {n} makes a trial; name its folder with target (--target)")
    training = TRAININGS[name]
    first = replace(settings or LoraSettings(), seed=training.seed)
    if training.kind == "decoder":
        first = replace(first, targets=TARGETS, trained=("score",))
    stop = min(START_EPOCHS, first.epochs)
    left = 1 - stop / first.epochs if stop < first.epochs else 1.0
    last = replace(first, epochs=1, warmup_steps=0, learning_rate=left * first.learning_rate)
    train, validation = training_data(n)
    if n is not None:
        train, validation = (
            {key: rows.select(range(min(n, len(rows)))) for key, rows in part.items()}
            for part in (train, validation)
        )
    started = time.perf_counter()
    rows = concatenate_datasets(list(train.values()))
    report(f"{len(rows)} training pairs: { {key: len(part) for key, part in train.items()} }")

    begun = runs / f"start-{training.seed}{'-decoder' if training.kind == 'decoder' else ''}"
    base = _fresh(training, "eager")  # its backward pass is the faster on a processor
    curve = train_lora(*base, rows, validation, begun, first, report, stop=stop, every=every)
    start = begun / f"epoch-{stop}.safetensors"
    extra = rows.select(_twice(len(rows), training.seed))
    attacked: list[Outcome] = []
    if training.kind == "a2t":
        extra, attacked = _attacked(
            start, first, extra, len(train["captions"]), rows, begun, report
        )
    rows = concatenate_datasets([rows, extra])
    run = runs / name
    method = FreeLB() if training.kind == "freelb" else None
    base = _fresh(training, "eager")
    end = train_lora(
        *base, rows, validation, run, last, report, start=start, method=method, every=every
    )

    model = _trained(run / "epoch-1.safetensors", first, training)
    folder = target or ADAPTERS / name
    adapter = save_adapter(model, folder, BASE)
    record = {
        "name": name,
        "training": asdict(training),
        "base": {"name": BASE, "sha256": BASE_SHA256},
        "adapter": adapter,
        "note": "The model card of the base lists SNLI and MultiNLI among its pre-training pairs.",
        "data": [_source(key, part) for key, part in train.items()],
        "held_out": [_source(key, part) for key, part in validation.items()],
        "start": _stage(first, curve, stop) | {"sha256": sha256(start)},
        "last": _stage(last, end, 1) | {"pairs": len(rows), "seen_twice": len(extra)},
        "seconds": round(
            sum(epoch["seconds"] for c in (curve, end) for epoch in c.epochs[:stop]), 1
        ),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
    if method:
        record["last"]["freelb"] = asdict(method)
    if attacked:
        kinds = [outcome.status for outcome in attacked]
        record["last"]["a2t"] = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    write_json(folder / "training.json", record)
    record["measured"] = _measure(folder, validation, n)
    write_json(folder / "training.json", record)
    report(f"measured: {record['measured']}; {time.perf_counter() - started:.0f} s in all")
    return record


def _twice(n: int, seed: int) -> list[int]:
    """Places of the rows that the last epoch sees twice."""
    chosen = np.random.default_rng(seed).choice(n, min(EXTRA, n), replace=False)
    return sorted(int(k) for k in chosen)


def _fresh(training: Training, attention: str | None = None) -> Model:
    """Return what a training starts from."""
    if training.kind != "decoder":
        return base_classifier(training.seed, attention)
    folder = base_folder()
    model = decoder_classifier(folder, training.seed, attention)
    return Model(model, load_tokenizer(folder, decoder=True))


def _trained(checkpoint: Path, settings: LoraSettings, training: Training) -> Any:
    """Return the wrapped model with the weights of a checkpoint, in evaluation mode."""
    model = with_lora(_fresh(training).model, settings).eval()
    set_weights(model, checkpoint)
    return model


def _attacked(
    start: Path,
    settings: LoraSettings,
    chosen: Dataset,
    captions: int,
    rows: Dataset,
    folder: Path,
    report: Callable[[str], None],
) -> tuple[Dataset, list[Outcome]]:
    """Attack the chosen rows by A2T; captions with the lexicon, real text with PPDB."""
    model = _trained(start, settings, Training("a2t", settings.seed)).merge_and_unload()
    tokenizer = base_classifier(settings.seed).tokenizer
    places = _twice(len(rows), settings.seed)
    parts = {"lexicon": [], "ppdb": []}
    for k, place in enumerate(places):
        parts["lexicon" if place < captions else "ppdb"].append(k)
    changed, outcomes = {}, []
    for resources, members in parts.items():
        if not members:
            continue
        subset, ids = chosen.select(members), [places[k] for k in members]
        log = folder / f"a2t-{resources}.jsonl"
        found = attack(model, tokenizer, subset, "a2t", resources, settings.seed, ids=ids, log=log)
        report(f"A2T, {resources}: {sum(o.status == 'succeeded' for o in found)} of {len(found)}")
        changed |= dict(zip(members, transfer_rows(subset, found, ids), strict=True))
        outcomes += found
    columns = {key: [changed[k][key] for k in range(len(places))] for key in rows.features}
    return Dataset.from_dict(columns, features=rows.features), outcomes


def _stage(settings: LoraSettings, curve: Curve, epochs: int) -> dict:
    return {"settings": asdict(settings), "epochs": epochs, "curve": curve.epochs[:epochs]}


def _measure(folder: Path, validation: dict[str, Dataset], n: int | None) -> list[dict]:
    """Counts of right answers after the half-precision round trip."""
    loaded = load_adapter(folder)
    tests = {f"{key} (held out)": rows for key, rows in validation.items()}
    tests["captions test"] = load_nli("captions", split="test", n=n)
    if os.environ.get(VARIABLE):
        tests["snli-test"] = load_nli("snli-test", n=n)
        tests["sick-test"] = load_nli("sick-test", n=n)
    measured = []
    for key, rows in tests.items():
        right = int(np.sum(predict(*loaded, rows) == np.array(rows["label"])))
        measured.append({"data": key, "n": len(rows), "right": right})
    return measured


def _source(name: str, rows: Dataset) -> dict:
    return {
        "name": name,
        "n": len(rows),
        "sha256": fingerprint(rows),
        "licence": LICENCES[name],
    }


def _texts(row: dict) -> tuple[str, str]:
    return row["premise"].strip().lower(), row["hypothesis"].strip().lower()


def ship_control(
    chosen: Path, name: str, model: str, data: str, command: str, target: Path = CONTROLS
) -> dict[str, Any]:
    """Put a chosen control beside the adapters, with its record."""
    if data not in LICENCES:
        raise ValueError(f"the licence of {data!r} is not known; known: {list(LICENCES)}")
    estimator = Estimator.from_pretrained(chosen)
    choice = json.loads((Path(chosen) / "selection.json").read_text(encoding="utf-8"))
    record = {
        "model": model,
        "adapter_sha256": training_record(model)["adapter"]["sha256"],
        "summary": estimator.summary(),
        "data": {"name": data, "licence": LICENCES[data], "rows": estimator.origin.rows},
        "command": command,
        "tried": choice["tried"],
        "versions": versions(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    estimator.save_pretrained(target / name)
    write_json(target / name / "fit.json", record)
    return record
