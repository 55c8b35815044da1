"""Train the small classifiers of pictures, and keep their weights in half precision."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from experiments.experiment import Report
from pidbook.data.images import CLOTHES
from pidbook.image_models import ResidualCNN, load_image_model
from pidlib.io.files import write_json, write_tensors

BATCH = 128


def new_model(network: str) -> nn.Module:
    """An untrained network of six blocks over pictures of 28 x 28 pixels."""
    if network == "cnn":
        return ResidualCNN()
    from transformers import ViTConfig, ViTForImageClassification  # slow to import

    sizes = {"hidden_size": 48, "num_hidden_layers": 6, "num_attention_heads": 4}
    sizes |= {"intermediate_size": 96, "image_size": 28, "patch_size": 4, "num_channels": 1}
    dropped = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
    names = dict(enumerate(CLOTHES))
    labels = {"id2label": names, "label2id": {name: k for k, name in names.items()}}
    return ViTForImageClassification(ViTConfig(**sizes, **dropped, **labels))


def train(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: float,
    rate: float,
    seed: int,
    report: Report,
    change: Callable[[Tensor, int], Tensor] | None = None,
) -> nn.Module:
    """AdamW over batches drawn at random, the rate rising and falling once; `change` spoils batches."""
    source = torch.Generator().manual_seed(seed)
    steps = max(int(epochs * len(images)) // BATCH, 2)
    optimiser = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps)
    model.train()
    for step in range(steps):
        chosen = torch.randint(len(images), (BATCH,), generator=source)
        seen = images[chosen] if change is None else change(images[chosen], step)
        loss = cross_entropy(model(seen).logits, labels[chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 100 == 0 or step == steps - 1:
            report(f"step {step} of {steps}: loss {loss.item():.3f}")
    return model.eval()


def keep_model(model: nn.Module, folder: Path) -> nn.Module:
    """Write a model in half precision, and read back what others will read."""
    if isinstance(model, ResidualCNN):
        weights = {name: weight.half() for name, weight in model.state_dict().items()}
        write_tensors(folder / "model.safetensors", weights)
        sizes = {k: getattr(model.config, k) for k in ("num_hidden_layers", "hidden_size")}
        write_json(folder / "config.json", {"model_type": "residual-cnn"} | sizes)
    else:
        model.half().save_pretrained(folder)
    return load_image_model(folder)
