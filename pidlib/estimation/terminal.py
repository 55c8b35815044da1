"""Maps of states that keep the model's answer: a terminal cost, brought down by gradients.

The closed forms of `pidlib.estimation.layerwise` ask each state to be near its clean form, one state after
the other. What counts in the end is the answer. With p(.) the model's probabilities, x a clean
text, x' its perturbed form, and the maps A_t, b_t of all states as unknowns, the cost is

    J = (1 - share) KL(p(x) || p_controlled(x)) + share KL(p(x) || p_controlled(x')),

in the mean over texts. No label enters: the answers to keep are those that the model gives
without control. It is the terminal cost of the paper's control problem with one feedback for
all texts in place of one control for each, and its gradient is the costate's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import kl_div

from pidlib.data.batches import MAX_LENGTH, input_device, texts
from pidlib.data.perturbations import Perturb, described, perturbed_rows
from pidlib.hooks import Blocks, find_blocks, fingerprint
from pidlib.io.checkpoints import FOREIGN, Checkpoint
from pidlib.theory.wiener import Affine

EPOCHS = 3
RATE = 3e-4
_BATCH, _WARMUP = 32, 20


def descend(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    perturb: Perturb,
    states: Sequence[int],
    rho: float = 1.0,
    epochs: int = EPOCHS,
    rate: float = RATE,
    seed: int = 0,
    max_length: int = MAX_LENGTH,
    blocks: Any = None,
    report: Callable[[str], None] = lambda _: None,
    checkpoint: Checkpoint | None = None,
) -> dict[int, Affine]:
    """Bring the terminal cost down, all states together, from no control."""
    if epochs < 1 or not 0 < rate < np.inf or not 0 < rho < np.inf:
        raise ValueError(f"epochs {epochs}, rate {rate}, rho {rho}: all have to be above 0")
    if model.training:
        raise ValueError("the model is in training mode (dropout is on); call model.eval() first")
    found, share = find_blocks(model, blocks), rho / (1 + rho)
    wrong = [t for t in states if t not in range(found.depth)]
    if len(rows) == 0 or not states or wrong:
        raise ValueError(
            f"{len(rows)} rows, states {list(states)}: give at least one row, and states of 0 to "
            f"{found.depth - 1}"
        )
    wanted, sizes = _answers(model, found, tokenizer, rows, max_length)
    steps = {t: sizes[t].new_zeros(len(sizes[t]), len(sizes[t])) for t in states}
    moves = {t: sizes[t].new_zeros(len(sizes[t])) for t in states}
    unknown = [v.requires_grad_() for v in (*steps.values(), *moves.values())]

    def control(t: int, x: Tensor, mask: Tensor | None) -> Tensor:
        u = x @ steps[t].T + moves[t]
        return x + (u if mask is None else u * mask)

    optimizer = torch.optim.Adam(unknown, lr=rate)
    each = -(-len(rows) // _BATCH)
    costs: list[float] = []
    if checkpoint is not None:
        about = {"states": sorted(steps), "rho": rho, "epochs": epochs, "rate": rate, "seed": seed}
        about |= {"perturbed": described(perturb), "blocks": list(fingerprint(found))}
        costs = _taken_up(checkpoint, about, unknown, optimizer)
    total, begun = epochs * each, len(costs)
    for epoch in range(begun // each, epochs):
        changed = [row for row, _ in perturbed_rows(rows, perturb, seed + epoch)]
        for part in list(_parts(rows, seed + epoch))[max(begun - epoch * each, 0) :]:
            step = len(costs) + 1
            for group in optimizer.param_groups:
                group["lr"] = rate * min(step / _WARMUP, (total - step + 1) / total, 1.0)
            target, cost = wanted[part], 0.0
            for of, texts_of in ((1 - share, rows), (share, changed)):
                with found.control(control, layers=sorted(steps)):
                    seen = _logits(model, tokenizer, [texts_of[k] for k in part], max_length)
                cost = cost + of * kl_div(seen.log_softmax(-1), target, reduction="batchmean")
            for value, slope in zip(unknown, torch.autograd.grad(cost, unknown), strict=True):
                value.grad = slope  # only theirs: the model's weights get none
            optimizer.step()
            costs.append(float(cost.detach()))
            if not np.isfinite(costs[-1]):
                raise ValueError(f"the cost is {costs[-1]} at step {step}; lower the rate {rate}")
            if checkpoint is not None and checkpoint.due:
                checkpoint.keep(_given(unknown, optimizer), step, costs=costs)
        done = np.mean(costs[epoch * each :])
        report(f"epoch {epoch + 1} of {epochs}: terminal cost {done:.4f}")
    return {
        t: Affine(
            np.eye(len(moves[t])) + steps[t].detach().double().cpu().numpy(),
            moves[t].detach().double().cpu().numpy(),
        )
        for t in sorted(steps)
    }


def _given(unknown: Sequence[Tensor], optimizer: torch.optim.Adam) -> dict[str, Tensor]:
    """Maps and moments, as a checkpoint keeps them."""
    made = {f"value.{k}": v.detach().cpu().clone() for k, v in enumerate(unknown)}
    for k, v in enumerate(unknown):
        made |= {f"{name}.{k}": one.cpu().clone() for name, one in optimizer.state[v].items()}
    return made


def _taken_up(
    checkpoint: Checkpoint,
    about: Mapping[str, Any],
    unknown: Sequence[Tensor],
    optimizer: torch.optim.Adam,
) -> list[float]:
    """Take up what was kept; return the costs so far."""
    kept = checkpoint.begin(about)
    if kept is None:
        return []
    try:
        for k, v in enumerate(unknown):
            v.data.copy_(kept.tensors[f"value.{k}"])
            moments = {name: kept.tensors[f"{name}.{k}"] for name in ("exp_avg", "exp_avg_sq")}
            optimizer.state[v] = {name: one.to(v.device) for name, one in moments.items()}
            optimizer.state[v]["step"] = kept.tensors[f"step.{k}"]
        return [float(cost) for cost in kept.card["costs"]]
    except FOREIGN as error:
        raise checkpoint.unreadable(error) from None


def _logits(model: Any, tokenizer: Any, rows: Sequence[Any], max_length: int) -> Tensor:
    first, second = texts(rows)
    inputs = tokenizer(
        first, second, truncation=True, max_length=max_length, padding=True, return_tensors="pt"
    )
    logits = getattr(model(**inputs.to(input_device(model))), "logits", None)
    if logits is None or logits.ndim != 2:
        raise ValueError(
            f"{type(model).__name__} gives no logits (rows, labels); the terminal cost needs a "
            "classifier"
        )
    return logits.float()


def _answers(
    model: Any, found: Blocks, tokenizer: Any, rows: Sequence[Any], max_length: int
) -> tuple[Tensor, list[Tensor]]:
    """Probabilities (N, labels) without control, and a vector (d,) of each state."""
    answers: Tensor | None = None
    with torch.no_grad(), found.reading() as states:
        for part in _parts(rows, 0):
            seen = _logits(model, tokenizer, [rows[k] for k in part], max_length).softmax(-1)
            answers = seen.new_empty(len(rows), seen.shape[1]) if answers is None else answers
            answers[part] = seen
    return answers, [x[0, 0] for x in states]


def _parts(rows: Sequence[Mapping[str, Any]], seed: int) -> Iterator[np.ndarray]:
    """Batches in random order, of rows of about one length."""
    random = np.random.default_rng(seed)
    lengths = [
        sum(len(v) for v in rows[k].values() if isinstance(v, str)) for k in range(len(rows))
    ]
    order = random.permutation(len(rows))
    order = order[np.argsort(np.array(lengths)[order], kind="stable")]
    parts = [order[k : k + _BATCH] for k in range(0, len(order), _BATCH)]
    random.shuffle(parts)
    yield from parts
