"""What control costs at the paper's sizes: models of random weights, random subspaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from pidbook.analysis.pontryagin import Pontryagin
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
ROUNDS = (8, 100)  # of a cell, at least and at most
SECONDS = 24.0  # about how long a cell may take


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
    """Control by random subspaces: no weights to recognise, no eigenvectors to look for."""

    @contextmanager
    def claimed(self, model: nn.Module, alone: bool = True) -> Iterator[Blocks]:
        """Give the blocks of any model."""
        blocks = find_blocks(model)
        with blocks.held(alone):
            yield blocks

    def frames(self, t: int) -> list[Tensor]:
        """Basis (d, r) of each term at state t."""
        return [self.bases.basis(i, t, self.variance).float() for i in self.scheme.split("-")]

    @cached_property
    def feedback(self) -> dict[int, dict[str, Gain]]:
        """Gain matrices by controlled state: thin for one small subspace, dense elsewhere."""
        return {t: {self.scheme: self._gain(t)} for t in self.controlled}

    def _gain(self, t: int) -> Gain:
        share, frames = float(strengths(self.depth, self.c)[t]), self.frames(t)
        d, rank = frames[0].shape
        if len(frames) == 1 and 2 * rank < d:
            return Gain(-share * frames[0], -frames[0].T.contiguous(), share)
        off = torch.eye(d) - sum(frame @ frame.T for frame in frames) / len(frames)
        return Gain(-share * off, None, 0.0)

    @contextmanager
    def naive(self, model: nn.Module) -> Iterator[nn.Module]:
        """The same formula without thought: zeros, a mask, two tensordots for each term."""
        blocks, shares = find_blocks(model), strengths(self.depth, self.c)
        weight = next(model.parameters())
        frames = {t: [frame.to(weight) for frame in self.frames(t)] for t in self.controlled}

        def control(t: int, x: Tensor, mask: Tensor | None) -> Tensor:
            real = torch.ones_like(x[..., :1]) if mask is None else mask.to(x)
            masked, u = x * real, torch.zeros_like(x)
            for frame in frames[t]:
                inside = torch.tensordot(torch.tensordot(masked, frame, 1), frame.T, 1)
                u = u + (masked - inside) / len(frames[t])
            return x - float(shares[t]) * u

        with blocks.control(control, layers=self.hooked):
            yield model


def random_control(
    model: nn.Module,
    scheme: str = "PD",
    layers: str | None = "published",
    ranks: Mapping[str, float] = RANKS,
) -> _RandomControl:
    """Control by random orthonormal bases of stated ranks (shares of the width), for timing only."""
    blocks, draw = find_blocks(model), torch.Generator().manual_seed(0)
    d, T = blocks.width, blocks.depth
    frame = torch.linalg.qr(torch.randn(d, d, generator=draw)).Q
    values, vectors = {}, {}
    for term, share in ranks.items():
        rank = round(share * d)
        values[term] = (torch.arange(d) < rank).double().repeat(T + 1, 1)
        orders = [torch.randperm(d, generator=draw) for _ in range(T)]
        vectors[term] = torch.stack([frame[:, order[:rank]] for order in orders])
    origin = FitRecord(model.config.model_type, type(model).__name__, T, d, None, (), 0, 0, 0, 0)
    bases = Eigenbases(values, vectors, origin)
    return _RandomControl(bases, scheme=scheme, variance=1.0, layers=layers)


class SizeCost(NamedTuple):
    """What control costs one architecture at one batch size.

    `ours`, `naive`: P-D control by our products and by the naive ones; `thin`: P control alone;
    `bound`, `thin_bound`: ratios of the operations counted; `pmp`: `sweeps` + 1 passes forward and
    back, and one forward more, or None.
    """

    model: str
    layers: str
    controlled: int
    depth: int
    width: int
    batch: int
    base_seconds: float
    ours: Ratio
    naive: Ratio
    thin: Ratio
    against_naive: Ratio
    bound: float
    thin_bound: float
    pmp: Ratio | None
    sweeps: int

    @property
    def excess(self) -> float:
        """Our overhead over the bound's."""
        return (self.ours.value - 1) / (self.bound - 1)

    @property
    def per_sweep(self) -> float | None:
        """Time of one pass forward and back, in base times; None when PMP was not timed."""
        return (self.pmp.value - 1) / (self.sweeps + 1) if self.pmp else None


def size_cost(
    model: nn.Module,
    name: str,
    layers: str = "published",
    batch: int = 32,
    rounds: int | None = None,
    sweeps: int | None = 2,
    tokens: int = TOKENS,
) -> SizeCost:
    """Time one model at one batch size.

    Parameters
    ----------
    model, name : a model of transformers and what it is called
    layers : {"published", "all"}
    batch, rounds, tokens : int, by default from 8 to 100 rounds
    sweeps : int, of PMP, or None to leave it out

    Returns
    -------
    SizeCost

    Source: Table 5.
    """
    device = next(model.parameters()).device
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(5, model.config.vocab_size, (batch, tokens), generator=draw).to(device)
    mask = torch.ones_like(ids)
    mask[(batch + 1) // 2 :, tokens - tokens // 4 :] = 0  # half of many rows are shorter
    inputs = {"input_ids": ids, "attention_mask": mask}
    chosen = "published" if layers == "published" else None
    control, thin = (random_control(model, scheme, chosen) for scheme in ("PD", "P"))
    solver = Pontryagin(control, sweeps=sweeps or 0, tolerance=0.0)

    def call() -> None:
        with torch.inference_mode():
            model(**inputs)

    contexts = {
        "base": nullcontext,
        "ours": lambda: control.attached(model),
        "naive": lambda: control.naive(model),
        "thin": lambda: thin.attached(model),
    }
    if rounds is None:
        seconds = float(measure(call, {"base": nullcontext}, device, 1)["base"][0])
        rounds = int(np.clip(SECONDS / (len(contexts) * seconds), *ROUNDS))
    taken = measure(call, contexts, device, rounds)
    pmp = None
    if sweeps is not None:
        both = {"base": nullcontext, "pmp": lambda: solver.attached(model)}
        solved = measure(call, both, device, max(5, rounds // 6))
        pmp = ratio(solved["pmp"], solved["base"])
    base, *controlled = (operations(model, [inputs], c) for c in (None, control, thin))
    return SizeCost(
        name,
        layers,
        len(control.controlled),
        control.depth,
        control.origin.width,
        batch,
        float(np.median(taken["base"])),
        *(ratio(taken[key], taken["base"]) for key in ("ours", "naive", "thin")),
        ratio(taken["ours"], taken["naive"]),
        *(counted / base for counted in controlled),
        pmp,
        sweeps or 0,
    )
