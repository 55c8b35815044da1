"""Maps of states that keep the model's answer: a terminal cost, brought down by gradients.

With p(.) the model's probabilities, x a clean text, x' its perturbed form, and the maps A_t, b_t
of all states as unknowns, the cost, in the mean over texts, is

    J = (1 - share) KL(p(x) || p_controlled(x)) + share KL(p(x) || p_controlled(x')).

It is the terminal cost of the paper's control problem, with one feedback for all texts. A language
model answers with a distribution for each token of a row's second text, its continuation.
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
from pidlib.data.batches import MAX_LENGTH, continued, encode, input_device
from pidlib.data.perturbations import Perturb, described
from pidlib.estimation.layerwise import changed_rows, text_lengths, writes
from pidlib.hooks import Blocks
from pidlib.io.checkpoints import Checkpoint
from pidlib.theory.wiener import Affine

EPOCHS = 3
RATE = 3e-4
_WARMUP = 20
_BATCH, _PAIRS = 32, 8  # rows of a step; of a language model, which answers for each token


class _Maps:
    """The unknown maps x -> x + S x + b of some states: S (d, d), or of a rank: (d, r) times (r, d)."""

    def __init__(self, of: Mapping[int, Tensor], rank: int | None, seed: int) -> None:
        self.right: dict[int, Tensor] = {}
        if rank is not None:
            source = torch.Generator().manual_seed(seed)
            for t, x in of.items():
                drawn = torch.randn(rank, len(x), generator=source) / len(x) ** 0.5
                self.right[t] = drawn.to(x)
        self.left = {t: x.new_zeros(len(x), rank or len(x)) for t, x in of.items()}
        self.shift = {t: x.new_zeros(len(x)) for t, x in of.items()}
        parts = (*self.left.values(), *self.right.values(), *self.shift.values())
        self.unknown = [v.requires_grad_() for v in parts]

    def __call__(self, t: int, x: Tensor, mask: Tensor | None) -> Tensor:
        """The controlled state."""
        seen = x @ self.right[t].T if self.right else x
        u = seen @ self.left[t].T + self.shift[t]
        return x + (u if mask is None else u * mask)

    def affine(self) -> dict[int, Affine]:
        """The maps as they are now, in double precision."""
        maps = {}
        for t, left in self.left.items():
            step, b = left.detach().double(), self.shift[t].detach().double().cpu().numpy()
            step = step @ self.right[t].detach().double() if self.right else step
            maps[t] = Affine(np.eye(len(b)) + step.cpu().numpy(), b)
        return maps


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
    skip_first: int = 0,
    rank: int | None = None,
) -> dict[int, Affine]:
    """Bring the terminal cost down, all states together, from no control."""
    if epochs < 1 or not 0 < rate < np.inf or not 0 < rho < np.inf:
        raise ValueError(f"epochs {epochs}, rate {rate}, rho {rho}: all have to be above 0")
    share, size = rho / (1 + rho), _PAIRS if writes(blocks.model) else _BATCH
    answers, first = _answers(blocks, tokenizer, rows, size, max_length)
    maps = _Maps({t: first[t] for t in sorted(states)}, rank, seed)
    optimizer = torch.optim.Adam(maps.unknown, lr=rate)
    each, costs = -(-len(rows) // size), []
    if checkpoint is not None:
        about = {"states": sorted(states), "rho": rho, "epochs": epochs, "rate": rate, "seed": seed}
        about |= {"perturbed": described(perturb), "blocks": list(checksums(blocks))}
        about |= {"skip_first": skip_first} if skip_first else {}
        about |= {} if rank is None else {"rank": rank}
        costs = _taken_up(checkpoint, about, maps.unknown, optimizer)
    total, begun = epochs * each, len(costs)

    def logits(of: Sequence[Any], part: Sequence[int]) -> Tensor:
        return _logits(blocks, tokenizer, [of[k] for k in part], max_length)

    for epoch in range(begun // each, epochs):
        changed = [row for row, _ in changed_rows(blocks.model, rows, perturb, seed + epoch)]
        for part in _parts(rows, seed + epoch, size)[max(begun - epoch * each, 0) :]:
            step = len(costs) + 1
            pace = min(step / _WARMUP, (total - step + 1) / total, 1.0)
            optimizer.param_groups[0]["lr"] = rate * pace
            with torch.no_grad():
                wanted = logits(rows, part).softmax(-1) if answers is None else answers[part]
            with blocks.control(maps, sorted(states), skip_first=skip_first, private=True):
                clean, moved = (logits(of, part).log_softmax(-1) for of in (rows, changed))
            gap = partial(kl_div, target=wanted, reduction="batchmean")
            cost = (1 - share) * gap(clean) + share * gap(moved)
            slopes = torch.autograd.grad(cost, maps.unknown)
            for value, slope in zip(maps.unknown, slopes, strict=True):
                value.grad = slope  # only theirs: the model's weights get none
            optimizer.step()
            costs.append(float(cost.detach()))
            if not np.isfinite(costs[-1]):
                raise ValueError(f"the cost is {costs[-1]} at step {step}; lower the rate {rate}")
            if checkpoint is not None and checkpoint.due:
                checkpoint.keep(_given(maps.unknown, optimizer), step, costs=costs)
        report(f"epoch {epoch + 1} of {epochs}: terminal cost {np.mean(costs[epoch * each :]):.4f}")
    return maps.affine()


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
    """Logits (rows, labels); of a language model (tokens of the continuations, vocabulary)."""
    model = blocks.model
    if writes(model):
        inputs, follows = continued(tokenizer, rows, max_length, input_device(model))
        return model(**inputs).logits[:, :-1][follows[:, 1:]].float()
    inputs = encode(tokenizer, rows, max_length, input_device(model))
    logits = getattr(model(**inputs), "logits", None)
    if logits is None or logits.ndim != 2:
        raise ValueError(
            f"{type(model).__name__} gives no logits (rows, labels); the terminal cost needs a "
            "classifier, or a model that writes text"
        )
    return logits.float()


def _answers(
    blocks: Blocks, tokenizer: Any, rows: Sequence[Any], size: int, max_length: int
) -> tuple[Tensor | None, list[Tensor]]:
    """Probabilities (N, labels) without control, and a vector (d,) of each state.

    A language model's would not fit in memory: None.
    """
    writer, parts = writes(blocks.model), _parts(rows, 0, size)
    with torch.no_grad(), blocks.reading() as states:
        answers = [
            _logits(blocks, tokenizer, [rows[k] for k in part], max_length)
            for part in (parts[:1] if writer else parts)
        ]
    first = [x[0, 0] for x in states]
    if writer:
        return None, first
    return torch.cat(answers).softmax(-1)[np.argsort(np.concatenate(parts))], first


def _parts(rows: Sequence[Mapping[str, Any]], seed: int, size: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    order = random.permutation(len(rows))
    order = order[np.argsort(text_lengths(rows)[order], kind="stable")]
    parts = [order[k : k + size] for k in range(0, len(order), size)]
    random.shuffle(parts)
    return parts
