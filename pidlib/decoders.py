"""Small decoders trained from scratch on captions: GPT-2 and OPT in a few minutes."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset

from pidlib.batches import texts
from pidlib.data import fingerprint, load_nli
from pidlib.files import sha256, write_json
from pidlib.labels import LABELS
from pidlib.models import DECODERS, Model
from pidlib.predictions import predict

KINDS = {"gpt2-captions": "gpt2", "opt-captions": "opt"}


@dataclass(frozen=True)
class DecoderSettings:
    """What a small decoder depends on besides its data.

    Attributes
    ----------
    depth, width, heads, vocabulary : int
        Blocks, width of a state, attention heads, tokens of the byte-level BPE.
    pairs, epochs, batch_size : int
    learning_rate : float
        Peak; warm-up over a tenth of the steps, then linear to zero.
    seed : int

    Source: ours; section 3.2 (OPT-1.3B) at a size that trains in minutes.
    """

    depth: int = 6
    width: int = 128
    heads: int = 4
    vocabulary: int = 1500
    pairs: int = 30000
    epochs: int = 6
    batch_size: int = 64
    learning_rate: float = 1e-3
    seed: int = 0


def new_decoder(
    name: str, rows: Sequence[Mapping[str, Any]], settings: DecoderSettings | None = None
) -> Model:
    """Return an untrained decoder and a tokenizer learnt from the text of some rows.

    Parameters
    ----------
    name : str
        One of `KINDS`.
    rows : sequence of mappings
        Their text teaches the byte-level BPE.
    settings : DecoderSettings, optional

    Returns
    -------
    Model
        A sequence classifier that reads the answer off the last real token.

    Raises
    ------
    ValueError
        An unknown name.

    Source: Radford et al. (2019) and Zhang et al. (2022), at another size.
    """
    from transformers import AutoConfig, AutoModelForSequenceClassification

    if name not in KINDS:
        raise ValueError(f"unknown decoder {name!r}; known: {list(KINDS)}")
    s = settings or DecoderSettings()
    tokenizer = _tokenizer(rows, s.vocabulary)
    common = {
        "vocab_size": len(tokenizer),
        "num_labels": len(LABELS),
        "id2label": dict(enumerate(LABELS)),
        "label2id": {label: k for k, label in enumerate(LABELS)},
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    own = {
        "gpt2": {"n_layer": s.depth, "n_embd": s.width, "n_head": s.heads, "n_positions": 256},
        "opt": {
            "num_hidden_layers": s.depth,
            "hidden_size": s.width,
            "word_embed_proj_dim": s.width,
            "num_attention_heads": s.heads,
            "ffn_dim": 4 * s.width,
            "max_position_embeddings": 256,
        },
    }[KINDS[name]]
    config = AutoConfig.for_model(KINDS[name], **common, **own)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(s.seed)
        model = AutoModelForSequenceClassification.from_config(config)
    return Model(model.eval(), tokenizer)


def _tokenizer(rows: Sequence[Mapping[str, Any]], vocabulary: int) -> Any:
    """Learn a byte-level BPE; a pair is <s> first </s> second </s>."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<s>", "</s>"]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    first, second = texts(rows)
    made.train_from_iterator([*first, *(second or [])], trainer)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B </s>",
        special_tokens=[(token, k) for k, token in enumerate(special)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
        model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


def make_decoder(
    name: str,
    target: Path | None = None,
    settings: DecoderSettings | None = None,
    report: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Train a decoder on captions and write it as a folder that `load_model` reads.

    Parameters
    ----------
    name : str
        One of `KINDS`.
    target : Path, optional
        Folder that receives it; by default the one inside pidlib.
    settings : DecoderSettings, optional
    report : callable
        Gets one line of text now and then.

    Returns
    -------
    dict
        The training record, which is also written. Accuracies are counts, measured after
        the round trip through half precision.

    Raises
    ------
    ValueError
        An unknown name.

    Source: section 3.1 (fine-tuned OPT-1.3B); ours: from scratch, on captions.
    """
    from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

    s = settings or DecoderSettings()
    started = time.perf_counter()
    rows = load_nli("captions", split="train", n=s.pairs)
    model, tokenizer = new_decoder(name, rows, s)
    first, second = texts(rows)
    encoded = tokenizer(first, second)
    data = Dataset.from_dict({**encoded, "labels": rows["label"]})
    with tempfile.TemporaryDirectory() as scratch:
        arguments = TrainingArguments(
            scratch,
            num_train_epochs=s.epochs,
            per_device_train_batch_size=s.batch_size,
            learning_rate=s.learning_rate,
            warmup_ratio=0.1,
            weight_decay=0.01,
            group_by_length=True,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            logging_strategy="epoch",
            use_cpu=not torch.cuda.is_available(),
            seed=s.seed,
        )
        trainer = Trainer(
            model, arguments, train_dataset=data, data_collator=DataCollatorWithPadding(tokenizer)
        )
        trainer.train()
    losses = [round(entry["loss"], 5) for entry in trainer.state.log_history if "loss" in entry]
    folder = target or DECODERS / name
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    model.cpu().half().eval().save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    judged = model.float()
    measured = []
    for split in ("validation", "test"):
        part = load_nli("captions", split=split, n=2000)
        right = int(np.sum(predict(judged, tokenizer, part) == np.array(part["label"])))
        measured.append({"data": f"captions {split}", "n": len(part), "right": right})
    record = {
        "name": name,
        "settings": asdict(s),
        "data": [{"name": "captions", "n": len(rows), "sha256": fingerprint(rows),
                  "licence": "made by pidlib, CC BY 4.0"}],
        "loss": losses,
        "model": {"sha256": sha256(partial / "model.safetensors"),
                  "bytes": (partial / "model.safetensors").stat().st_size, "dtype": "float16"},
        "measured": measured,
        "seconds": round(time.perf_counter() - started, 1),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }  # fmt: skip
    write_json(partial / "training.json", record)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    os.replace(partial, folder)
    report(f"{name}: loss {losses}, {measured}, {record['seconds']:.0f} s")
    return record
