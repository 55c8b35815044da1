"""How well a score tells two kinds of text apart."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata


def auc(clean: np.ndarray, attacked: np.ndarray) -> float:
    """Return how often an attacked one has the higher score; ties count half."""
    ranks = rankdata(np.concatenate([clean, attacked]))[len(clean) :]
    m = len(attacked)
    return float((ranks.sum() - m * (m + 1) / 2) / (m * len(clean)))
