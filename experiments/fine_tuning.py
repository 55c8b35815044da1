"""Fine-tune a model on perturbed text: the other obvious rival of a control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import torch

from experiments.experiment import Report
from experiments.training import LoraSettings, set_weights, train_lora, with_lora
from pidbook.estimation.selection import best_affordable
from pidlib.attacks.attacker import victim_sha256
from pidlib.data.labels import check_labels, label_order
from pidlib.data.perturbations import Perturb, perturbed_rows
from pidlib.estimation.estimator import Estimator
from pidlib.evaluation.accuracy import right_answers, under
from pidlib.hooks import find_blocks

RATES = (1e-4, 3e-4, 1e-3)


def fine_tuned(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    perturbed: Perturb,
    out: str | Path,
    *,
    learning_rate: float = RATES[0],
    seed: int = 0,
    draws: int = 1,
    control: Estimator | None = None,
    report: Report = print,
) -> Any:
    """Fine-tune a copy of a model by LoRA on labelled text and on random changes of it.

    In batches of 32, over each row as it is and each changed, as many times as there are draws.
    """
    if find_blocks(model).is_controlled:
        raise ValueError("a controller is attached; fine-tune the uncontrolled model")
    plain = deepcopy(model)
    if hasattr(plain, "merge_and_unload"):
        plain = plain.merge_and_unload()
    both = _both(rows, perturbed, range(seed, seed + draws), plain.config)
    steps = -(-len(both) // LoraSettings.batch_size)
    warmup = steps // 10
    settings = LoraSettings(epochs=1, warmup_steps=warmup, learning_rate=learning_rate, seed=seed)
    # a folder for each model: the record of a training does not tell what it started from
    folder = Path(out) / victim_sha256(plain)[:16]
    if control is not None:
        folder = folder.with_name(f"{folder.name}-{control.sha256[:16]}")
    learner = deepcopy(plain)
    with torch.random.fork_rng(devices=[]), under(control, learner):
        train_lora(learner, tokenizer, both, {}, folder, settings, report)
    with torch.random.fork_rng(devices=[]):
        wrapped = with_lora(deepcopy(plain), settings)
    set_weights(wrapped, folder / "epoch-1.safetensors")
    # into a copy of its own: nothing of peft stays behind, and dropout is as it was
    plain.load_state_dict(wrapped.merge_and_unload().state_dict())
    return plain.eval()


def _both(
    rows: Sequence[Mapping[str, Any]], perturbed: Perturb, seeds: Sequence[int], config: Any
) -> list[dict[str, Any]]:
    """Rows as they are, then changed, labelled in the model's own numbers, as the loss takes."""
    both = []
    for seed in seeds:
        both += [dict(row) for row in rows]
        both += [row for row, _ in perturbed_rows(rows, perturbed, seed)]
    order = label_order(config)
    for row, label in zip(both, check_labels(row["label"] for row in both), strict=True):
        row["label"] = order[label]
    return both


class Rate(NamedTuple):
    """Shares of right answers on held-out rows at one learning rate; 0 is the model as it is."""

    rate: float
    clean: float
    perturbed: float


class FineTuning(NamedTuple):
    """What was chosen (None where no rate is cheap enough), out of what; the first has rate 0."""

    model: Any
    tried: tuple[Rate, ...]
    chosen: Rate


def choose_fine_tuning(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    held: Sequence[Mapping[str, Any]],
    perturbed: Perturb,
    out: str | Path,
    rates: Sequence[float] = RATES,
    seed: int = 0,
    draws: int = 1,
    control: Estimator | None = None,
    report: Report = print,
) -> FineTuning:
    """Fine-tune at several rates; choose as `pidbook.estimation.choose` does."""
    sets = held, [row for row, _ in perturbed_rows(held, perturbed, seed + 1)]

    def judged(rate: float, model: Any, feedback: Estimator | None = None) -> Rate:
        with under(feedback, model):
            shares = (float(right_answers(model, tokenizer, part).mean()) for part in sets)
            return Rate(rate, *shares)

    tried, copies = [judged(0.0, model)], [None]
    for rate in rates:
        copy = fine_tuned(
            model, tokenizer, rows, perturbed, Path(out) / f"rate-{rate:g}",
            learning_rate=rate, seed=seed, draws=draws, control=control, report=report,
        )  # fmt: skip
        tried.append(judged(float(rate), copy, control and control.carried_to(copy)))
        copies.append(copy)
        clean, changed = tried[-1][1:]
        report(f"rate {rate:g}: clean {clean:.3f}, perturbed {changed:.3f}")
    chosen = best_affordable(tried)
    return FineTuning(copies[tried.index(chosen)], tuple(tried), chosen)
