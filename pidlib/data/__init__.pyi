from .batches import Batch as Batch
from .batches import batches as batches
from .edits import (
    Edit as Edit,
)
from .edits import (
    find_edits as find_edits,
)
from .edits import (
    rebuild as rebuild,
)
from .edits import (
    word_spans as word_spans,
)
from .groups import GroupSwap as GroupSwap
from .images import (
    CLOTHES as CLOTHES,
)
from .images import (
    CORRUPTIONS as CORRUPTIONS,
)
from .images import (
    corrupted as corrupted,
)
from .images import (
    image_batches as image_batches,
)
from .images import (
    load_fashion as load_fashion,
)
from .labels import LABELS as LABELS
from .labels import label_order as label_order
from .lexicon import Lexicon as Lexicon
from .nli import (
    data_folder as data_folder,
)
from .nli import (
    fingerprint as fingerprint,
)
from .nli import (
    hold_out as hold_out,
)
from .nli import (
    load_nli as load_nli,
)
from .nli import (
    read_jsonl as read_jsonl,
)
from .perturbations import (
    MIXES as MIXES,
)
from .perturbations import (
    Candidates as Candidates,
)
from .perturbations import (
    Perturb as Perturb,
)
from .perturbations import (
    RandomEdits as RandomEdits,
)
from .perturbations import (
    misspellings as misspellings,
)
from .perturbations import (
    perturbed_rows as perturbed_rows,
)
