"""Maps of states that keep the model's answer: a terminal cost, brought down by gradients.

With p(.) the model's probabilities, x a clean text, x' its perturbed form, and the maps A_t, b_t
of all states as unknowns, the cost, in the mean over texts, is

    J = (1 - share) KL(p(x) || p_controlled(x)) + share KL(p(x) || p_controlled(x')).

It is the terminal cost of the paper's control problem, with one feedback for all texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import kl_div

from pidlib.bases import checksums
from pidlib.data.batches import MAX_LENGTH, encode, input_device
from pidlib.data.perturbations import Perturb, described, perturbed_rows
from pidlib.estimation.layerwise import text_lengths
from pidlib.hooks import Blocks
from pidlib.io.checkpoints import Checkpoint
from pidlib.theory.wiener import Affine

EPOCHS = 3
RATE = 3e-4
_BATCH, _WARMUP = 32, 20


def fit_terminal(
    blocks: Blocks,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    perturb: Perturb,
    states: Sequence[int],
    rho: float = 1.0,
    epochs: int = EPOCHS,
    rate: float = RATE,
    seed: int = 0,
    max_length: int = MAX_LENGTH,
    report: Callable[[str], None] = lambda _: None,
    checkpoint: Checkpoint | None = None,
) -> dict[int, Affine]:
    """Bring the terminal cost down, all states together, from no control."""
    if epochs < 1 or not 0 < rate < np.inf or not 0 < rho < np.inf:
        raise ValueError(f"epochs {epochs}, rate {rate}, rho {rho}: all have to be above 0")
    share = rho / (1 + rho)
    answers, first = _answers(blocks, tokenizer, rows, max_length)
    steps = {t: first[t].new_zeros(len(first[t]), len(first[t])) for t in states}
    shifts = {t: first[t].new_zeros(len(first[t])) for t in states}
    unknown = [v.requires_grad_() for v in (*steps.values(), *shifts.values())]

    def control(t: int, x: Tensor, mask: Tensor | None) -> Tensor:
        u = x @ steps[t].T + shifts[t]
        return x + (u if mask is None else u * mask)

    optimizer = torch.optim.Adam(unknown, lr=rate)
    each = -(-len(rows) // _BATCH)
    costs: list[float] = []
    if checkpoint is not None:
        about = {"states": sorted(steps), "rho": rho, "epochs": epochs, "rate": rate, "seed": seed}
        about |= {"perturbed": described(perturb), "blocks": list(checksums(blocks))}
        costs = _taken_up(checkpoint, about, unknown, optimizer)
    total, begun = epochs * each, len(costs)
    for epoch in range(begun // each, epochs):
        changed = [row for row, _ in perturbed_rows(rows, perturb, seed + epoch)]
        for part in _parts(rows, seed + epoch)[max(begun - epoch * each, 0) :]:
            step = len(costs) + 1
            pace = min(step / _WARMUP, (total - step + 1) / total, 1.0)
            optimizer.param_groups[0]["lr"] = rate * pace
            with blocks.control(control, layers=sorted(steps)):
                clean, moved = (
                    _logits(blocks, tokenizer, [of[k] for k in part], max_length).log_softmax(-1)
                    for of in (rows, changed)
                )
            gap = partial(kl_div, target=answers[part], reduction="batchmean")
            cost = (1 - share) * gap(clean) + share * gap(moved)
            for value, slope in zip(unknown, torch.autograd.grad(cost, unknown), strict=True):
                value.grad = slope  # only theirs: the model's weights get none
            optimizer.step()
            costs.append(float(cost.detach()))
            if not np.isfinite(costs[-1]):
                raise ValueError(f"the cost is {costs[-1]} at step {step}; lower the rate {rate}")
            if checkpoint is not None and checkpoint.due:
                checkpoint.keep(_given(unknown, optimizer), step, costs=costs)
        report(f"epoch {epoch + 1} of {epochs}: terminal cost {np.mean(costs[epoch * each :]):.4f}")
    arrays = {
        t: [v[t].detach().double().cpu().numpy() for v in (steps, shifts)] for t in sorted(steps)
    }
    return {t: Affine(np.eye(len(b)) + step, b) for t, (step, b) in arrays.items()}


def _given(unknown: Sequence[Tensor], optimizer: torch.optim.Adam) -> dict[str, Tensor]:
    """Maps and moments, as a checkpoint keeps them."""
    tensors = {}
    for k, v in enumerate(unknown):
        named = {"value": v.detach(), **optimizer.state[v]}
        tensors |= {f"{name}.{k}": part.cpu().clone() for name, part in named.items()}
    return tensors


def _taken_up(
    checkpoint: Checkpoint, about: Mapping[str, Any], unknown: Sequence[Tensor],
    optimizer: torch.optim.Adam,
) -> list[float]:  # fmt: skip
    """Take up what was kept; return the costs so far."""
    unfinished = checkpoint.begin(about)
    if unfinished is None:
        return []
    tensors, card = unfinished
    with checkpoint.reading():
        state = {}
        for k, v in enumerate(unknown):
            v.data.copy_(tensors[f"value.{k}"])
            state[k] = {name: tensors[f"{name}.{k}"] for name in ("step", "exp_avg", "exp_avg_sq")}
        optimizer.load_state_dict(optimizer.state_dict() | {"state": state})
        return [float(cost) for cost in card["costs"]]


def _logits(blocks: Blocks, tokenizer: Any, rows: Sequence[Any], max_length: int) -> Tensor:
    model = blocks.model
    inputs = encode(tokenizer, rows, max_length, input_device(model))
    logits = getattr(model(**inputs), "logits", None)
    if logits is None or logits.ndim != 2:
        raise ValueError(
            f"{type(model).__name__} gives no logits (rows, labels); the terminal cost needs a "
            "classifier"
        )
    return logits.float()


def _answers(
    blocks: Blocks, tokenizer: Any, rows: Sequence[Any], max_length: int
) -> tuple[Tensor, list[Tensor]]:
    """Probabilities (N, labels) without control, and a vector (d,) of each state."""
    parts = _parts(rows, 0)
    with torch.no_grad(), blocks.reading() as states:
        answers = [_logits(blocks, tokenizer, [rows[k] for k in p], max_length) for p in parts]
    order = np.argsort(np.concatenate(parts))
    return torch.cat(answers).softmax(-1)[order], [x[0, 0] for x in states]


def _parts(rows: Sequence[Mapping[str, Any]], seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    order = random.permutation(len(rows))
    order = order[np.argsort(text_lengths(rows)[order], kind="stable")]
    parts = [order[k : k + _BATCH] for k in range(0, len(order), _BATCH)]
    random.shuffle(parts)
    return parts
