"""Write every word as the representative of its synonyms before a model reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice

from pidbook.estimation import Preprocessing
from pidlib.attacks.inflections import fitting
from pidlib.data.edits import reworded, word_spans
from pidlib.data.perturbations import Candidates
from pidlib.io.assets import word_list


class SynonymEncoding(Preprocessing):
    """Writes each word as the representative of its synonyms: a swap inside a group is invisible.

    The most frequent word is a representative, and those whose candidate it is are its group; then
    the next most frequent word without a group.

    Parameters
    ----------
    counts : mapping of word to its number in clean text (`word_counts`)
    source : object with `synonyms(word)`; `AgreedCandidates` of two lists keeps meanings apart best
    most : int, candidates of a word, the nearest first, that may stand for it

    Examples
    --------
    >>> from pidlib.attacks import candidates
    >>> counts = word_counts(["a dog runs", "a dog and a hound"])
    >>> SynonymEncoding(counts, candidates("lexicon"), 4)("A hound runs.")
    'A dog runs.'

    Source: after SEM (Wang et al. 2021), our reading. Departure: candidates of a list, not distances
    of vectors; a word that was not counted joins its most frequent representative; the model is not
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
        return reworded(text, self._encoded)

    def _encoded(self, word: str) -> str:
        head = self.head(word.lower())
        if head == word.lower():
            return word
        return head.capitalize() if word[:1].isupper() else head

    def summary(self) -> str:
        """Where the groups come from."""
        return f"words encoded by groups of the {self.most} nearest of {self.source.name}"

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
        near = islice(fitting(word, self.source.synonyms(word)), self.most)
        return tuple(other for other in near if other not in self._stop)


class AgreedCandidates:
    """Words that two sources agree on, in the order of the first.

    Parameters
    ----------
    first, second : objects with `name`, `sha256` and `synonyms(word)`

    Examples
    --------
    >>> from pidlib.attacks import candidates
    >>> source = candidates("lexicon")
    >>> AgreedCandidates(source, source).synonyms("dog") == source.synonyms("dog")
    True
    """

    def __init__(self, first: Candidates, second: Candidates) -> None:
        self.first, self.second = first, second
        self.name = f"{first.name} and {second.name}"
        self.sha256 = f"{first.sha256[:32]}{second.sha256[:32]}"

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Synonyms of the word by both."""
        others = set(self.second.synonyms(word))
        return tuple(other for other in self.first.synonyms(word) if other in others)


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """How often each word stands in texts, in small letters.

    Parameters
    ----------
    texts : iterable of str

    Returns
    -------
    Counter

    Examples
    --------
    >>> word_counts(["A dog", "a dog runs"])["dog"]
    2
    """
    return Counter(text[a:b].lower() for text in texts for a, b in word_spans(text))
