from .assumptions import (
    augmented_step as augmented_step,
)
from .assumptions import (
    orthogonal_sum as orthogonal_sum,
)
from .assumptions import (
    residual_control as residual_control,
)
from .attacks import (
    area_under_curve as area_under_curve,
)
from .attacks import (
    attack_rates as attack_rates,
)
from .attacks import (
    foretold_gains as foretold_gains,
)
from .attacks import (
    rows_left as rows_left,
)
from .attacks import (
    tokens_of_word as tokens_of_word,
)
from .attacks import (
    word_order as word_order,
)
from .dynamics import (
    euler_step as euler_step,
)
from .dynamics import (
    largest_gain as largest_gain,
)
from .dynamics import (
    noise_gain as noise_gain,
)
from .dynamics import (
    offset as offset,
)
from .dynamics import (
    pid_controls as pid_controls,
)
from .estimation import (
    bias_variance as bias_variance,
)
from .estimation import (
    chosen_setting as chosen_setting,
)
from .estimation import (
    next_estimate as next_estimate,
)
from .fairness import (
    answer_change as answer_change,
)
from .fairness import (
    gap_left as gap_left,
)
from .fairness import (
    without_shared as without_shared,
)
from .gains import (
    cost_for_share as cost_for_share,
)
from .gains import (
    cost_that_breaks_even as cost_that_breaks_even,
)
from .gains import (
    exit_error as exit_error,
)
from .gains import (
    gains_with_end as gains_with_end,
)
from .gains import (
    half_life as half_life,
)
from .gains import (
    layers_needed as layers_needed,
)
from .gains import (
    mean_gain_excess as mean_gain_excess,
)
from .gains import (
    memory_layers as memory_layers,
)
from .gains import (
    planes_left as planes_left,
)
from .gains import (
    split as split,
)
from .jacobians import (
    first_gain as first_gain,
)
from .jacobians import (
    gain_by_logits as gain_by_logits,
)
from .jacobians import (
    separated_map as separated_map,
)
from .jacobians import (
    signed_products as signed_products,
)
from .models import (
    break_even as break_even,
)
from .models import (
    cheapest as cheapest,
)
from .models import (
    controlled_states as controlled_states,
)
from .models import (
    last_token as last_token,
)
from .models import (
    share_allowed as share_allowed,
)
from .models import (
    singular_spread as singular_spread,
)
from .models import (
    state_curvature as state_curvature,
)
from .models import (
    states_within as states_within,
)
from .pictures import (
    as_positions as as_positions,
)
from .pictures import (
    attack_step as attack_step,
)
from .pictures import (
    masked_rows as masked_rows,
)
from .pontryagin import (
    basic_sweep as basic_sweep,
)
from .pontryagin import (
    converges as converges,
)
from .pontryagin import (
    cost_gradient as cost_gradient,
)
from .pontryagin import (
    costate_step as costate_step,
)
from .pontryagin import (
    history_costate as history_costate,
)
from .pontryagin import (
    largest_step as largest_step,
)
from .riccati import (
    bellman_step as bellman_step,
)
from .riccati import (
    feedback_cost as feedback_cost,
)
from .riccati import (
    halving_cost as halving_cost,
)
from .riccati import (
    two_projections as two_projections,
)
from .subspaces import (
    clean_bias as clean_bias,
)
from .subspaces import (
    curve_rank as curve_rank,
)
from .subspaces import (
    distance_to_span as distance_to_span,
)
from .subspaces import (
    embedding_projection as embedding_projection,
)
from .subspaces import (
    merged_covariance as merged_covariance,
)
from .subspaces import (
    mode_product as mode_product,
)
from .subspaces import (
    shared_directions as shared_directions,
)
from .subspaces import (
    smallest_rank as smallest_rank,
)
from .trials import (
    beyond_placebo as beyond_placebo,
)
from .trials import (
    direction_left as direction_left,
)
from .trials import (
    equal_length as equal_length,
)
from .trials import (
    paired_counts as paired_counts,
)
from .trials import (
    pd_control as pd_control,
)
from .trials import (
    robust_between as robust_between,
)
from .trials import (
    rows_needed as rows_needed,
)
from .trials import (
    same_size as same_size,
)
from .trials import (
    share_valid as share_valid,
)
from .trials import (
    texts_allowed as texts_allowed,
)
from .trials import (
    withstanding as withstanding,
)
from .trials import (
    worst_case as worst_case,
)
from .writers import (
    divergence as divergence,
)
from .writers import (
    half_space_push as half_space_push,
)
from .writers import (
    later_tokens as later_tokens,
)
from .writers import (
    pid_pushes as pid_pushes,
)
from .writers import (
    push_size as push_size,
)
from .writers import (
    share_won as share_won,
)
