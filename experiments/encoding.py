"""The encoding by synonyms, by the name of its setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pidbook.estimation import AgreedCandidates, SynonymEncoding, word_counts
from pidlib.attacks.synonyms import candidates, words_for

BOTH = ("premise", "hypothesis")
COUNTED = 2000  # rows whose words an encoding counts, as the trial of rivals did
CHOSEN = "common 8"  # on held-out rows, by the trial of rivals


def encoding_of(setting: str, rows: Sequence[Mapping[str, Any]], resources: str) -> SynonymEncoding:
    """Groups by a source and a number of candidates, "ppdb 4"; the counts are of the rows."""
    name, _, most = setting.partition(" ")
    if name == "common":
        source = AgreedCandidates(candidates(resources), words_for("synonyms", "wordnet"))
    else:
        source = words_for("synonyms", name)
    texts = sorted({row[key] for row in rows for key in BOTH})
    return SynonymEncoding(word_counts(texts), source, int(most))
