"""What the states of a model look like under control."""

from pidlib.analysis.jacobians import BlockGeometry, block_functions, block_geometry, push_forward
from pidlib.analysis.linearisation import (
    PredictedErrors,
    answer_weights,
    explained_shares,
    mean_jacobians,
    predicted_errors,
)
from pidlib.analysis.memory import memory_shares
from pidlib.analysis.steering import (
    Steering,
    concept_states,
    sequential_pushes,
    steering_of_size,
    steering_size,
)
from pidlib.analysis.theorem import ErrorProfiles, error_profiles, outside_norms
from pidlib.analysis.word_states import WordStates, relative_errors, word_states
