from .estimator import (
    Estimator as Estimator,
)
from .layerwise import (
    AffineEstimate as AffineEstimate,
)
from .pretrained import (
    controls as controls,
    load_control as load_control,
    load_controller as load_controller,
)
