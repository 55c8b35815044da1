from .assumptions import (
    augmented_step as augmented_step,
    orthogonal_sum as orthogonal_sum,
    residual_control as residual_control,
)
from .attacks import (
    attack_rates as attack_rates,
    tokens_of_word as tokens_of_word,
    word_order as word_order,
)
from .dynamics import (
    euler_step as euler_step,
    largest_gain as largest_gain,
    offset as offset,
)
from .estimation import (
    bias_variance as bias_variance,
)
from .fairness import (
    gap_left as gap_left,
)
from .gains import (
    cost_for_share as cost_for_share,
    exit_error as exit_error,
    gains_with_end as gains_with_end,
    mean_gain_excess as mean_gain_excess,
    price_that_breaks_even as price_that_breaks_even,
    split as split,
)
from .jacobians import (
    first_gain as first_gain,
)
from .models import (
    break_even as break_even,
    share_allowed as share_allowed,
    states_within as states_within,
)
from .pontryagin import (
    cost_gradient as cost_gradient,
    costate_step as costate_step,
    history_costate as history_costate,
)
from .riccati import (
    bellman_step as bellman_step,
    feedback_cost as feedback_cost,
    halving_cost as halving_cost,
    two_projections as two_projections,
)
from .subspaces import (
    clean_bias as clean_bias,
    curve_rank as curve_rank,
    distance_to_span as distance_to_span,
    embedding_projection as embedding_projection,
    shared_directions as shared_directions,
    smallest_rank as smallest_rank,
)
from .trials import (
    direction_left as direction_left,
    equal_length as equal_length,
    pd_control as pd_control,
    share_valid as share_valid,
    texts_allowed as texts_allowed,
)
from .writers import (
    divergence as divergence,
    later_tokens as later_tokens,
    share_won as share_won,
)
