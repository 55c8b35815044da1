"""Theorem 1 on a real model: the error it predicts beside the error there is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pidlib.data.batches import MAX_LENGTH, encode, input_device, texts
from pidlib.hooks import read_states
from pidlib.pid import PIDController
from pidlib.theory.gains import attenuation


@dataclass(frozen=True)
class ErrorProfiles:
    """Errors of attacked texts against their clean forms, layer by layer.

    All are norms, of shape (N, T + 1) for N pairs of equal length, and taken per token: the
    root of the mean over tokens of |e|^2.

    Attributes
    ----------
    controlled, free : |x̄_t - x_t| with control on the attacked text, and without
    theorem : what Theorem 1 predicts from x̄_0 - x_0
    general : the same with the clean text's part off the subspace, which Theorem 1 takes as nil
    first : that with control, of the first token alone
    scale : (T + 1,) array, root of the mean square of a clean state
    pairs, left_out, unchanged : int, pairs used, of other lengths in tokens, and not attacked

    Source: Theorem 1, Table 6. Departure: the paper does not say how it aligns texts.
    """

    controlled: np.ndarray
    free: np.ndarray
    theorem: np.ndarray
    general: np.ndarray
    first: np.ndarray
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
    model, tokenizer, batch_size
        As for `pidlib.evaluation.predict`.
    controller : PIDController of scheme P on all states: the setting of the theorem
    rows, attacked : sequences of mappings, as they were and after an attack

    Returns
    -------
    ErrorProfiles

    Source: Theorem 1, Table 6; equation theorem-bias for `general`.
    """
    if controller.scheme != "P" or len(controller.controlled) != controller.depth:
        raise ValueError(
            f"scheme {controller.scheme!r} on the states {controller.controlled}: Theorem 1 is "
            "about P control of all states; give controller.retune(scheme='P', layers=None)"
        )
    if len(rows) != len(attacked):
        raise ValueError(f"{len(attacked)} attacked rows for {len(rows)} rows")
    both = (tokenizer(*texts(part))["input_ids"] for part in (rows, attacked))
    lengths = (map(len, part) for part in both)
    alike = [k for k, (a, b) in enumerate(zip(*lengths, strict=True)) if a == b <= MAX_LENGTH]
    changed = [k for k in alike if texts([rows[k]]) != texts([attacked[k]])]
    if not changed:
        raise ValueError("no changed text has as many tokens as its clean form")
    basis = controller.bases.basis("P", 0, controller.variance)
    left = torch.from_numpy(attenuation(controller.depth, controller.c))[:, None, None, None]
    profiles: dict[str, list[np.ndarray]] = defaultdict(list)
    energy, tokens = 0.0, 0
    for start in range(0, len(changed), batch_size):
        chosen = changed[start : start + batch_size]
        clean, moved = (
            encode(tokenizer, [of[k] for k in chosen], device=input_device(model))
            for of in (rows, attacked)
        )
        mask = clean["attention_mask"].cpu().double()
        x, z = _states(model, clean), _states(model, moved)
        with controller.attached(model):
            held = _states(model, moved)
        energy = energy + ((x**2).sum(-1) * mask).sum((1, 2)).numpy()
        tokens += int(mask.sum())
        (on, off), (_, bias) = _split(z[0] - x[0], basis), _split(x[0], basis)
        squares = {  # (T + 1, B, l)
            "controlled": ((held - x) ** 2).sum(-1),
            "free": ((z - x) ** 2).sum(-1),
            "theorem": (on**2).sum(-1) + (left**2 * off**2).sum(-1),
            "general": (on**2).sum(-1) + ((left * off - (1 - left) * bias) ** 2).sum(-1),
        }
        for name, square in squares.items():
            mean = (square * mask).sum(-1) / mask.sum(-1)
            profiles[name].append(mean.sqrt().T.numpy())
        profiles["first"].append(squares["controlled"][:, :, 0].sqrt().T.numpy())
    return ErrorProfiles(
        **{name: np.concatenate(values) for name, values in profiles.items()},
        scale=np.sqrt(energy / tokens),
        pairs=len(changed),
        left_out=len(rows) - len(alike),
        unchanged=len(alike) - len(changed),
    )


def _split(v: Tensor, basis: Tensor) -> tuple[Tensor, Tensor]:
    inside = (v @ basis) @ basis.T
    return inside, v - inside


def _states(model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
    with torch.no_grad():
        return torch.stack(read_states(model, inputs).values).double().cpu()
