"""Write every word as the representative of its synonyms: a swap inside a group is invisible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

from experiments.rivals.answers import Rival, random_words
from experiments.rivals.words import BOTH
from pidlib.attacks.inflections import parts_of_speech
from pidlib.attacks.synonyms import candidates, words_for
from pidlib.data.edits import word_spans
from pidlib.data.perturbations import Candidates
from pidlib.io.assets import word_list

CHOSEN = "common 8"  # on held-out rows, by the trial of rivals


class SynonymEncoding:
    """A preprocessor after SEM (Wang et al., 2021), our reading: groups are stars.

    The most frequent word is a representative, and those whose candidate it is are its group; then
    the next most frequent word without a group. Departures: candidates of a list, not distances of
    vectors; a word outside the counts joins its most frequent representative; the model was not
    trained on encoded text.
    """

    def __init__(self, counts: Mapping[str, int], source: Candidates, most: int) -> None:
        self.counts, self.source, self.most = counts, source, most
        self._stop = set(word_list("textfooler_stopwords.txt"))
        self._near = cache(self._candidates)
        self._heads: dict[str, str] = {}
        for word in sorted(counts, key=lambda w: (-counts[w], w)):
            self._heads[word] = self.head(word)

    def __call__(self, text: str) -> str:
        """Return the text with every word as its representative."""
        end, pieces = 0, []
        for start, stop in word_spans(text):
            word = text[start:stop]
            head = self.head(word.lower())
            changed = head != word.lower()
            head = (head.capitalize() if word[:1].isupper() else head) if changed else word
            pieces += [text[end:start], head]
            end = stop
        return "".join(pieces) + text[end:]

    def head(self, word: str) -> str:
        """The representative of a word: itself, or a more frequent one among its candidates."""
        if word in self._stop:
            return word
        if word not in self._heads:
            heads = [near for near in self._near(word) if self._heads.get(near) == near]
            self._heads[word] = max(heads, key=self.counts.__getitem__) if heads else word
        return self._heads[word]

    def groups(self) -> dict[str, tuple[str, ...]]:
        """The counted words of each representative, itself first; no two groups share a word."""
        groups: dict[str, list[str]] = {}
        for word in self.counts:
            groups.setdefault(self._heads[word], [self._heads[word]]).append(word)
        return {head: tuple(dict.fromkeys(words)) for head, words in groups.items()}

    def _candidates(self, word: str) -> tuple[str, ...]:
        """The nearest candidates, of a part of speech that the word can have; no stop words."""
        kind = parts_of_speech(word)
        fitting = (
            other
            for other in self.source.synonyms(word)
            if not kind or not (theirs := parts_of_speech(other)) or kind & theirs
        )
        return tuple(other for other in islice(fitting, self.most) if other not in self._stop)


class Common:
    """Words that two sources agree on, in the order of the first."""

    def __init__(self, first: Candidates, second: Candidates) -> None:
        self.first, self.second = first, second
        self.name = f"{first.name} and {second.name}"
        self.sha256 = f"{first.sha256[:32]}{second.sha256[:32]}"

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Synonyms of the word by both."""
        others = set(self.second.synonyms(word))
        return tuple(other for other in self.first.synonyms(word) if other in others)


def encoding_of(setting: str, rows: Sequence[Mapping[str, Any]], resources: str) -> SynonymEncoding:
    """Groups by a source and a number of candidates, "ppdb 4"; the counts are of the rows."""
    name, _, most = setting.partition(" ")
    if name == "common":
        source = Common(candidates(resources), words_for("synonyms", "wordnet"))
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


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """How often each word stands in texts, in small letters."""
    return Counter(text[a:b].lower() for text in texts for a, b in word_spans(text))
