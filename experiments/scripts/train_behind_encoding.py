"""Classifiers trained behind an encoding by synonyms, beside one trained on text as written.

python -m experiments.scripts.train_behind_encoding [NAME ...]

Each starts from the base with a new head and sees the shipped model's training pairs for two
epochs; what differs is the encoding that its tokenizer applies. Jones et al. (2020) and Wang et al.
(2021) train so: the model may learn to do without the words that the encoding merges.

Fixed before a training ended: the questions are those of FAMILY, the margin is MARGIN, and the
gain is of a model trained and read behind an encoding over the one of the same seed trained and
read without, the mean over the seeds that both have. Prices are compared the same way.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset, concatenate_datasets
from safetensors import safe_open
from torch import nn

from experiments.adapters import adapter_record
from experiments.conditions import Condition
from experiments.encoding import CHOSEN, COUNTED, encoding_of
from experiments.experiment import cached_json
from experiments.rows import HELD_OUT, fit_rows, hold_out
from experiments.scripts.kept_meaning import (
    MODEL,
    READINGS,
    AgreedSynonyms,
    Swap,
    every_text,
    judged_rows,
    margins,
    price_rows,
    strict_encoding,
)
from pidbook.estimation import NormalisedTokenizer
from pidbook.evaluation.results import write_result
from pidbook.evaluation.trial_results import pack
from pidlib.attacks.synonyms import candidates
from pidlib.data.batches import MAX_LENGTH, texts
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.accuracy import right_answers
from pidlib.evaluation.exact import choices, one_more_change
from pidlib.io.files import write_tensors
from pidlib.models import base_classifier, load_model

FILES = ("snli-validation", "snli-counterfactual-train", "sick-train", "sick-trial")
TESTS = ("snli-test", "sick-test")
EPOCHS, BATCH, WARMUP, RATE, DECAY = 2, 32, 200, 6e-4, 0.01
RANK, ALPHA, DROPOUT = 16, 32, 0.1
# (training, read behind): name, encoding while training, seed
TRAININGS = (
    ("plain 0", "plain", 0),
    ("strict 0", "strict", 0),
    ("encoding 0", "encoding", 0),
    ("plain 1", "plain", 1),
    ("strict 1", "strict", 1),
    ("encoding 1", "encoding", 1),
)
LISTS = ("judged", "ppdb, one word")
FAMILY = tuple((kind, of) for kind in ("strict", "encoding") for of in LISTS)
MARGIN = 0.02
MOST = 5  # candidates of a word, as in the exact trial
EXACT = range(3000, 3400)  # rows of snli-test, the first of the exact trial's
KEEP = 200  # steps between checkpoints
RUNS = Path("runs/behind-encoding")
RESULT = Path(f"book/results/behind-encoding-{MODEL}.json")


def training_rows() -> Dataset:
    """The shipped model's training pairs: no held-out premise, no pair of a test file."""
    parts = [load_nli("captions", split="train")]
    tested = {texts_of(row) for name in TESTS for row in load_nli(name)}
    held: set[tuple[str, str]] = set()
    for name in FILES:
        rows = load_nli(name)
        if name == "snli-validation":
            rows, out = hold_out(rows, HELD_OUT)
            held = {texts_of(row) for row in out}
        unseen = [k for k, row in enumerate(rows) if texts_of(row) not in tested | held]
        parts.append(rows.select(unseen))
    return concatenate_datasets(parts)


def texts_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """Both texts of a pair as they are compared."""
    return row["premise"].strip().lower(), row["hypothesis"].strip().lower()


def with_lora(model: Any, seed: int) -> Any:
    """Low-rank updates of every linear map, head in full; dropout in the hidden states alone."""
    from peft import LoraConfig, get_peft_model

    for name, module in model.named_modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0 if name.endswith("attention.self.dropout") else DROPOUT
    config = LoraConfig(
        r=RANK,
        lora_alpha=ALPHA,
        lora_dropout=0.0,
        target_modules=["query", "key", "value", "dense"],
        exclude_modules=r".*(pooler|classifier).*",
        modules_to_save=["pooler", "classifier"],
        task_type="SEQ_CLS",
    )
    torch.manual_seed(seed)
    return get_peft_model(model, config)


def batches(lengths: np.ndarray, seed: int) -> list[np.ndarray]:
    """Batches of like length in random order: sorted within windows of 50 batches."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(lengths))
    parts = []
    for start in range(0, len(order), 50 * BATCH):
        window = order[start : start + 50 * BATCH]
        window = window[np.argsort(lengths[window], kind="stable")]
        parts += [window[k : k + BATCH] for k in range(0, len(window), BATCH)]
    random.shuffle(parts)
    return parts


def train(name: str, encoding: Callable[[str], str] | None, seed: int, rows: Dataset) -> Any:
    """The trained model, merged; a training that was stopped goes on at its last checkpoint."""
    model, tokenizer = base_classifier(seed, "eager")
    wrapped = with_lora(model, seed)
    trained = {k: p for k, p in wrapped.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(trained.values(), lr=RATE, weight_decay=DECAY)
    reads = NormalisedTokenizer(tokenizer, encoding) if encoding else tokenizer
    encoded = reads(*texts(rows), truncation=True, max_length=MAX_LENGTH)
    lengths = np.array([len(ids) for ids in encoded["input_ids"]])
    labels = torch.tensor(rows["label"])
    order = [part for epoch in range(EPOCHS) for part in batches(lengths, seed * 1000 + epoch)]
    path, began = RUNS / f"{name}.safetensors", 0
    if path.is_file():
        began = take(path, trained, optimizer)
    wrapped.train()
    losses = []
    for step in range(began + 1, len(order) + 1):
        torch.manual_seed(seed * 10**6 + step)  # so that a training may stop between any two
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(step / WARMUP, 1 - step / len(order), 1.0)
        part = order[step - 1]
        columns = ("input_ids", "token_type_ids", "attention_mask")
        batch = {key: [encoded[key][k] for k in part] for key in columns}
        with torch.autocast("cpu", torch.bfloat16):
            logits = wrapped(**tokenizer.pad(batch, return_tensors="pt")).logits
        loss = nn.functional.cross_entropy(logits.float(), labels[part])
        loss.backward()
        nn.utils.clip_grad_norm_(trained.values(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        if step % KEEP == 0 or step == len(order):
            keep(path, trained, optimizer, step)
            print(name, f"step {step}/{len(order)} loss {np.mean(losses[-KEEP:]):.4f}", flush=True)
    return wrapped.eval().merge_and_unload().float()


MOMENTS = {"mean": "exp_avg", "square": "exp_avg_sq", "step": "step"}


def keep(path: Path, trained: Mapping[str, Any], optimizer: Any, step: int) -> None:
    """Write weights and moments of the optimiser."""
    tensors = {f"weight.{k}": p.detach() for k, p in trained.items()}
    for k, p in trained.items():
        tensors |= {f"{our}.{k}": optimizer.state[p][their] for our, their in MOMENTS.items()}
    tensors["at"] = torch.tensor(step)
    write_tensors(path, {k: tensor.clone() for k, tensor in tensors.items()})


def take(path: Path, trained: Mapping[str, Any], optimizer: Any) -> int:
    """Read them back; return the step."""
    with safe_open(path, framework="pt") as file, torch.no_grad():
        for k, p in trained.items():
            p.copy_(file.get_tensor(f"weight.{k}"))
            optimizer.state[p] = {
                their: file.get_tensor(f"{our}.{k}") for our, their in MOMENTS.items()
            }
        return int(file.get_tensor("at"))


def kept_lists(rows: Mapping[str, Mapping[int, Any]]) -> dict[str, list[Swap]]:
    """Swaps that lists and judge accept, and what the readers left of them."""
    given = [
        {line["of"]: line["answer"] for line in csv.DictReader(path.open(encoding="utf-8"))}
        for path in (READINGS / f"kept-meaning-swaps-{reader}.csv" for reader in (1, 2))
    ]
    lists: dict[str, list[Swap]] = {"judged": [], "not changed": [], "read": []}
    for key in given[0]:
        if key.startswith(("valid ", "invalid ")):
            continue
        data, row, place, new = key.split(" ", 3)
        swap, both = Swap(data, int(row), int(place), new), {of[key] for of in given}
        lists["judged"].append(swap)
        if "C" not in both:
            lists["not changed"].append(swap)
        if both == {"S"}:
            lists["read"].append(swap)
    return lists


def one_word_texts(rows: Sequence[Mapping[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Every row as written and with every swap of one word that PPDB offers."""
    source, found = candidates("ppdb"), []
    for k, row in enumerate(rows):
        of = choices(row["hypothesis"], source, MOST)
        found.append((k, dict(row)))
        for choice in one_more_change([of.unchanged], of.sizes):
            found.append((k, {**row, "hypothesis": of.written(choice)}))
    return found


def wrong_answers(
    of: Condition, plain: Mapping[str, Sequence], lists: Mapping[str, Sequence], prices: Mapping
) -> dict[str, list[int]]:
    """Which rows of each set are answered wrongly; of a list, rows that some text turns."""
    normaliser = getattr(of.tokenizer, "normaliser", str)
    every = [row for rows in plain.values() for row in rows]
    every += [row for asked in lists.values() for _, row in asked]
    keys = [(*map(normaliser, (row["premise"], row["hypothesis"])), row["label"]) for row in every]
    once = dict(zip(keys, every, strict=True))  # texts that are read alike are asked once
    known = dict(zip(once, margins(of, list(once.values())), strict=True))
    bad = iter([known[key] <= 0 for key in keys])
    wrong = {key: [k for k in range(len(rows)) if next(bad)] for key, rows in plain.items()}
    for key, asked in lists.items():
        wrong[key] = sorted({k for k, _ in asked if next(bad)})
    for key, part in prices.items():
        bits = right_answers(of.model, of.tokenizer, part)
        wrong[key] = np.flatnonzero(~bits if key == "rewritten" else bits).tolist()
    return wrong


def main(names: Sequence[str]) -> None:
    """Train what is missing, judge each model as it is read, and write the result."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    RUNS.mkdir(parents=True, exist_ok=True)
    agreed = encoding_of(CHOSEN, fit_rows("snli-test", COUNTED), "ppdb")
    encodings = {"plain": None, "strict": strict_encoding(), "encoding": agreed}
    rows = training_rows()
    print(f"{len(rows)} training pairs", flush=True)

    judged = judged_rows()
    every = [(data, place) for data, of in judged.items() for place in of]
    same = AgreedSynonyms()
    allowed = {
        (data, place): choices(judged[data][place]["hypothesis"], same, 50) for data, place in every
    }
    lists = {
        key: every_text(every, judged, allowed, swaps) for key, swaps in kept_lists(judged).items()
    }
    snli = [dict(row) for row in load_nli("snli-test")]
    exact = [snli[k] for k in EXACT]
    lists["ppdb, one word"] = one_word_texts(exact)
    plain = {"clean": [judged[data][place] for data, place in every], "snli-test": snli}
    prices = price_rows()
    sizes = {key: len(of) for key, of in plain.items()} | {
        key: len(of) for key, of in prices.items()
    }
    sizes |= dict.fromkeys(("judged", "not changed", "read"), len(every)) | {LISTS[1]: len(exact)}
    settings = {
        "rows": fingerprint(plain["clean"]),
        "texts": {k: len(of) for k, of in lists.items()},
    }

    right: dict[str, dict[str, np.ndarray]] = {}

    def judge(name: str, model: Any, reads: str) -> None:
        encoding = encodings[reads]
        reader = NormalisedTokenizer(tokenizer, encoding) if encoding else tokenizer
        wrong = cached_json(
            RUNS / f"{name}.json", settings,
            lambda: wrong_answers(Condition(model, reader), plain, lists, prices),
        )  # fmt: skip
        right[name] = {key: without(wrong[key], n) for key, n in sizes.items()}
        print(name, {key: int(bits.sum()) for key, bits in right[name].items()}, flush=True)

    model, tokenizer = load_model(MODEL)
    for reads in encodings:
        judge(f"shipped, read {reads}", model, reads)
    for name, kind, seed in TRAININGS:
        if names and name not in names:
            continue
        trained = train(name, encodings[kind], seed, rows)
        for reads in encodings if name == "plain 0" else (kind,):
            judge(f"{name}, read {reads}", trained, reads)
    write_result(
        RESULT,
        command="python -m experiments.scripts.train_behind_encoding",
        config="train_behind_encoding.py",
        configuration={
            "epochs": EPOCHS, "batch_size": BATCH, "warmup_steps": WARMUP, "learning_rate": RATE,
            "weight_decay": DECAY, "rank": RANK, "alpha": ALPHA, "dropout": DROPOUT,
            "trainings": [list(of) for of in TRAININGS if not names or of[0] in names],
            "family": [list(of) for of in FAMILY], "margin": MARGIN, "most": MOST,
            "exact": [EXACT.start, EXACT.stop], "training_pairs": len(rows),
        },
        seed=0,
        data={"name": "snli-test and sick-test", "n": len(every), "sha256": settings["rows"]},
        model=adapter_record(MODEL),
        training={"n": len(rows), "sha256": fingerprint(rows)},
        texts=settings["texts"],
        encodings={
            key: {"words": sum(len(of) for of in encoding.groups().values()),
                  "groups": len(encoding.groups())}
            for key, encoding in encodings.items() if encoding
        },
        counts={
            name: {key: {"right": int(bits.sum()), "n": len(bits)} for key, bits in of.items()}
            for name, of in right.items()
        },
        examples={
            name: {key: pack(bits) for key, bits in of.items()} for name, of in right.items()
        },
        seconds=time.perf_counter() - started,
        finished=datetime.now(UTC).strftime("%Y-%m-%d"),
    )  # fmt: skip


def without(wrong: Sequence[int], n: int) -> np.ndarray:
    """Right answers (n,) of the places that are wrong."""
    bits = np.ones(n, bool)
    bits[list(wrong)] = False
    return bits


if __name__ == "__main__":
    main(sys.argv[1:])
