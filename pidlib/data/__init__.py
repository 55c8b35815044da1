"""Text and pictures with labels: rows, batches, edits, random changes."""

from __future__ import annotations

from pidlib.data.batches import Batch, batches
from pidlib.data.edits import Edit, find_edits, rebuild, word_spans
from pidlib.data.groups import GroupSwap
from pidlib.data.images import CLOTHES, CORRUPTIONS, corrupted, image_batches, load_fashion
from pidlib.data.labels import LABELS, label_order
from pidlib.data.lexicon import Lexicon
from pidlib.data.nli import data_folder, fingerprint, hold_out, load_nli, read_jsonl
from pidlib.data.perturbations import (
    MIXES,
    Candidates,
    Perturb,
    RandomEdits,
    misspellings,
    perturbed_rows,
)
