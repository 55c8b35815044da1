"""Exercises that check themselves. Each function prints a verdict, and a hint when it is "not yet".

The one door to the exercises of all chapters; the functions are named by subject.
"""

from __future__ import annotations

from pidlib.check.assumptions import augmented_step, orthogonal_sum, residual_control
from pidlib.check.attacks import (
    area_under_curve,
    attack_rates,
    foretold_gains,
    rows_left,
    tokens_of_word,
    word_order,
)
from pidlib.check.dynamics import euler_step, largest_gain, noise_gain, offset, pid_controls
from pidlib.check.estimation import bias_variance, chosen_setting, next_estimate
from pidlib.check.fairness import answer_change, gap_left, without_shared
from pidlib.check.gains import (
    cost_for_share,
    cost_that_breaks_even,
    exit_error,
    gains_with_end,
    half_life,
    layers_needed,
    mean_gain_excess,
    memory_layers,
    planes_left,
    split,
)
from pidlib.check.jacobians import first_gain, gain_by_logits, separated_map, signed_products
from pidlib.check.models import (
    break_even,
    cheapest,
    controlled_states,
    last_token,
    share_allowed,
    singular_spread,
    state_curvature,
    states_within,
)
from pidlib.check.pictures import as_positions, attack_step, masked_rows
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
    direction_left,
    equal_length,
    paired_counts,
    pd_control,
    robust_between,
    rows_needed,
    same_size,
    share_valid,
    texts_allowed,
    withstanding,
    worst_case,
)
from pidlib.check.writers import (
    divergence,
    half_space_push,
    later_tokens,
    pid_pushes,
    push_size,
    share_won,
)
