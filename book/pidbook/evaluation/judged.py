"""What an attack wins where a judge, who errs, says which texts keep their label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pidbook.evaluation.trial_results import ADAPTIVE, answers


def judged(
    validity: Mapping[str, Any],
    trial: Mapping[str, Any],
    name: str,
    attack: str,
    times: int = 2000,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate how many winning texts keep their label, and what accuracy counts these alone.

    Of the texts that turned an answer the judge accepts a share s; of valid texts (one random swap)
    a share t, of invalid ones (the contrast set) a share f. Then v = (s - f) / (t - f) of them are
    valid, and each is counted as v of a failure.

    Parameters
    ----------
    validity : mapping, the judge's answers
    trial : mapping, the answers of the model that was attacked, in the same order of rows
    name, attack : str; "none" is the bare model, any other name a defence that the attack saw
    times, seed : int; how often the rows are drawn anew, the same rows for each name and attack

    Returns
    -------
    share, accuracy : (1 + times,) arrays in %, first of the rows as they are
    """
    kept = {kind: answers(validity, "judge", kind) for kind in validity["examples"]["judge"]}
    known = kept["clean"]  # is the judge right on the text as written?
    before = kept["before"]  # the same of the contrast set
    rng = np.random.default_rng(seed)
    rows, edits = _drawn(len(known), rng, times), _drawn(len(before), rng, times)
    t = _share(rows, kept["random swap"], known)
    f = _share(edits, kept["edited"], before)

    kind = f"{name}: {attack}"
    turned = answers(validity, "succeeded", kind)
    v = (_share(rows, kept[kind], turned & known) - f) / (t - f)
    key = attack if name == "none" else ADAPTIVE + attack
    right = answers(trial, name, key)[: len(known)]
    return 100 * v, 100 * (rows @ right + (1 - v) * (rows @ turned)) / len(known)


def _drawn(n: int, rng: np.random.Generator, times: int) -> np.ndarray:
    """How often each row is drawn: once in line 0, then at random."""
    return np.vstack([np.ones((1, n), int), rng.multinomial(n, np.ones(n) / n, times)])


def _share(drawn: np.ndarray, accepted: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Share of the counted rows that are accepted, by draw."""
    return (drawn @ (accepted & counted)) / (drawn @ counted)
