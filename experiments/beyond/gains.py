"""Gains of the paper's law as numbers to be learnt, through the closed form of alpha."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import kl_div, softplus

from pidlib.data.batches import encode
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.evaluation.accuracy import under
from pidlib.hooks import find_blocks
from pidlib.pid import PIDController

PAPER_C = 1e-3
BATCH = 24
GRID = ("P", "I", "D", "PI", "PD", "ID", "PID")  # the paper's: each term at one half


def shares_removed(c: Tensor) -> Tensor:
    """1 - alpha_t by Proposition 2's recursion, with a cost for each block, (T,)."""
    later, shares = c.new_zeros(()), []
    for cost in c.flip(0):
        weight = 1 + later
        shares.append(weight / (cost + weight))
        later = cost * shares[-1]
    return torch.stack(shares[::-1])


class LearntGains:
    """K_P, K_I, K_D of every block, and with `free` their sum and c too; a control for `Blocks`."""

    def __init__(self, controller: PIDController, free: bool) -> None:
        T = controller.depth
        self.terms = tuple(controller.bases.values)
        self.Q = [controller.projections(t, self.terms) for t in range(T)]
        self.Q = [torch.stack([of[i] for i in self.terms]).float() for of in self.Q]
        self.free = free
        # free gains start at a sum of 0.3 a block: a control, but a weak one
        self.raw = torch.full((T, len(self.terms)), -2.25 if free else 0.0).requires_grad_()
        self.log_c = torch.full((T,), float(np.log(0.1 if free else PAPER_C))).requires_grad_()
        self.unknown = [self.raw, self.log_c] if free else [self.raw]

    @property
    def gains(self) -> Tensor:
        """K_i by block and term, (T, 3); a sum of 1 in each block unless they are free."""
        return softplus(self.raw) if self.free else self.raw.softmax(1)

    @property
    def shares(self) -> Tensor:
        """What the law removes: (1 - alpha_t) K_i, (T, 3)."""
        return shares_removed(self.log_c.exp())[:, None] * self.gains

    def record(self) -> dict[str, list]:
        """What is kept of the law, and what each of its gains removes at each block."""
        shares = self.shares.detach().double().numpy().round(4).tolist()
        return {"shares": shares, "raw": self.raw.tolist(), "log_c": self.log_c.tolist()}

    def take(self, stored: Mapping[str, Any]) -> LearntGains:
        """The law as it was recorded."""
        with torch.no_grad():
            self.raw.copy_(torch.tensor(stored["raw"]))
            self.log_c.copy_(torch.tensor(stored["log_c"]))
        return self

    @contextmanager
    def attached(self, model: Any) -> Iterator[Any]:
        """Apply the law to a model, as controllers are."""
        with find_blocks(model).control(self):
            yield model

    def __call__(self, t: int, x: Tensor, mask: Tensor | None) -> Tensor:
        """The controlled state."""
        u = -(x @ torch.einsum("i,iab->ab", self.shares[t], self.Q[t]))
        return x + (u if mask is None else u * mask)


def answer_costs(model: Any, inputs: Mapping[str, Tensor], wanted: Tensor) -> Tensor:
    """KL(wanted answer || answer) of each row, (N,)."""
    seen = model(**inputs).logits.log_softmax(-1)
    return kl_div(seen, wanted, reduction="none").sum(-1)


def edited(model: Any, tokenizer: Any, rows: Sequence[dict], edits: RandomEdits, seed: int) -> list:
    """Batches of rows, clean and randomly edited."""
    changed = [row for row, _ in perturbed_rows(rows, edits, seed)]
    return batched(model, tokenizer, list(zip(rows, changed, strict=True)))


def batched(
    model: Any, tokenizer: Any, pairs: Sequence
) -> list[tuple[list[int], list[dict], Tensor]]:
    """Rows of each batch, its clean and changed inputs, and the model's own clean answer."""
    order = np.argsort([len(a["premise"] + a["hypothesis"]) for a, _ in pairs], kind="stable")
    parts = []
    for start in range(0, len(pairs), BATCH):
        rows = order[start : start + BATCH].tolist()
        inputs = [encode(tokenizer, of) for of in zip(*(pairs[k] for k in rows), strict=True)]
        with torch.no_grad():
            parts.append((rows, inputs, model(**inputs[0]).logits.softmax(-1)))
    return parts


def learn(
    model: Any,
    parts: Sequence[tuple[list[int], list[dict], Tensor]],
    law: LearntGains,
    epochs: int,
    rate: float,
    seed: int,
    report: Callable[[str], None],
) -> list[float]:
    """Bring the mean cost of clean and changed texts down by gradients through the model.

    Returns the mean cost of the steps of each epoch.
    """
    path: list[float] = []
    random, optimizer = np.random.default_rng(seed), torch.optim.Adam(law.unknown, lr=rate)
    for epoch in range(epochs):
        costs = []
        for k in random.permutation(len(parts)):
            _, inputs, wanted = parts[k]
            with law.attached(model):
                cost = sum(answer_costs(model, of, wanted).mean() / 2 for of in inputs)
            slopes = torch.autograd.grad(cost, law.unknown)
            for value, slope in zip(law.unknown, slopes, strict=True):
                value.grad = slope
            optimizer.step()
            costs.append(float(cost.detach()))
        path.append(round(float(np.mean(costs)), 4))
        report(f"epoch {epoch + 1} of {epochs}: cost {path[-1]:.4f}")
    return path


def evolve(
    model: Any,
    parts: Sequence[tuple[list[int], list[dict], Tensor]],
    law: LearntGains,
    passes: int,
    size: int,
    spread: float,
    seed: int,
) -> list[float]:
    """Bring the same cost down by CMA-ES over splits of an equal total; keep the best law met.

    Returns the best cost so far by generation.
    """
    import cma

    T, terms = law.raw.shape

    def placed(z: np.ndarray) -> LearntGains:
        with torch.no_grad():  # a split needs a number less than it has terms
            law.raw[:, :-1] = torch.from_numpy(z).reshape(T, terms - 1)
        return law

    start = law.raw.detach()[:, :-1].flatten().tolist()
    settings = {"popsize": size, "seed": seed + 1, "verbose": -9}  # a seed of 0 would be the clock
    search, best = cma.CMAEvolutionStrategy(start, spread, settings), []
    while search.countevals + size <= passes:
        asked = search.ask()
        of = [np.mean(mean_costs(model, parts, {"law": placed(z)})["law"]) for z in asked]
        search.tell(asked, of)
        best.append(round(float(search.result.fbest), 4))
    placed(search.result.xbest)
    return best


def mean_costs(model: Any, parts: Sequence, controls: Mapping[str, Any]) -> dict[str, list[float]]:
    """Mean of the costs of the clean and the changed text, by control and row."""
    costs = {name: np.zeros(sum(len(rows) for rows, *_ in parts)) for name in controls}
    for name, control in controls.items():
        with under(control, model), torch.no_grad():
            for rows, inputs, wanted in parts:
                both = [answer_costs(model, of, wanted) for of in inputs]
                costs[name][rows] = (sum(both) / 2).numpy()
    return {name: of.round(4).tolist() for name, of in costs.items()}
