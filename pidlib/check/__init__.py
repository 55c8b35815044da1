"""Exercises that check themselves. Each function prints a verdict, and a hint when it is "not yet".

The one door to the exercises of all chapters; the functions are named by subject.
"""

from __future__ import annotations

from pidlib.check.assumptions import (
    augmented_step,
    orthogonal_sum,
    residual_control,
    room_for_projection,
    tilt_damage,
)
from pidlib.check.attacks import attack_rates, tokens_of_word, word_order
from pidlib.check.dynamics import euler_step, largest_gain, noise_gain, offset, pid_controls
from pidlib.check.estimation import bias_variance, chosen_setting, next_estimate
from pidlib.check.gains import (
    best_cost,
    cost_for_share,
    exit_error,
    gain_step,
    layers_needed,
    mean_gain_excess,
    memory_layers,
    pair_left,
    share_left,
    split,
)
from pidlib.check.models import (
    cheapest,
    controlled_states,
    last_token,
    least_ratio,
    predicted_norm,
    singular_spread,
    state_gradient,
    won_back,
)
from pidlib.check.pontryagin import (
    basic_sweep,
    converges,
    cost_gradient,
    costate_step,
    history_costate,
    largest_step,
)
from pidlib.check.riccati import bellman_step, feedback_cost, halving_cost, two_projections
from pidlib.check.subspaces import (
    clean_bias,
    curve_rank,
    distance_to_span,
    embedding_projection,
    merged_covariance,
    mode_product,
    shared_directions,
    smallest_rank,
)
from pidlib.check.trials import (
    beyond_placebo,
    constant_accuracy,
    paired_counts,
    pd_control,
    pooled_gain,
    rows_needed,
    same_size,
    scheme_control,
    six_layers,
    total_gain,
    withstanding,
    worst_case,
)
