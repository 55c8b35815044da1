from .jacobians import (
    BlockGeometry as BlockGeometry,
)
from .jacobians import (
    block_functions as block_functions,
)
from .jacobians import (
    block_geometry as block_geometry,
)
from .jacobians import (
    push_forward as push_forward,
)
from .linearisation import (
    PredictedErrors as PredictedErrors,
)
from .linearisation import (
    answer_weights as answer_weights,
)
from .linearisation import (
    explained_shares as explained_shares,
)
from .linearisation import (
    mean_jacobians as mean_jacobians,
)
from .linearisation import (
    predicted_errors as predicted_errors,
)
from .memory import memory_shares as memory_shares
from .steering import (
    Steering as Steering,
)
from .steering import (
    concept_states as concept_states,
)
from .steering import (
    sequential_pushes as sequential_pushes,
)
from .steering import (
    steering_of_size as steering_of_size,
)
from .steering import (
    steering_size as steering_size,
)
from .theorem import (
    ErrorProfiles as ErrorProfiles,
)
from .theorem import (
    error_profiles as error_profiles,
)
from .theorem import (
    outside_norms as outside_norms,
)
from .word_states import (
    WordStates as WordStates,
)
from .word_states import (
    relative_errors as relative_errors,
)
from .word_states import (
    word_states as word_states,
)
