"""Rivals and probes of the fairness trial: LEACE, turned controls, what the last state still tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pidbook.data.groups import GroupSwap
from pidbook.estimation.invariance import SwapFeedback, paired_states
from pidlib.data.batches import batches
from pidlib.gain import Gain
from pidlib.hooks import find_blocks, read_states
from pidlib.laws import Static

HIDDEN = 64  # units of the probe that is not linear


def fit_leace(model: Any, tokenizer: Any, rows: Sequence[Mapping], swap: GroupSwap) -> Gain:
    """LEACE at x_0 of the group of a word: first 1, second -1, other 0; rows and their swaps."""
    from concept_erasure import LeaceFitter

    fitter = None
    parts = [[r for r in rows if bool(swap.sides(r)[0]) == first] for first in (True, False)]
    for sign, part in zip((1.0, -1.0), parts, strict=True):
        for before, after, changed in paired_states(model, tokenizer, part, swap, last=0):
            fitter = fitter or LeaceFitter(before[0].shape[1], 1, dtype=torch.float64)
            label = sign * changed.double()
            fitter.update(before[0], label).update(after[0], -label)
    eraser = fitter.eraser  # x -> x - left right (x - mean)
    left, right = eraser.proj_left, eraser.proj_right
    offset = left @ (right @ eraser.bias)
    return Gain(-right.T.contiguous(), left.T.contiguous(), 0.0, offset)


def erased(model: Any, fit: Callable[[], Gain]) -> Any:
    """Attach an eraser, fitted when it is needed."""
    gain = fit()
    return find_blocks(model).control(begin=lambda: Static({0: gain}), layers=[0])


def turned(control: SwapFeedback, model: Any, seed: int = 0, frame: Tensor | None = None) -> Any:
    """A control whose push goes elsewhere at the same size, or that measures along another frame."""
    d = len(control.means[0])
    source = torch.Generator().manual_seed(seed)
    turn = torch.linalg.qr(torch.randn(d, d, generator=source, dtype=torch.float64))[0]

    def rotated(_t: int, u: Tensor, _mask: Tensor | None) -> Tensor:
        return u @ turn.to(u)

    if frame is None:
        return control.attached(model, instead=rotated)

    def law(_t: int, x: Tensor, mask: Tensor | None) -> Tensor:
        marked = control.marked(x)[..., None]
        marked = marked if mask is None else marked & mask
        c = (x - control.means[0].to(x)) @ frame.to(x)
        return x - (c @ frame.to(x).T) * (marked & control.agreed(x, marked))

    return find_blocks(model).control(law, layers=[0])


def probed(
    model: Any,
    tokenizer: Any,
    attach: Callable,
    parts: Sequence[Sequence],
    swap: GroupSwap,
    seed: int,
) -> dict[str, Any]:
    """Right guesses of the group from the last state, by a linear and another probe; n.

    Each row stands there as written and swapped, so half of all rows is of each group.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    sets = []
    for rows in parts:
        both = [*rows, *map(swap.apply, rows)]
        with attach(model):
            first, mean = _last(model, tokenizer, both)
        labels = np.array([swap.sides(row)[0] > 0 for row in both])
        sets.append(({"first token": first, "mean": mean}, labels))
    (fit, known), (test, wanted) = sets
    right: dict[str, int] = {}
    for key in fit:
        for name, probe in (
            ("linear", LogisticRegression(max_iter=2000, C=0.1)),
            ("network", MLPClassifier((HIDDEN,), alpha=1.0, max_iter=300, random_state=seed)),
        ):
            learner = make_pipeline(StandardScaler(), probe).fit(fit[key], known)
            right[f"{key}, {name}"] = int((learner.predict(test[key]) == wanted).sum())
    return {"right": right, "n": len(wanted)}


def _last(model: Any, tokenizer: Any, rows: Sequence[Mapping]) -> tuple[np.ndarray, np.ndarray]:
    """x_T of the first token and its mean over the tokens of each text, (N, d) each."""
    blocks = find_blocks(model)
    first = np.zeros((len(rows), blocks.width))
    mean = np.zeros_like(first)
    with torch.inference_mode():
        for batch in batches(tokenizer, rows, 64):
            states = read_states(model, batch.inputs, blocks)
            x, mask = states.values[-1].double(), states.mask[..., None]
            first[batch.indices] = x[:, 0].numpy()
            mean[batch.indices] = ((x * mask).sum(1) / mask.sum(1)).numpy()
    return first, mean
