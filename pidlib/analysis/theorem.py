"""Theorem 1 on a real model: the error it predicts beside the error there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pidlib.bases import Eigenbases
from pidlib.data.batches import MAX_LENGTH, input_device, texts
from pidlib.hooks import read_states
from pidlib.pid import PIDController
from pidlib.theory.gains import attenuation


@dataclass(frozen=True)
class ErrorProfiles:
    """Errors of attacked texts against their clean forms, layer by layer.

    All are norms, of shape (N, T + 1) for N pairs of equal length, and taken per token: the
    root of the mean over tokens of |e|^2. Those of the first token are of that token alone.

    Attributes
    ----------
    controlled, free : (N, T + 1) arrays
        |x̄_t - x_t| with control on the attacked text, and without.
    theorem : (N, T + 1) array
        What Theorem 1 predicts from x̄_0 - x_0.
    general : (N, T + 1) array
        The same with the clean text's part off the subspace, which Theorem 1 takes as nil.
    first, first_free, first_theorem, first_general : (N, T + 1) arrays
        The same four of the first token.
    scale : (T + 1,) array
        Root of the mean square of a clean state.
    pairs, left_out, unchanged : int
        Pairs used; pairs whose lengths in tokens differ; pairs that the attack left alone.

    Source: Theorem 1, Table 6. Departure: the paper does not say how it aligns texts.
    """

    controlled: np.ndarray
    free: np.ndarray
    theorem: np.ndarray
    general: np.ndarray
    first: np.ndarray
    first_free: np.ndarray
    first_theorem: np.ndarray
    first_general: np.ndarray
    scale: np.ndarray
    pairs: int
    left_out: int
    unchanged: int


def error_profiles(
    model: Any,
    tokenizer: Any,
    controller: PIDController,
    rows: Sequence[Mapping[str, Any]],
    attacked: Sequence[Mapping[str, Any]],
    batch_size: int = 32,
) -> ErrorProfiles:
    """Compare the error of P control with what Theorem 1 says of it.

    Parameters
    ----------
    model, tokenizer
        As `load_model` returns them.
    controller : PIDController
        Scheme P, all states: the setting of the theorem.
    rows, attacked : sequences of mappings
        The same rows, as they were and after an attack.
    batch_size : int

    Returns
    -------
    ErrorProfiles

    Raises
    ------
    ValueError
        Another scheme, some states only, sequences of different length, or no pair of the
        same number of tokens.

    Source: Theorem 1, Table 6; equation theorem-bias for `general`.
    """
    if controller.scheme != "P" or len(controller.controlled) != controller.depth:
        raise ValueError(
            f"scheme {controller.scheme!r} on the states {controller.controlled}: Theorem 1 is "
            "about P control of all states; give controller.retune(scheme='P', layers=None)"
        )
    if len(rows) != len(attacked):
        raise ValueError(f"{len(attacked)} attacked rows for {len(rows)} rows")
    alike = _same_length(tokenizer, rows, attacked)
    same = [k for k in alike if texts([rows[k]]) != texts([attacked[k]])]
    if not same:
        raise ValueError("no changed text has as many tokens as its clean form")
    basis = controller.bases.basis("P", 0, controller.variance)
    left = attenuation(controller.depth, controller.c)
    parts: dict[str, list[np.ndarray]] = {}
    energy, tokens = 0.0, 0
    for start in range(0, len(same), batch_size):
        chosen = same[start : start + batch_size]
        clean = _encode(tokenizer, [rows[k] for k in chosen], input_device(model))
        moved = _encode(tokenizer, [attacked[k] for k in chosen], input_device(model))
        x = _states(model, clean)
        mask = clean["attention_mask"].cpu().double()
        z = _states(model, moved)
        with controller.attached(model):
            held = _states(model, moved)
        energy = energy + ((x**2).sum(-1) * mask).sum((1, 2)).numpy()
        tokens += int(mask.sum())
        found = {
            "controlled": _per_token(held - x, mask),
            "free": _per_token(z - x, mask),
            **_predictions(z[0] - x[0], x[0], basis, left, mask),
            "first": (held - x)[:, :, 0].norm(dim=-1).T.numpy(),
            "first_free": (z - x)[:, :, 0].norm(dim=-1).T.numpy(),
        }
        for name, value in found.items():
            parts.setdefault(name, []).append(value)
    whole = {name: np.concatenate(values) for name, values in parts.items()}
    scale = np.sqrt(energy / tokens)
    return ErrorProfiles(
        **whole,
        scale=scale,
        pairs=len(same),
        left_out=len(rows) - len(alike),
        unchanged=len(alike) - len(same),
    )


def _predictions(
    z: Tensor, x: Tensor, basis: Tensor, left: np.ndarray, mask: Tensor
) -> dict[str, np.ndarray]:
    """Theorem 1 from the first states (B, l, d), with and without its bias."""

    def split(v: Tensor) -> tuple[Tensor, Tensor]:
        inside = (v @ basis) @ basis.T
        return inside, v - inside

    (on, off), (_, bias) = split(z), split(x)
    a = torch.from_numpy(left)[:, None, None, None]
    theorem = (on**2).sum(-1) + (a**2 * off**2).sum(-1)  # (T + 1, B, l)
    general = (on**2).sum(-1) + ((a * off - (1 - a) * bias) ** 2).sum(-1)
    return {
        "theorem": _mean(theorem, mask),
        "general": _mean(general, mask),
        "first_theorem": theorem[:, :, 0].sqrt().T.numpy(),
        "first_general": general[:, :, 0].sqrt().T.numpy(),
    }


def _per_token(error: Tensor, mask: Tensor) -> np.ndarray:
    return _mean((error**2).sum(-1), mask)


def _mean(squares: Tensor, mask: Tensor) -> np.ndarray:
    """Root of the mean over real tokens, (B, T + 1)."""
    return ((squares * mask).sum(-1) / mask.sum(-1)).sqrt().T.numpy()


def _states(model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
    with torch.no_grad():
        return torch.stack(read_states(model, inputs).values).double().cpu()


def _encode(tokenizer: Any, rows: list, device: Any) -> dict[str, Tensor]:
    first, second = texts(rows)
    inputs = tokenizer(
        first, second, padding=True, truncation=True, max_length=MAX_LENGTH, return_tensors="pt"
    )
    return dict(inputs.to(device))


def _same_length(tokenizer: Any, rows: Sequence, attacked: Sequence) -> list[int]:
    lengths = []
    for part in (rows, attacked):
        first, second = texts(part)
        lengths.append([len(ids) for ids in tokenizer(first, second)["input_ids"]])
    return [k for k, (a, b) in enumerate(zip(*lengths, strict=True)) if a == b <= MAX_LENGTH]


def outside_norms(
    model: Any,
    tokenizer: Any,
    bases: Eigenbases,
    rows: Sequence[Mapping[str, Any]],
    variance: float = 0.99,
    batch_size: int = 32,
) -> dict[str, np.ndarray]:
    """Mean length of what states, sums and differences have outside their subspaces.

    Parameters
    ----------
    model, tokenizer
        As `load_model` returns them.
    bases : Eigenbases
        Of a fitted controller.
    rows : sequence of mappings
    variance : float
        Share kept by the subspaces.
    batch_size : int

    Returns
    -------
    dict of str to (T,) array
        By term, P, I and D: mean over real tokens of |Q_t s_t|, where s_t is x_t, the sum
        of x_0 to x_t, or x_t - x_{t-1} (x_0 at t = 0).

    Source: Table 7 (embedding errors). Departure: a length for each term; the paper prints
    one for "the combination of P, I, and D" and does not say which.
    """
    depth, tokens = bases.origin.depth, 0
    terms = list(bases.values)
    frames = {i: [bases.basis(i, t, variance) for t in range(depth)] for i in terms}
    sums = {i: np.zeros(depth) for i in terms}
    for start in range(0, len(rows), batch_size):
        part = [rows[k] for k in range(start, min(start + batch_size, len(rows)))]
        inputs = _encode(tokenizer, part, input_device(model))
        mask = inputs["attention_mask"].bool().cpu()
        states = _states(model, inputs)[:depth]
        seen = {
            "P": states,
            "I": states.cumsum(0),
            "D": torch.cat([states[:1], states.diff(dim=0)]),
        }
        for i in terms:
            for t, basis in enumerate(frames[i]):
                s = seen[i][t][mask]
                sums[i][t] += float((s - (s @ basis) @ basis.T).norm(dim=-1).sum())
        tokens += int(mask.sum())
    return {i: total / tokens for i, total in sums.items()}
