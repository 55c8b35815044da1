"""Counting right answers, fair trials, recorded results."""

from __future__ import annotations

from pidlib.evaluation.accuracy import (
    Paired,
    Proportion,
    bootstrap,
    compare,
    predict,
    right_answers,
    scores,
    transfer,
)
from pidlib.evaluation.certificates import certified, smoothing_shift, total_variation
from pidlib.evaluation.contrast import by_kind, of_rows, still_entailed
from pidlib.evaluation.contrast_rows import contrast_pairs
from pidlib.evaluation.exact import (
    LEVELS,
    Choices,
    Verdict,
    choices,
    exact_letters,
    exact_robustness,
)
from pidlib.evaluation.fair_trial import FairTrial, fair_trial
from pidlib.evaluation.paper import ATTACKS, OURS, recorded_trials, robustness_rows, scheme_rows
from pidlib.evaluation.placebos import PLACEBO_KINDS, Placebo
from pidlib.evaluation.results import is_stale, read_result
from pidlib.evaluation.sizes import RANKS, TOKENS, random_model, size_cost
from pidlib.evaluation.timing import control_cost
from pidlib.evaluation.trial_results import (
    ADAPTIVE,
    CONTROLS,
    RESTARTED,
    WIDENED,
    answers,
    control_name,
    gains_over_none,
    proportions,
    stored_rows,
    unpack,
)
from pidlib.evaluation.word_game import SEARCHES, Asked, WordGame, search_words
from pidlib.io.assets import paper_table
