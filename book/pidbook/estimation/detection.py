"""Tell attacked text by how far its states lie from their own estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from pidlib.controller import Controller
from pidlib.data.batches import batches, input_device
from pidlib.evaluation.accuracy import scores


def innovation_scores(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    controller: Controller,
    batch_size: int = 32,
) -> np.ndarray:
    """Size of the control at each state of each input (N, states): higher where text is odd."""
    states = list(controller.feedback)
    if not states:
        raise ValueError("the controller controls no state, so it has no innovation to score")
    innovations, sizes = np.zeros((len(rows), len(states))), {}

    def begin() -> Any:
        law = controller.begin()

        def control(t: int, x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor | None:
            new = law(t, x, mask)
            if new is not None:  # at padding the control is 0
                sizes[t] = ((new - x).norm(dim=-1) / x.norm(dim=-1).clamp_min(1e-12)).amax(-1)
            return new

        return control

    with controller.claimed(model, alone=False) as blocks, torch.inference_mode():
        for batch in batches(tokenizer, rows, batch_size, device=input_device(model)):
            how = {"skip_first": controller.skip_first, "private": True}
            with blocks.control(begin=begin, layers=controller.hooked, **how):
                model(**batch.inputs)
            for column, t in enumerate(states):
                innovations[batch.indices, column] = sizes[t].double().cpu().numpy()
    return innovations


class Detector(NamedTuple):
    """A score of how odd a text is to a model, by the innovations under a control.

    Attributes
    ----------
    controller : Controller
    mean, spread : (k,) arrays, of the logarithm of clean text's innovations, by controlled state
    """

    controller: Controller
    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def fit(
        cls, model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]], controller: Controller
    ) -> Detector:
        """Learn from at least 2 clean rows, better hundreds, how large innovations usually are."""
        if len(rows) < 2:
            raise ValueError(f"{len(rows)} rows; give at least 2, better hundreds")
        logs = _logs(innovation_scores(model, tokenizer, rows, controller))
        return cls(controller, logs.mean(0), np.maximum(logs.std(0), 1e-12))

    def score(self, model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Mean over states of the standardised log innovation; 0 is usual, higher more suspect."""
        logs = _logs(innovation_scores(model, tokenizer, rows, self.controller))
        return ((logs - self.mean) / self.spread).mean(1)


def doubt(
    model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]], batch_size: int = 32
) -> np.ndarray:
    """One less the probability of the model's answer: what any detector has to beat.

    Parameters
    ----------
    model, tokenizer, rows, batch_size
        As for `pidlib.evaluation.predict`.

    Returns
    -------
    (N,) float64 array

    Source: Hendrycks & Gimpel 2017.
    """
    logits = torch.from_numpy(scores(model, tokenizer, rows, batch_size))
    return 1.0 - logits.softmax(-1).amax(-1).double().numpy()


def _logs(innovations: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(innovations, 1e-12))


class Detection(NamedTuple):
    """How well a score tells two kinds of text apart.

    Attributes
    ----------
    auroc, low, high : float
        Chance that an attacked text scores higher than a clean one, from 0 to 1, with its
        95 % interval by resampling both.
    """

    auroc: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.auroc:.3f} [{self.low:.3f}, {self.high:.3f}]"


def auroc(clean: ArrayLike, attacked: ArrayLike, draws: int = 1000, seed: int = 0) -> Detection:
    """Area under the curve of true against false alarms, with its interval.

    Parameters
    ----------
    clean, attacked : (n,), (m,) floats, higher where more suspect; ties count half
    draws, seed : int, of the bootstrap

    Returns
    -------
    Detection

    Examples
    --------
    >>> auroc([0.1, 0.2], [0.3, 0.4]).auroc
    1.0

    Source: Mann and Whitney's statistic.
    """
    a, b = np.asarray(clean, dtype=float), np.asarray(attacked, dtype=float)
    finite = np.isfinite(a).all() and np.isfinite(b).all()
    if not (len(a) and len(b) and finite and draws >= 1):
        raise ValueError(
            f"{len(a)} clean and {len(b)} attacked scores, {draws} draws: give at least one of "
            "each, finite"
        )
    random = np.random.default_rng(seed)
    drawn = [auc(random.choice(a, len(a)), random.choice(b, len(b))) for _ in range(draws)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Detection(auc(a, b), float(low), float(high))


def auc(clean: np.ndarray, attacked: np.ndarray) -> float:
    """Return how often an attacked one has the higher score; ties count half."""
    ranks = rankdata(np.concatenate([clean, attacked]))[len(clean) :]
    m = len(attacked)
    return float((ranks.sum() - m * (m + 1) / 2) / (m * len(clean)))
