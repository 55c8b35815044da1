"""Exercises that check themselves. Each function prints a verdict, and a hint when it is "not yet".

The one door to the exercises of all chapters; the functions are named by subject.
"""

from __future__ import annotations

from pidlib.check_errors import best_cost, exit_error, layers_needed, split
from pidlib.check_gains import (
    cost_for_share,
    gain_step,
    mean_gain_excess,
    memory_layers,
    pair_left,
    share_left,
)
from pidlib.check_riccati import bellman_step, feedback_cost, halving_cost, two_projections
from pidlib.check_robustness import paired_counts, pd_control, six_layers
from pidlib.check_states import clean_bias, shared_directions, smallest_rank

__all__ = [
    "bellman_step",
    "best_cost",
    "clean_bias",
    "cost_for_share",
    "exit_error",
    "feedback_cost",
    "gain_step",
    "halving_cost",
    "layers_needed",
    "mean_gain_excess",
    "memory_layers",
    "pair_left",
    "paired_counts",
    "pd_control",
    "share_left",
    "shared_directions",
    "six_layers",
    "smallest_rank",
    "split",
    "two_projections",
]
