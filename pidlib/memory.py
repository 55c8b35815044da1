"""How much a memory of the state before would add to the estimate of a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from pidlib.blocks import read_states
from pidlib.devices import input_device
from pidlib.perturbations import Perturb, perturbed_rows
from pidlib.units import paired_units
from pidlib.wiener import shrunk


def memory_shares(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    perturb: Perturb,
    seed: int = 0,
    batch_size: int = 64,
) -> list[dict[str, float]]:
    """Error of estimates of clean states, from a perturbed state alone and with the one before.

    Both estimates are regressions over perturbed words, fitted on the first half of the rows
    and measured on the second. No control is attached.

    Parameters
    ----------
    model, tokenizer, rows, perturb, seed, batch_size
        As for `pidlib.estimates.fit_estimates`; at least 4 rows.

    Returns
    -------
    list of dict
        By controlled state t >= 1: root mean squares over changed words of the second half, as shares
        of the spread of clean states: `change`, the error of no estimate; `alone`, from x_t;
        `memory`, from x_t and x_{t-1}.

    Raises
    ------
    ValueError
        Fewer than 4 rows, or as `paired_units`.

    Source: ours; equations kalman-memory, kalman-none.
    """
    if len(rows) < 4:
        raise ValueError(f"{len(rows)} rows; give at least 4, half to fit and half to measure")
    changed = perturbed_rows(rows, perturb, seed)
    half = len(rows) // 2
    fitted, measured = (
        _states(model, tokenizer, rows, changed, part, batch_size)
        for part in (range(half), range(half, len(rows)))
    )
    found = []
    for t in range(1, len(fitted) - 1):  # x_T is never controlled
        x, p, q = (measured[t][0], measured[t][1], measured[t - 1][1])
        size = x.var(0).sum()
        row = {"t": t, "change": ((p - x) ** 2).sum(1).mean() / size}
        for name, parts in (("alone", (t,)), ("memory", (t, t - 1))):
            seen = np.concatenate([fitted[s][1] for s in parts], axis=1)
            A, b = _regression(seen, fitted[t][0])
            new = p if name == "alone" else np.concatenate([p, q], axis=1)
            row[name] = ((new @ A + b - x) ** 2).sum(1).mean() / size
        found.append({k: v if k == "t" else float(v) ** 0.5 for k, v in row.items()})
    return found


def _states(
    model: Any, tokenizer: Any, rows: Any, changed: Any, part: range, batch_size: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Clean and perturbed states (words, d) of changed words, by t."""
    seen: list[list[tuple[np.ndarray, np.ndarray]]] = []
    for start in range(0, len(part), batch_size):
        chosen = part[start : start + batch_size]
        clean, moved = paired_units(
            tokenizer,
            [rows[k] for k in chosen],
            [changed[k][1] for k in chosen],
            [changed[k][0] for k in chosen],
            input_device(model),
        )
        with torch.no_grad():
            pair = [(one, read_states(model, one.inputs).values) for one in (clean, moved)]
        both = clean.whole & moved.whole
        x, p = ([one.means(v)[both].cpu().numpy() for v in values] for one, values in pair)
        far = np.abs(p[0] - x[0]).max(1) > 1e-6  # words whose own tokens changed
        seen.append([(a[far], b[far]) for a, b in zip(x, p, strict=True)])
    return [
        tuple(map(np.concatenate, zip(*state, strict=True))) for state in zip(*seen, strict=True)
    ]


def _regression(seen: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A, b of wanted = seen A + b, with the covariance of what is seen shrunk."""
    m, w = seen.mean(0), wanted.mean(0)
    covariance = shrunk((seen - m).T @ (seen - m) / len(seen), len(seen))
    A = np.linalg.solve(covariance, (seen - m).T @ (wanted - w) / len(seen))
    return A, w - m @ A
