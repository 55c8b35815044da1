from .beside_paper import (
    RECIPES as RECIPES,
    TEXTS as TEXTS,
    leads_over_push as leads_over_push,
    measured as measured,
    published as published,
    push_gains as push_gains,
    random_push as random_push,
    with_fewer_words as with_fewer_words,
    without_adaptive as without_adaptive,
)
from .contrast import (
    by_kind as by_kind,
    of_rows as of_rows,
)
from .contrast_rows import (
    contrast_pairs as contrast_pairs,
)
from .fewer_words import (
    answers_within as answers_within,
)
from .judged import (
    judged as judged,
)
from .law_results import (
    law_gains as law_gains,
    law_separation as law_separation,
)
from .open_trials import (
    contrast_sources as contrast_sources,
    corrupted_sets as corrupted_sets,
    difference as difference,
    mean_right as mean_right,
    notices as notices,
    right_after as right_after,
    six_pairs as six_pairs,
    steered as steered,
)
from .paper import (
    ATTACKS as ATTACKS,
    OURS as OURS,
    paper_table as paper_table,
    recorded_trials as recorded_trials,
    scheme_rows as scheme_rows,
)
from .recorded_trial import (
    recorded_trial as recorded_trial,
)
from .results import (
    is_stale as is_stale,
    load_result as load_result,
    read_result as read_result,
)
from .tidy import (
    accuracy_table as accuracy_table,
    gains_table as gains_table,
    in_points as in_points,
    over_bare as over_bare,
)
from .trial_results import (
    ADAPTIVE as ADAPTIVE,
    CONTROLS as CONTROLS,
    RESTARTED as RESTARTED,
    WIDENED as WIDENED,
    answers as answers,
    control_name as control_name,
    gains_over_none as gains_over_none,
    proportions as proportions,
    stored_rows as stored_rows,
    unpack as unpack,
)
