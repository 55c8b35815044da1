"""How much more than one map of one state an estimate could use: memory, classes of words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from pidbook.analysis.word_states import unit_means
from pidlib.data.alignment import paired_units
from pidlib.data.batches import input_device
from pidlib.data.perturbations import Perturb, perturbed_rows
from pidlib.theory.wiener import shrunk


def memory_shares(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    perturb: Perturb,
    seed: int = 0,
    batch_size: int = 64,
) -> list[dict[str, float]]:
    """Error of estimates of clean states: from a perturbed state, with more beside it.

    All are regressions over changed words, fitted on the first half of the rows and measured on
    the second, without control. Raises ValueError for fewer than 4 rows or no changed word.

    Parameters
    ----------
    model, tokenizer, rows, perturb, seed, batch_size
        As for `Estimator.fit`.

    Returns
    -------
    list of dict
        By state t >= 1: root mean squares as shares of the spread of clean states: `change`, of
        no estimate; `alone`, one map of x_t; `memory`, one of x_t and x_{t-1}; `classes`, a map
        of x_t for words that arrive in one piece and another for those in several.

    Source: the question of equations kalman-memory and kalman-none. Those are of the closed loop;
    this is measured without control, where memory may help even if no block disturbs.
    """
    if len(rows) < 4:
        raise ValueError(f"{len(rows)} rows; give at least 4, half to fit and half to measure")
    changed = perturbed_rows(rows, perturb, seed)
    half = len(rows) // 2
    fitted, measured = (
        _states(model, tokenizer, rows, changed, part, batch_size)
        for part in (range(half), range(half, len(rows)))
    )
    shares = []
    for t in range(1, len(fitted.clean) - 1):  # x_T is never controlled
        x, p, q = measured.clean[t], measured.changed[t], measured.changed[t - 1]
        wanted, known, before = fitted.clean[t], fitted.changed[t], fitted.changed[t - 1]
        estimates = {
            "change": p,
            "alone": _regression(known, wanted)(p),
            "memory": _regression(np.hstack([known, before]), wanted)(np.hstack([p, q])),
        }
        estimates["classes"] = estimates["alone"].copy()
        for kind in (False, True):
            ours, theirs = fitted.split == kind, measured.split == kind
            if ours.sum() >= 2:
                estimates["classes"][theirs] = _regression(known[ours], wanted[ours])(p[theirs])
        size = x.var(0).sum()
        errors = {k: (((e - x) ** 2).sum(1).mean() / size) ** 0.5 for k, e in estimates.items()}
        shares.append({"t": t, **{k: float(v) for k, v in errors.items()}})
    return shares


class _Words(NamedTuple):
    """Changed words: states (words, d) by t, clean and changed; which arrive in several pieces."""

    clean: list[np.ndarray]
    changed: list[np.ndarray]
    split: np.ndarray


def _states(
    model: Any, tokenizer: Any, rows: Any, changed: Any, part: range, batch_size: int
) -> _Words:
    embed, batches = model.get_input_embeddings(), []
    texts = {k: [v for v in changed[k][0].values() if isinstance(v, str)] for k in part}
    order = sorted(part, key=lambda k: sum(map(len, texts[k])))  # little is spent on padding
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        moved, edits = zip(*(changed[k] for k in chosen), strict=True)
        pair = paired_units(tokenizer, [rows[k] for k in chosen], edits, moved, input_device(model))
        with torch.no_grad():
            # Of the tokens themselves: what stands after a split word moves, and is not changed.
            own = [units.means(embed(units.inputs["input_ids"])) for units in pair]
        moves = (own[0] - own[1]).abs().amax(1).cpu() > 1e-6
        both = (pair[0].whole & pair[1].whole & moves).numpy()
        means = (list(unit_means(model, units)[both].swapaxes(0, 1)) for units in pair)
        batches.append((*means, pair[1].sizes().numpy()[both] > 1))
    *both, split = zip(*batches, strict=True)
    joined = ([np.concatenate(state) for state in zip(*parts, strict=True)] for parts in both)
    words = _Words(*joined, np.concatenate(split))
    if len(words.split) == 0:
        raise ValueError(f"no word of {len(part)} rows was changed; give more rows or more edits")
    return words


def _regression(known: np.ndarray, wanted: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The map of the least squared error, with the covariance of what is known shrunk."""
    m, w = known.mean(0), wanted.mean(0)
    covariance = shrunk((known - m).T @ (known - m) / len(known), len(known))
    A = np.linalg.solve(covariance, (known - m).T @ (wanted - w) / len(known))
    return lambda x: (x - m) @ A + w
