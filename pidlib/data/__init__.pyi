from .batches import (
    Batch as Batch,
    batches as batches,
    encode as encode,
)
from .edits import (
    Edit as Edit,
    find_edits as find_edits,
    rebuild as rebuild,
    word_spans as word_spans,
)
from .labels import (
    LABELS as LABELS,
    label_order as label_order,
)
from .lexicon import (
    Lexicon as Lexicon,
)
from .nli import (
    data_folder as data_folder,
    fingerprint as fingerprint,
    load_nli as load_nli,
    read_jsonl as read_jsonl,
)
from .perturbations import (
    MIXES as MIXES,
    Candidates as Candidates,
    Perturb as Perturb,
    RandomEdits as RandomEdits,
    perturbed_rows as perturbed_rows,
)
