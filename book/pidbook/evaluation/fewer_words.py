"""The same attacks with fewer words to change, from what they did when any number was allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pidbook.evaluation.results import RESULTS
from pidbook.evaluation.trial_results import ADAPTIVE, answers, log_name
from pidlib.attacks.outcomes import Outcome, read_outcomes

GREEDY = ("a2t", "textbugger", "textfooler")  # a swarm, PSO's, would take another way


def reached(outcomes: Sequence[Outcome], words: int) -> np.ndarray:
    """Whether each attack succeeds with so many words changed, (N,) bool, in the order of the ids.

    A greedy search changes a word a step and stops at a success: of one that may change fewer
    words it is the beginning. (TextBugger draws letters at random: run anew with one word, it
    differed on 1 of 100 pairs of SNLI, A2T and TextFooler on none.)
    """
    in_order = sorted(outcomes, key=lambda outcome: outcome.id)
    return np.array([o.status == "succeeded" and len(o.edits) <= words for o in in_order])


def answers_within(
    result: Mapping[str, Any],
    control: str,
    threat: str,
    recipe: str,
    words: int,
    rows: int | None = None,
) -> np.ndarray:
    """Right answers, had the attack been allowed so many words; where it fails, the text stays.

    Parameters
    ----------
    result : mapping, of a trial whose outcomes are stored
    control : str, "none" for the bare model
    threat : str, "transfer" or "adaptive"
    recipe : str, one of `GREEDY`
    words : int
    rows : int, optional; only so many, the first

    Returns
    -------
    (N,) bool array
    """
    if recipe not in GREEDY:
        raise ValueError(f"{recipe!r} does not change a word after another; greedy are {GREEDY}")
    chance = ADAPTIVE if threat == "adaptive" else ""
    log = log_name(
        result["name"].removeprefix("trial-"), chance + recipe, control if chance else ""
    )
    outcomes = read_outcomes(RESULTS / "attacks" / log).outcomes
    attacked = answers(result, control, chance + recipe)[:rows]
    n = len(attacked)
    return np.where(reached(outcomes, words)[:n], attacked, answers(result, control, "clean")[:n])
