"""LoRA fine-tuning of a sequence classifier: settings, loop, checkpoints, record."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from experiments.experiment import Report
from pidlib.data.batches import MAX_LENGTH, texts
from pidlib.data.labels import check_labels
from pidlib.data.nli import fingerprint
from pidlib.evaluation.accuracy import right_answers
from pidlib.io.checkpoints import Checkpoint
from pidlib.io.files import sha256, write_json, write_tensors

MOMENTS = {"step": "step", "mean": "exp_avg", "square": "exp_avg_sq"}  # names in checkpoints


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
        if name.endswith(("attention.self.dropout", "attention.attn.dropout")):
            module.p = 0.0
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=0.0,
        target_modules=list(settings.targets),
        exclude_modules=r".*(pooler|classifier).*",
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
    settings: LoraSettings = LoraSettings(),
    report: Report = print,
    *,
    start: Path | None = None,
    stop: int | None = None,
    method: FreeLB | None = None,
    every: float = 60.0,
) -> list[dict[str, Any]]:
    """Fine-tune with LoRA, writing a checkpoint after each epoch, and now and then within one.

    Returns loss, validation accuracy and seconds of each epoch.
    """
    backward = method.backward if method else plain_backward
    batches = _Batches(tokenizer, rows, settings)
    learner = _Learner(with_lora(model, settings), batches, settings, backward, report)
    run = {"settings": asdict(settings), "data": fingerprint(rows)}
    if start is not None:
        run["start"] = sha256(start)
        learner.take(load_file(start))
    if method is not None:
        run["method"] = asdict(method)
    run = json.loads(json.dumps(run))
    curve = _resume(out, run, learner)
    unfinished = Checkpoint(out / "unfinished", run, every)
    stored = unfinished.begin({})
    if stored is None or stored.card["epoch"] <= len(curve):  # that epoch became whole
        stored = None
        unfinished.clear()
    for epoch in range(len(curve) + 1, (stop or settings.epochs) + 1):
        started = time.perf_counter() - (stored.card["seconds"] if stored else 0.0)
        losses = learner.epoch(epoch, started, stored and stored.tensors, unfinished)
        stored = None
        learner.model.eval()
        scores = {}
        for name, held in validation.items():
            right = right_answers(learner.model, tokenizer, held)
            scores[name] = round(float(np.mean(right)), 5)
        curve.append(
            {
                "epoch": epoch,
                "loss": round(float(np.mean(losses)), 5),
                "validation": scores,
                "seconds": round(time.perf_counter() - started, 1),
            }
        )
        write_tensors(out / f"epoch-{epoch}.safetensors", learner.tensors())
        write_json(out / "curve.json", {"run": run, "epochs": curve})
        unfinished.clear()
        report(f"epoch {epoch}: {curve[-1]}")
    return curve


class _Batches:
    """Tokenised rows, in another order of batches each epoch."""

    def __init__(
        self, tokenizer: Any, rows: Sequence[Mapping[str, Any]], settings: LoraSettings
    ) -> None:
        self.labels = torch.tensor(check_labels([row["label"] for row in rows]))
        encoded = tokenizer(*texts(rows), truncation=True, max_length=MAX_LENGTH)
        self.columns = {k: encoded[k] for k in ("input_ids", "token_type_ids") if k in encoded}
        self.lengths = np.array([len(ids) for ids in encoded["input_ids"]])
        self.tokenizer, self.size, self.seed = tokenizer, settings.batch_size, settings.seed

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.size)

    def of_epoch(self, epoch: int, after: int) -> Iterator[tuple[Mapping[str, Tensor], Tensor]]:
        """Inputs and labels of an epoch's batches, the first few left out."""
        for part in _shuffled(self.lengths, self.size, self.seed * 1000 + epoch)[after:]:
            features = {key: [column[k] for k in part] for key, column in self.columns.items()}
            yield self.tokenizer.pad(features, return_tensors="pt"), self.labels[part]


class _Learner:
    """A wrapped model and its optimiser."""

    def __init__(
        self,
        model: Any,
        batches: _Batches,
        settings: LoraSettings,
        backward: Callable[..., Tensor],
        report: Report,
    ) -> None:
        self.model, self.batches, self.settings = model, batches, settings
        self.backward, self.report = backward, report
        self.steps = settings.epochs * len(batches)
        self.trained = {k: p for k, p in model.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.AdamW(
            self.trained.values(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )

    def epoch(
        self,
        epoch: int,
        started: float,
        stored: Mapping[str, Tensor] | None,
        unfinished: Checkpoint,
    ) -> list[float]:
        """Train for one epoch, or for what is left of it; return the losses."""
        torch.manual_seed(self.settings.seed * 1000 + epoch)
        self.model.train()
        losses: list[float] = []
        if stored is not None:
            losses = stored["losses"].tolist()
            self.take(stored)
            torch.set_rng_state(stored["random"])
        step = (epoch - 1) * len(self.batches) + len(losses)
        for inputs, labels in self.batches.of_epoch(epoch, len(losses)):
            step += 1
            losses.append(self._step(step, inputs, labels))
            if not np.isfinite(losses[-1]):
                raise ValueError(f"the loss is {losses[-1]} at step {step}; lower learning_rate")
            seconds = round(time.perf_counter() - started, 1)
            if unfinished.due:
                tensors = {"losses": torch.tensor(losses, dtype=torch.float64)} | self.tensors()
                tensors["random"] = torch.get_rng_state()
                unfinished.keep(tensors, step, epoch=epoch, seconds=seconds)
            if step % 200 == 0:
                left = seconds / len(losses) * (self.steps - step) / 60
                self.report(
                    f"epoch {epoch} step {step}/{self.steps} loss {np.mean(losses[-200:]):.4f} "
                    f"about {left:.1f} min left"
                )
        return losses

    def _step(self, step: int, inputs: Mapping[str, Tensor], labels: Tensor) -> float:
        """One step of the optimiser; its rate rises in the warm-up, then falls to 0."""
        rise = step / max(1, self.settings.warmup_steps)
        fall = max((self.steps - step) / self.steps, 0.0)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate * min(rise, fall, 1.0)
        loss = self.backward(self.model, inputs, labels)
        torch.nn.utils.clip_grad_norm_(self.trained.values(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(loss)

    def tensors(self) -> dict[str, Tensor]:
        """Weights and moments of the optimiser, copied."""
        tensors = {f"weight.{k}": p.detach().clone() for k, p in self.trained.items()}
        for k, p in self.trained.items():
            state = self.optimizer.state[p]
            tensors |= {f"{ours}.{k}": state[theirs].clone() for ours, theirs in MOMENTS.items()}
        return tensors

    def take(self, tensors: Mapping[str, Tensor]) -> None:
        """Take weights and moments from a checkpoint."""
        for k, p in self.trained.items():
            p.data.copy_(tensors[f"weight.{k}"])
            self.optimizer.state[p] = {
                theirs: tensors[f"{ours}.{k}"] for ours, theirs in MOMENTS.items()
            }


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


def _resume(out: Path, run: dict, learner: _Learner) -> list[dict[str, Any]]:
    path = out / "curve.json"
    if not path.is_file():
        return []
    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored["run"] != run:
        raise ValueError(
            f"{out.name} holds a training with other settings or data; name another folder, "
            "or remove it"
        )
    learner.take(load_file(out / f"epoch-{len(stored['epochs'])}.safetensors"))
    return stored["epochs"]


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
    write_json(partial / "adapter_config.json", json.loads(json.dumps(config, default=_plain)))
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)
    size = (folder / "adapter_model.safetensors").stat().st_size
    return {"sha256": digest, "bytes": size, "dtype": "float16"}


def _plain(value: Any) -> Any:
    """What JSON has no form for: sets in order, enumerations by their value."""
    return sorted(value) if isinstance(value, set) else getattr(value, "value", str(value))


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
