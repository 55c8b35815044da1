from .detection import (
    Detection as Detection,
    Detector as Detector,
    auroc as auroc,
    doubt as doubt,
)
from .invariance import (
    SwapFeedback as SwapFeedback,
)
from .selection import (
    Selection as Selection,
    choose as choose,
)
from .spelling import (
    SpellingNormaliser as SpellingNormaliser,
)
