from .encoding import (
    AgreedCandidates as AgreedCandidates,
    SynonymEncoding as SynonymEncoding,
    word_counts as word_counts,
)
from .invariance import (
    SwapFeedback as SwapFeedback,
)
from .preprocessing import (
    NormalisedTokenizer as NormalisedTokenizer,
    Preprocessing as Preprocessing,
)
from .selection import (
    Selection as Selection,
    choose as choose,
)
from .spelling import (
    SpellingNormaliser as SpellingNormaliser,
)
