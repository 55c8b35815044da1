"""Exercises that check themselves. Each function prints a verdict, and a hint when it is "not yet".

The one door to the exercises of all chapters; the functions are named by subject.
"""

from __future__ import annotations

from pidlib.check_assumptions import (
    augmented_step,
    orthogonal_sum,
    residual_control,
    room_for_projection,
    tilt_damage,
)
from pidlib.check_attacks import attack_rates, tokens_of_word, word_order
from pidlib.check_dynamics import euler_step, largest_gain, noise_gain, offset, pid_controls
from pidlib.check_errors import best_cost, exit_error, layers_needed, split
from pidlib.check_estimation import bias_variance, chosen_setting, next_estimate
from pidlib.check_gains import (
    cost_for_share,
    gain_step,
    mean_gain_excess,
    memory_layers,
    pair_left,
    share_left,
)
from pidlib.check_models import (
    cheapest,
    controlled_states,
    last_token,
    least_ratio,
    predicted_norm,
    singular_spread,
    state_gradient,
    won_back,
)
from pidlib.check_pontryagin import (
    basic_sweep,
    converges,
    cost_gradient,
    costate_step,
    history_costate,
    largest_step,
)
from pidlib.check_riccati import bellman_step, feedback_cost, halving_cost, two_projections
from pidlib.check_robustness import paired_counts, pd_control, six_layers
from pidlib.check_states import clean_bias, shared_directions, smallest_rank
from pidlib.check_subspaces import (
    curve_rank,
    distance_to_span,
    embedding_projection,
    merged_covariance,
    mode_product,
)
from pidlib.check_trials import (
    beyond_placebo,
    constant_accuracy,
    pooled_gain,
    rows_needed,
    same_size,
    scheme_control,
    total_gain,
    withstanding,
    worst_case,
)

__all__ = [
    "attack_rates",
    "augmented_step",
    "basic_sweep",
    "bellman_step",
    "best_cost",
    "beyond_placebo",
    "bias_variance",
    "cheapest",
    "chosen_setting",
    "clean_bias",
    "constant_accuracy",
    "controlled_states",
    "converges",
    "cost_for_share",
    "cost_gradient",
    "costate_step",
    "curve_rank",
    "distance_to_span",
    "embedding_projection",
    "euler_step",
    "exit_error",
    "feedback_cost",
    "gain_step",
    "halving_cost",
    "history_costate",
    "largest_gain",
    "largest_step",
    "last_token",
    "layers_needed",
    "least_ratio",
    "mean_gain_excess",
    "memory_layers",
    "merged_covariance",
    "mode_product",
    "next_estimate",
    "noise_gain",
    "offset",
    "orthogonal_sum",
    "pair_left",
    "paired_counts",
    "pd_control",
    "pid_controls",
    "pooled_gain",
    "predicted_norm",
    "residual_control",
    "room_for_projection",
    "rows_needed",
    "same_size",
    "scheme_control",
    "share_left",
    "shared_directions",
    "singular_spread",
    "six_layers",
    "smallest_rank",
    "split",
    "state_gradient",
    "tilt_damage",
    "tokens_of_word",
    "total_gain",
    "two_projections",
    "withstanding",
    "won_back",
    "word_order",
    "worst_case",
]
