from .encoding import (
    AgreedCandidates as AgreedCandidates,
    SynonymEncoding as SynonymEncoding,
    word_counts as word_counts,
)
from .preprocessing import (
    NormalisedTokenizer as NormalisedTokenizer,
    Preprocessing as Preprocessing,
)
from .swapped_words import (
    SwappedWords as SwappedWords,
    swapped_words as swapped_words,
)
