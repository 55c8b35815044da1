from .estimator import (
    Estimator as Estimator,
)
from .layerwise import (
    AffineEstimate as AffineEstimate,
)
from .pretrained import (
    controls as controls,
    fit_record as fit_record,
    load_control as load_control,
    load_controller as load_controller,
)
