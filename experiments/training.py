"""LoRA fine-tuning of a sequence classifier: settings, loop, checkpoints, record."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from pidlib.data.batches import MAX_LENGTH, texts
from pidlib.data.labels import check_labels
from pidlib.data.nli import fingerprint
from pidlib.evaluation.accuracy import predict
from pidlib.io.checkpoints import Checkpoint
from pidlib.io.files import sha256, write_json, write_tensors


@dataclass(frozen=True)
class LoraSettings:
    """What a LoRA fine-tuning depends on besides its data."""

    rank: int = 16
    alpha: int = 32
    targets: tuple[str, ...] = ("query", "key", "value", "dense")
    trained: tuple[str, ...] = ("pooler", "classifier")
    dropout: float = 0.1
    epochs: int = 5
    batch_size: int = 32
    warmup_steps: int = 200
    learning_rate: float = 6e-4
    weight_decay: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("rank", "alpha", "epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate is {self.learning_rate}; it must be above 0")


@dataclass
class Curve:
    """Loss and validation accuracy after each epoch."""

    epochs: list[dict] = field(default_factory=list)


def with_lora(model: Any, settings: LoraSettings) -> Any:
    """Wrap a model for LoRA: updates on the targets, pooler and classifier in full."""
    from peft import LoraConfig, get_peft_model

    model.config.hidden_dropout_prob = settings.dropout
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = settings.dropout
        if hasattr(module, "dropout_prob"):  # the sdpa form of BERT's attention
            module.dropout_prob = 0.0
    for name, module in model.named_modules():
        if name.endswith("attention.self.dropout"):
            module.p = 0.0
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=0.0,
        target_modules=list(settings.targets),
        exclude_modules=r".*pooler.*",
        modules_to_save=list(settings.trained),
        task_type="SEQ_CLS",
    )
    torch.manual_seed(settings.seed)
    return get_peft_model(model, config)


def train_lora(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    validation: Mapping[str, Sequence[Mapping[str, Any]]],
    out: Path,
    settings: LoraSettings | None = None,
    report: Callable[[str], None] = print,
    *,
    start: Path | None = None,
    stop: int | None = None,
    method: FreeLB | None = None,
    every: float = 60.0,
) -> Curve:
    """Fine-tune with LoRA, writing a checkpoint after each epoch, and now and then within one."""
    settings = settings or LoraSettings()
    backward = method.backward if method else plain_backward
    labels = torch.tensor(check_labels([rows[k]["label"] for k in range(len(rows))]))
    first, second = texts(rows)
    encoded = tokenizer(first, second, truncation=True, max_length=MAX_LENGTH)["input_ids"]
    kinds = tokenizer(first, second, truncation=True, max_length=MAX_LENGTH).get("token_type_ids")
    lengths = np.array([len(ids) for ids in encoded])
    truth = {k: np.array([row["label"] for row in held]) for k, held in validation.items()}
    peft_model = with_lora(model, settings)
    trained = {k: p for k, p in peft_model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(
        trained.values(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    steps = settings.epochs * -(-len(rows) // settings.batch_size)
    out.mkdir(parents=True, exist_ok=True)
    run = {"settings": asdict(settings), "data": fingerprint(rows)}
    if start is not None:
        run["start"] = sha256(start)
        _restore(start, trained, optimizer)
    if method is not None:
        run["method"] = asdict(method)
    run = json.loads(json.dumps(run))
    curve = _resume(out, run, trained, optimizer)
    step = len(curve.epochs) * -(-len(rows) // settings.batch_size)
    unfinished = Checkpoint(out / "unfinished", run, every)
    kept = unfinished.begin({})
    for epoch in range(len(curve.epochs) + 1, (stop or settings.epochs) + 1):
        torch.manual_seed(settings.seed * 1000 + epoch)
        peft_model.train()
        started, losses = time.perf_counter(), []
        if kept is not None and kept.card["epoch"] == epoch:  # else that epoch became whole
            started -= kept.card["seconds"]
            losses = kept.tensors["losses"].tolist()
            _take(kept.tensors, trained, optimizer)
            torch.set_rng_state(kept.tensors["random"])
        parts = _shuffled(lengths, settings.batch_size, settings.seed * 1000 + epoch)
        step += len(losses)
        for part in parts[len(losses) :]:
            step += 1
            rise, fall = step / max(1, settings.warmup_steps), (steps - step) / steps
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * min(rise, max(fall, 0.0), 1.0)
            features = {"input_ids": [encoded[k] for k in part]}
            if kinds is not None:
                features["token_type_ids"] = [kinds[k] for k in part]
            inputs = tokenizer.pad(features, return_tensors="pt")
            loss = backward(peft_model, inputs, labels[part])
            torch.nn.utils.clip_grad_norm_(trained.values(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(float(loss))
            if not np.isfinite(losses[-1]):
                raise ValueError(f"the loss is {losses[-1]} at step {step}; lower learning_rate")
            if unfinished.due:
                now = {"losses": torch.tensor(losses, dtype=torch.float64)}
                now |= _given(trained, optimizer) | {"random": torch.get_rng_state()}
                spent = round(time.perf_counter() - started, 1)
                unfinished.keep(now, step, epoch=epoch, seconds=spent)
            if step % 200 == 0:
                rate = (time.perf_counter() - started) / len(losses)
                report(
                    f"epoch {epoch} step {step}/{steps} loss {np.mean(losses[-200:]):.4f} "
                    f"about {rate * (steps - step) / 60:.1f} min left"
                )
        peft_model.eval()
        scores = {
            name: float(np.mean(predict(peft_model, tokenizer, held) == truth[name]))
            for name, held in validation.items()
        }
        curve.epochs.append(
            {
                "epoch": epoch,
                "loss": round(float(np.mean(losses)), 5),
                "validation": {k: round(v, 5) for k, v in scores.items()},
                "seconds": round(time.perf_counter() - started, 1),
            }
        )
        _checkpoint(out, run, curve, _given(trained, optimizer))
        unfinished.clear()
        report(f"epoch {epoch}: {curve.epochs[-1]}")
    return curve


def _shuffled(lengths: np.ndarray, batch_size: int, seed: int) -> list[np.ndarray]:
    """Split into batches of like length in random order (sorted within windows of 50 batches)."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(lengths))
    window = 50 * batch_size
    parts = []
    for start in range(0, len(order), window):
        chunk = order[start : start + window]
        chunk = chunk[np.argsort(lengths[chunk], kind="stable")]
        parts += [chunk[k : k + batch_size] for k in range(0, len(chunk), batch_size)]
    random.shuffle(parts)
    return parts


def _given(trained: dict, optimizer: Any) -> dict[str, torch.Tensor]:
    """Weights and moments of the optimiser, copied."""
    tensors = {f"weight.{k}": p.detach().clone() for k, p in trained.items()}
    for k, p in trained.items():
        state = optimizer.state[p]
        tensors[f"mean.{k}"] = state["exp_avg"].clone()
        tensors[f"square.{k}"] = state["exp_avg_sq"].clone()
        tensors[f"step.{k}"] = state["step"].clone()
    return tensors


def _checkpoint(out: Path, run: dict, curve: Curve, tensors: dict) -> None:
    write_tensors(out / f"epoch-{len(curve.epochs)}.safetensors", tensors)
    write_json(out / "curve.json", {"run": run, "epochs": curve.epochs})


def _resume(out: Path, run: dict, trained: dict, optimizer: Any) -> Curve:
    path = out / "curve.json"
    if not path.is_file():
        return Curve()
    seen = json.loads(path.read_text(encoding="utf-8"))
    if seen["run"] != run:
        raise ValueError(
            f"{out.name} holds a training with other settings or data; name another folder, "
            "or remove it"
        )
    curve = Curve(seen["epochs"])
    _restore(out / f"epoch-{len(curve.epochs)}.safetensors", trained, optimizer)
    return curve


def _restore(checkpoint: Path, trained: dict, optimizer: Any) -> None:
    """Take weights and moments from a checkpoint."""
    _take(load_file(checkpoint), trained, optimizer)


def _take(tensors: Mapping[str, torch.Tensor], trained: dict, optimizer: Any) -> None:
    for k, p in trained.items():
        p.data.copy_(tensors[f"weight.{k}"])
        optimizer.state[p] = {
            "step": tensors[f"step.{k}"],
            "exp_avg": tensors[f"mean.{k}"],
            "exp_avg_sq": tensors[f"square.{k}"],
        }


def set_weights(model: Any, checkpoint: Path) -> None:
    """Give a wrapped model the trained weights of a checkpoint."""
    with safe_open(checkpoint, framework="pt") as file, torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.copy_(file.get_tensor(f"weight.{name}"))


def save_adapter(model: Any, folder: Path, base: str) -> dict:
    """Write a model's trained weights as a PEFT adapter in half precision."""
    from peft import get_peft_model_state_dict

    state = {k: v.half() for k, v in get_peft_model_state_dict(model).items()}
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    digest = write_tensors(partial / "adapter_model.safetensors", state)
    config = model.peft_config["default"].to_dict()
    config.update(base_model_name_or_path=base, inference_mode=True)
    config = {k: sorted(v) if isinstance(v, set) else v for k, v in config.items()}
    write_json(partial / "adapter_config.json", _plain(config))
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)
    size = (folder / "adapter_model.safetensors").stat().st_size
    return {"sha256": digest, "bytes": size, "dtype": "float16"}


def _plain(value: Any) -> Any:
    """Keep of a configuration what JSON can hold; enumerations by their value."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return getattr(value, "value", value)
    return getattr(value, "value", str(value))


def plain_backward(model: Any, inputs: Mapping[str, Tensor], labels: Tensor) -> Tensor:
    """Standard training: fill the gradients of one batch, return its mean loss."""
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(**inputs).logits
    loss = torch.nn.functional.cross_entropy(logits.float(), labels)
    loss.backward()
    return loss.detach()


@dataclass(frozen=True)
class FreeLB:
    """Train on the worst of small disturbances of the word embeddings.

    A disturbance δ (l, d) of one example starts at random, and each step moves it up the
    loss. The weights' gradients are the mean over the steps, so no step is wasted.
    """

    steps: int = 2
    start: float = 0.1
    step_size: float = 0.15
    radius: float = 0.3

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps is {self.steps}; FreeLB needs at least 1")
        if min(self.start, self.step_size, self.radius) <= 0:
            raise ValueError("start, step_size and radius must be above 0")

    def backward(self, model: Any, inputs: Mapping[str, Tensor], labels: Tensor) -> Tensor:
        """Fill the gradients of one batch, return the mean loss over the steps."""
        rest = {key: value for key, value in inputs.items() if key != "input_ids"}
        words = model.get_input_embeddings()(inputs["input_ids"]).detach()
        mask = inputs["attention_mask"].unsqueeze(-1).to(words.dtype)
        size = (mask.sum((1, 2), keepdim=True) * words.shape[-1]).sqrt()
        delta = (torch.rand_like(words) * 2 - 1) * self.start / size * mask
        mean = torch.zeros(())
        for _ in range(self.steps):
            delta.requires_grad_()
            with torch.autocast("cpu", torch.bfloat16):
                logits = model(inputs_embeds=words + delta, **rest).logits
            loss = torch.nn.functional.cross_entropy(logits.float(), labels) / self.steps
            loss.backward()
            mean += loss.detach()
            slope = delta.grad * mask
            delta = delta.detach() + self.step_size * slope / _norm(slope)
            delta = delta * (self.radius / _norm(delta)).clamp(max=1.0)
        return mean


def _norm(x: Tensor) -> Tensor:
    """Frobenius norm of each example (B, 1, 1), never quite 0."""
    return x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-12)
