from .jacobians import (
    BlockGeometry as BlockGeometry,
    block_functions as block_functions,
    block_geometry as block_geometry,
    push_forward as push_forward,
)
from .linearisation import (
    mean_jacobians as mean_jacobians,
)
from .pontryagin import (
    Pontryagin as Pontryagin,
)
from .theorem import (
    ErrorProfiles as ErrorProfiles,
    error_profiles as error_profiles,
)
from .word_states import (
    WordStates as WordStates,
    relative_errors as relative_errors,
    word_states as word_states,
)
