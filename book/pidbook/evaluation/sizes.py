"""What control costs at the paper's sizes: models of random weights, random subspaces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import nn

from pidbook.evaluation.timing import Ratio, measure, operations, ratio
from pidlib.bases import Eigenbases, FitRecord
from pidlib.gain import Gain
from pidlib.hooks import Blocks, find_blocks
from pidlib.laws import strengths
from pidlib.pid import PIDController

LARGE = {"num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
         "intermediate_size": 4096}  # fmt: skip
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "DistilBERT": ("distilbert", {}),
    "RoBERTa-base": ("roberta", {}),
    "RoBERTa-large": ("roberta", LARGE),
    "BERT-large": ("bert", LARGE),
    "OPT-1.3B": (
        "opt",
        {"num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 32,
         "ffn_dim": 8192, "word_embed_proj_dim": 2048},
    ),
}  # fmt: skip
"""Model type and settings of the paper's models."""
RANKS = {"P": 0.155, "D": 0.483}
"""Ranks as shares of the width: the means of the paper's Table 7, 317 and 989 of 2048."""
TOKENS = 32  # a pair of SNLI has about thirty


def random_model(name: str, **changes: Any) -> nn.Module:
    """Make a classifier of one of `ARCHITECTURES` with random weights.

    Parameters
    ----------
    name : str
    changes : other settings of the configuration

    Returns
    -------
    transformers.PreTrainedModel
    """
    from transformers import AutoConfig, AutoModelForSequenceClassification

    if name not in ARCHITECTURES:
        raise ValueError(f"unknown architecture {name!r}; known: {list(ARCHITECTURES)}")
    kind, settings = ARCHITECTURES[name]
    settings = {"num_labels": 3, "pad_token_id": 1, **settings, **changes}
    config = AutoConfig.for_model(kind, **settings)
    return AutoModelForSequenceClassification.from_config(config).eval()


class _RandomControl(PIDController):
    """P-D control by random subspaces: no weights to recognise, no eigenvectors to look for."""

    @contextmanager
    def claimed(self, model: nn.Module, alone: bool = True) -> Iterator[Blocks]:
        """Give the blocks of any model."""
        blocks = find_blocks(model)
        with blocks.held(alone):
            yield blocks

    @cached_property
    def feedback(self) -> dict[int, dict[str, Gain]]:
        """Dense gain matrices by controlled state."""
        shares = strengths(self.depth, self.c)
        gains = {}
        for t in self.controlled:
            frames = [self.bases.basis(term, t, self.variance).float() for term in RANKS]
            off = torch.eye(self.origin.width) - sum(F @ F.T for F in frames) / len(frames)
            gains[t] = {self.scheme: Gain(-float(shares[t]) * off, None, 0.0)}
        return gains


def random_control(model: nn.Module, layers: str | None = "published") -> _RandomControl:
    """P-D control by random orthonormal bases of the paper's ranks, for timing only."""
    blocks, draw = find_blocks(model), torch.Generator().manual_seed(0)
    d, T = blocks.width, blocks.depth
    frame = torch.linalg.qr(torch.randn(d, d, generator=draw)).Q
    values, vectors = {}, {}
    for term, share in RANKS.items():
        rank = round(share * d)
        values[term] = (torch.arange(d) < rank).double().repeat(T + 1, 1)
        orders = [torch.randperm(d, generator=draw) for _ in range(T)]
        vectors[term] = torch.stack([frame[:, order[:rank]] for order in orders])
    origin = FitRecord(model.config.model_type, type(model).__name__, T, d, None, (), 0, 0, 0, 0)
    bases = Eigenbases(values, vectors, origin)
    return _RandomControl(bases, scheme="PD", variance=1.0, layers=layers)


class SizeCost(NamedTuple):
    """What P-D control costs one architecture.

    `ours`: time with control over time without; `bound`: the ratio of the operations counted.
    """

    controlled: int
    depth: int
    width: int
    ours: Ratio
    bound: float


def size_cost(
    model: nn.Module,
    layers: str | None = "published",
    rounds: int = 12,
) -> SizeCost:
    """Time a model on one text, with and without P-D control on the published states, or all (None).

    Source: Table 5.
    """
    device = next(model.parameters()).device
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(5, model.config.vocab_size, (1, TOKENS), generator=draw).to(device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    control = random_control(model, layers)

    def call() -> None:
        with torch.inference_mode():
            model(**inputs)

    contexts = {"base": nullcontext, "ours": lambda: control.attached(model)}
    taken = measure(call, contexts, device, rounds)
    base, controlled = (operations(model, [inputs], c) for c in (None, control))
    return SizeCost(
        len(control.controlled),
        control.depth,
        control.origin.width,
        ratio(taken["ours"], taken["base"]),
        controlled / base,
    )
