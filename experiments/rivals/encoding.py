"""The encoding by synonyms as a rival: its settings, and how it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments.rivals.answers import Rival, random_words
from experiments.rivals.words import BOTH
from pidlib.attacks.synonyms import candidates, words_for
from pidlib.estimation.encoding import AgreedCandidates, SynonymEncoding, word_counts

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


def encoded(
    model: Any,
    tokenizer: Any,
    encoding: SynonymEncoding,
    mended: Callable[[str], str] | None = None,
) -> Rival:
    """The model behind an encoding of premise and hypothesis, after a corrector if one is given."""

    def change(text: str, _random: Any) -> str:
        return encoding(text if mended is None else mended(text))

    draw = random_words(model, tokenizer, change, BOTH, 0)
    first = "" if mended is None else "misspellings mended, then "
    most, name = encoding.most, encoding.source.name
    return Rival(f"after SEM, our reading: {first}groups by the {most} nearest of {name}", draw)
