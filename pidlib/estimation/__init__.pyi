from .encoding import (
    AgreedCandidates as AgreedCandidates,
    SynonymEncoding as SynonymEncoding,
    word_counts as word_counts,
)
from .estimator import (
    Estimator as Estimator,
)
from .layerwise import (
    AffineEstimate as AffineEstimate,
)
from .preprocessing import (
    NormalisedTokenizer as NormalisedTokenizer,
    Preprocessing as Preprocessing,
)
from .pretrained import (
    controls as controls,
    fit_record as fit_record,
    load_control as load_control,
    load_controller as load_controller,
)
