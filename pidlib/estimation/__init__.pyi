from .detection import Detection as Detection
from .detection import Detector as Detector
from .detection import auroc as auroc
from .detection import doubt as doubt
from .encoding import (
    AgreedCandidates as AgreedCandidates,
)
from .encoding import (
    SynonymEncoding as SynonymEncoding,
)
from .encoding import (
    word_counts as word_counts,
)
from .estimator import Estimator as Estimator
from .invariance import SwapFeedback as SwapFeedback
from .layerwise import Estimate as Estimate
from .preprocessing import (
    NormalisedTokenizer as NormalisedTokenizer,
)
from .preprocessing import (
    Preprocessing as Preprocessing,
)
from .pretrained import (
    controls as controls,
)
from .pretrained import (
    fit_record as fit_record,
)
from .pretrained import (
    load_control as load_control,
)
from .pretrained import (
    load_controller as load_controller,
)
from .selection import Selection as Selection
from .selection import choose as choose
from .spelling import SpellingNormaliser as SpellingNormaliser
