from .jacobians import (
    BlockGeometry as BlockGeometry,
    block_functions as block_functions,
    block_geometry as block_geometry,
    push_forward as push_forward,
)
from .linearisation import (
    PredictedErrors as PredictedErrors,
    answer_weights as answer_weights,
    explained_shares as explained_shares,
    mean_jacobians as mean_jacobians,
    predicted_errors as predicted_errors,
)
from .memory import (
    memory_shares as memory_shares,
)
from .steering import (
    Steering as Steering,
    concept_states as concept_states,
    sequential_pushes as sequential_pushes,
    steering_of_size as steering_of_size,
    steering_size as steering_size,
)
from .theorem import (
    ErrorProfiles as ErrorProfiles,
    error_profiles as error_profiles,
    outside_norms as outside_norms,
)
from .word_states import (
    WordStates as WordStates,
    relative_errors as relative_errors,
    word_states as word_states,
)
