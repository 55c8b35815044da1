"""How the adapters that ship with pidlib are made: their data, their training, their record."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from datasets import Dataset, concatenate_datasets

from pidlib.data import VARIABLE, fingerprint, hold_out, load_nli
from pidlib.files import write_json
from pidlib.models import ADAPTERS, BASE, BASE_SHA256, base_classifier, load_adapter
from pidlib.predictions import predict
from pidlib.training import LoraSettings, save_adapter, set_mean, train_lora, with_lora

SNLI = "SNLI 1.0, CC BY-SA 4.0"
LICENCES = {
    "captions": "made by pidlib, CC BY 4.0",
    "snli-validation": SNLI,
    "snli-counterfactual-train": "counterfactually augmented SNLI, CC BY-SA 4.0",
    "sick-train": "SICK, CC BY-NC-SA 3.0 (non-commercial)",
    "sick-trial": "SICK, CC BY-NC-SA 3.0 (non-commercial)",
}
HELD_OUT = 1000


def training_data() -> tuple[dict[str, Dataset], dict[str, Dataset]]:
    """Training and validation rows of the standard adapter, by source.

    Captions always; the real files where PIDLIB_DATA_DIR names a folder. From SNLI's
    validation file 1,000 pairs are held out, whole premises at a time. Pairs whose two
    texts also stand in a test file are left out.

    Returns
    -------
    (train, validation) : tuple of dict
        Data sets by name.

    Source: ours; the paper trains on SNLI or MNLI.
    """
    train = {"captions": load_nli("captions", split="train")}
    validation = {"captions": load_nli("captions", split="validation", n=HELD_OUT)}
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
    run: Path,
    settings: LoraSettings | None = None,
    n: int | None = None,
    report: Callable[[str], None] = print,
    target: Path | None = None,
) -> dict:
    """Train an adapter, choose its epochs on held-out pairs, measure it, write its record.

    Parameters
    ----------
    name : str
        Its name for `load_model`.
    run : Path
        Folder of checkpoints; a broken-off run goes on from the last whole epoch.
    settings : LoraSettings, optional
    n : int, optional
        Rows of each source; for a quick trial.
    report : callable
    target : Path, optional
        Folder that receives the adapter; by default the one `load_model` reads.

    Returns
    -------
    dict
        The training record. Accuracies are counts, measured after the round trip through
        half precision.

    Raises
    ------
    ValueError
        A trial (`n`) without a `target`: it would replace the shipped adapter.

    Source: §3.1.
    """
    if n is not None and target is None:
        raise ValueError(f"n = {n} makes a trial; name its folder with target (--target)")
    settings = settings or LoraSettings()
    train, validation = training_data()
    if n is not None:
        train = {key: rows.select(range(min(n, len(rows)))) for key, rows in train.items()}
    started = time.perf_counter()
    base = base_classifier(settings.seed, "eager")  # its backward pass is the faster on a processor
    rows = concatenate_datasets(list(train.values()))
    report(f"{len(rows)} training pairs: { {key: len(part) for key, part in train.items()} }")
    curve = train_lora(base.model, base.tokenizer, rows, validation, run, settings, report)
    model = with_lora(base_classifier(settings.seed).model, settings).eval()
    tried = [{"epochs": [e["epoch"]], "validation": e["validation"]} for e in curve.epochs]
    if len(curve.epochs) > 1:
        last = [len(curve.epochs) - 1, len(curve.epochs)]
        set_mean(model, [run / f"epoch-{k}.safetensors" for k in last])
        scores = {
            key: round(float(np.mean(predict(model, base.tokenizer, held) == truth)), 5)
            for key, held in validation.items()
            for truth in [np.array(held["label"])]
        }
        tried.append({"epochs": last, "validation": scores})
    chosen = max(tried, key=lambda one: np.mean(list(one["validation"].values())))["epochs"]
    set_mean(model, [run / f"epoch-{k}.safetensors" for k in chosen])
    folder = target or ADAPTERS / name
    adapter = save_adapter(model, folder, BASE)
    record = {
        "name": name,
        "base": {"name": BASE, "sha256": BASE_SHA256},
        "adapter": adapter,
        "note": "The model card of the base lists SNLI and MultiNLI among its pre-training pairs.",
        "data": [_source(key, part) for key, part in train.items()],
        "held_out": [_source(key, part) for key, part in validation.items()],
        "settings": asdict(settings),
        "curve": curve.epochs,
        "tried": tried,
        "chosen_epochs": chosen,
        "chosen_by": "mean validation accuracy over the held-out sets; two epochs: their mean",
        "seconds": round(sum(epoch["seconds"] for epoch in curve.epochs), 1),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
    write_json(folder / "training.json", record)
    record["measured"] = _measure(folder, validation)
    write_json(folder / "training.json", record)
    report(f"measured: {record['measured']}; {time.perf_counter() - started:.0f} s in all")
    return record


def _measure(folder: Path, validation: dict[str, Dataset]) -> list[dict]:
    """Counts of right answers after the half-precision round trip."""
    loaded = load_adapter(folder)
    tests = {f"{key} (held out)": rows for key, rows in validation.items()}
    tests["captions test"] = load_nli("captions", split="test")
    if os.environ.get(VARIABLE):
        tests["snli-test"] = load_nli("snli-test")
        tests["sick-test"] = load_nli("sick-test")
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
