from .accuracy import (
    Paired as Paired,
)
from .accuracy import (
    Proportion as Proportion,
)
from .accuracy import (
    bootstrap as bootstrap,
)
from .accuracy import (
    compare as compare,
)
from .accuracy import (
    conclude as conclude,
)
from .accuracy import (
    holm as holm,
)
from .accuracy import (
    predict as predict,
)
from .accuracy import (
    right_answers as right_answers,
)
from .accuracy import (
    scores as scores,
)
from .accuracy import (
    transfer as transfer,
)
from .certificates import (
    certified as certified,
)
from .certificates import (
    smoothing_shift as smoothing_shift,
)
from .certificates import (
    total_variation as total_variation,
)
from .contrast import by_kind as by_kind
from .contrast import of_rows as of_rows
from .contrast import still_entailed as still_entailed
from .contrast_rows import contrast_pairs as contrast_pairs
from .exact import (
    LEVELS as LEVELS,
)
from .exact import (
    Choices as Choices,
)
from .exact import (
    Verdict as Verdict,
)
from .exact import (
    choices as choices,
)
from .exact import (
    exact_letters as exact_letters,
)
from .exact import (
    exact_robustness as exact_robustness,
)
from .fair_trial import FairTrial as FairTrial
from .fair_trial import fair_trial as fair_trial
from .paper import (
    ATTACKS as ATTACKS,
)
from .paper import (
    OURS as OURS,
)
from .paper import paper_table as paper_table
from .paper import (
    recorded_trials as recorded_trials,
)
from .paper import (
    robustness_rows as robustness_rows,
)
from .paper import (
    scheme_rows as scheme_rows,
)
from .placebos import PLACEBO_KINDS as PLACEBO_KINDS
from .placebos import Placebo as Placebo
from .results import is_stale as is_stale
from .results import read_result as read_result
from .sizes import (
    RANKS as RANKS,
)
from .sizes import (
    TOKENS as TOKENS,
)
from .sizes import (
    random_model as random_model,
)
from .sizes import (
    size_cost as size_cost,
)
from .timing import control_cost as control_cost
from .trial_results import (
    ADAPTIVE as ADAPTIVE,
)
from .trial_results import (
    CONTROLS as CONTROLS,
)
from .trial_results import (
    RESTARTED as RESTARTED,
)
from .trial_results import (
    WIDENED as WIDENED,
)
from .trial_results import (
    answers as answers,
)
from .trial_results import (
    control_name as control_name,
)
from .trial_results import (
    gains_over_none as gains_over_none,
)
from .trial_results import (
    proportions as proportions,
)
from .trial_results import (
    stored_rows as stored_rows,
)
from .trial_results import (
    unpack as unpack,
)
from .word_game import (
    SEARCHES as SEARCHES,
)
from .word_game import (
    Asked as Asked,
)
from .word_game import (
    WordGame as WordGame,
)
from .word_game import (
    search_words as search_words,
)
