from .accuracy import (
    predict as predict,
    right_answers as right_answers,
    scores as scores,
    transfer as transfer,
)
from .exact import (
    LEVELS as LEVELS,
    Choices as Choices,
    RobustnessResult as RobustnessResult,
    choices as choices,
    exact_robustness as exact_robustness,
)
from .fair_trial import (
    FairTrial as FairTrial,
    fair_trial as fair_trial,
)
from .placebos import (
    PLACEBO_KINDS as PLACEBO_KINDS,
    Placebo as Placebo,
)
from .statistics import (
    Paired as Paired,
    Proportion as Proportion,
    bootstrap as bootstrap,
    compare as compare,
    conclude as conclude,
    holm as holm,
)
