"""Where an attack finds words to put in place of others."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import torch

from pidlib.attacks.inflections import inflected_like, lemmas
from pidlib.attacks.offline import sentence_encoder
from pidlib.attacks.wordnet import PARTS, WordNet
from pidlib.data.lexicon import Lexicon
from pidlib.data.nli import data_folder
from pidlib.data.perturbations import Candidates
from pidlib.io.assets import ASSETS, cache_folder, word_list
from pidlib.io.files import sha256, write_tensors

RESOURCES = ("lexicon", "ppdb", "ppdb-wide", "stock")
OFFLINE = RESOURCES[:-1]
SOURCES = ("lexicon", "ppdb", "wordnet")  # of random edits
PPDB_FILE = "ppdb-synonyms.txt"
BARRED = "incompatible.txt"  # words that no attack may put in each other's place
NEAREST, SENSES = 50, 2  # neighbours by MiniLM and senses in WordNet that count
WORD = re.compile("[a-z]{3,}")


def candidates(name: str, recipe: str = "textfooler") -> Candidates:
    """Return the source of candidate words of that name for a recipe.

    Raises ValueError for another name, FileNotFoundError where PPDB or WordNet is not there.

    Parameters
    ----------
    name : str
        `"lexicon"`: our own, true synonyms of what captions speak of. `"ppdb"`: pairs of PPDB
        from the folder `PIDLIB_DATA_DIR`, and neighbours by the embedded MiniLM, nearer ones for
        A2T; for PSO WordNet's words. `"ppdb-wide"`, for a stronger attacker: cosines 0.05 lower,
        twice the words that TextBugger tries and the particles of PSO.
    recipe : str

    Returns
    -------
    Candidates

    Source: §3.1. Departure: no counter-fitted vectors (Mrkšić et al. 2016), not to be had offline.
    """
    if name not in OFFLINE:
        raise ValueError(f"unknown resources {name!r}; known: {list(RESOURCES)}")
    if name == "lexicon":
        return LexiconCandidates()
    width = 2 if name == "ppdb-wide" else 1
    # With PPDB's words PSO finds what greedy search finds, so it gets its own.
    if recipe == "pso":
        return WordNetCandidates(width=width)
    # Stock A2T: counter-fitted cosine >= 0.8, where TextFooler has 0.5.
    cosines = (0.7, 0.6) if recipe == "a2t" else (0.6, 0.5)  # of neighbours, of pairs
    if width == 2:  # about twice as many words
        cosines = tuple(round(least - 0.05, 2) for least in cosines)
    return PpdbCandidates(data_folder(PPDB_FILE) / PPDB_FILE, cosines, width)


def words_for(mix: str, name: str) -> Candidates:
    """Where random edits of a mix find their synonyms.

    Parameters
    ----------
    mix, name : str in `MIXES` (`"words"` pools what all recipes use), and str in `SOURCES`

    Returns
    -------
    Candidates

    Examples
    --------
    >>> words_for("words", "lexicon").synonyms("dog")
    ('canine', 'hound', 'pooch', 'doggy')
    """
    if name == "wordnet":  # of all mixes: there is nothing to pool
        return WordNetCandidates()
    plain = candidates(name)
    if mix != "words" or name == "lexicon":  # the lexicon is the same for all recipes
        return plain
    return PooledCandidates(plain, candidates(name, "pso"))


class PooledCandidates:
    """Words of several sources, each word once."""

    def __init__(self, *sources: Candidates) -> None:
        self.sources = sources
        self.name = "+".join(source.name for source in sources)
        self.sha256 = _hash(" ".join(source.sha256 for source in sources))

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Synonyms of the word by any of the sources."""
        return tuple(dict.fromkeys(w for source in self.sources for w in source.synonyms(word)))


class LexiconCandidates:
    """Synonyms from our lexicon of scenes, already in the right inflection."""

    name = "lexicon"

    def __init__(self) -> None:
        self.sha256 = sha256(ASSETS / "lexicon.json")

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Synonyms of the word; none for a word that the lexicon does not hold."""
        return tuple(Lexicon.load().synonyms(word))


class InflectedCandidates:
    """Words inflected like the one they replace, and not opposed to it; each is sought once."""

    def __init__(self, name: str, width: int, settings: str) -> None:
        self.name, self.width, self.sha256 = name, width, _hash(settings)
        self.synonyms = cache(self._sorted)

    def _sorted(self, word: str) -> tuple[str, ...]:
        """Words inflected like the given one, the best first, then by the alphabet."""
        ranks = self._ranked(word)
        return tuple(sorted(ranks, key=lambda form: (ranks[form], form)))

    def _fitting(self, word: str, others: Iterable[str]) -> Iterator[str]:
        """Forms of other words that may stand for the word."""
        bases = lemmas(word)
        groups = [set(line.split()) for line in word_list(BARRED)]
        barred = {w for group in groups for own in {word, *bases} & group for w in group - {own}}
        for other in others:
            for form in inflected_like(other, word):
                if not (bases & lemmas(form) or barred & {form, *lemmas(form)}):
                    yield form


class WordNetCandidates(InflectedCandidates):
    """Words that WordNet gives the same, a similar or the next wider meaning."""

    def __init__(self, folder: str | Path | None = None, width: int = 1) -> None:
        self._wordnet = WordNet(folder)
        files = [*self._wordnet.files_sha256, sha256(ASSETS / BARRED)]
        super().__init__("wordnet", width, f"{files} {SENSES}")

    def rank(self, word: str, other: str) -> float:
        """0 where WordNet gives two words one meaning, 1 a similar one, 2 a wider one to the other."""
        return self._ranked(word)[other]

    def _ranked(self, word: str) -> dict[str, float]:
        """The same meaning first, then similar ones, then wider ones."""
        synset, others = self._wordnet.synset, ([], [], [])
        for part in PARTS:
            for base in lemmas(word):
                for place in self._wordnet.meanings(base, part)[:SENSES]:
                    meaning = synset(part, place)
                    others[0].extend(meaning.words)
                    others[1].extend(w for p in meaning.similar for w in synset("adj", p).words)
                    others[2].extend(w for p in meaning.wider for w in synset(part, p).words)
        ranks: dict[str, float] = {}
        for rank, words in enumerate(others):
            for form in self._fitting(word, filter(WORD.fullmatch, words)):
                ranks.setdefault(form, rank)
        return ranks


class PpdbCandidates(InflectedCandidates):
    """PPDB pairs joined with the nearest words by the embedded MiniLM."""

    def __init__(self, path: Path, cosines: tuple[float, ...] = (0.6, 0.5), width: int = 1) -> None:
        if not path.is_file():
            raise FileNotFoundError(f"{path.name} is not in the folder that PIDLIB_DATA_DIR names")
        self._pairs: dict[str, set[str]] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            if len(pair := line.split()) == 2:
                for word, other in (pair, pair[::-1]):
                    self._pairs.setdefault(word, set()).add(other)
        self._cosines = cosines
        settings = f"{sha256(path)} {sha256(ASSETS / BARRED)} {cosines} {NEAREST}"
        super().__init__("ppdb" if width == 1 else "ppdb-wide", width, settings)

    @cached_property
    def _space(self) -> tuple[dict[str, int], np.ndarray]:
        """Whole words of the encoder's vocabulary (V,) and their unit vectors (V, 384)."""
        from safetensors.torch import load_file

        vocabulary = sentence_encoder().tokenizer.get_vocab()
        words = sorted(filter(WORD.fullmatch, vocabulary), key=vocabulary.get)
        stored = cache_folder() / f"word-vectors-{_hash(' '.join(words))[:12]}.safetensors"
        if not stored.is_file():  # 21,358 words: about 15 seconds, once
            vectors = torch.from_numpy(_encode(words)).to(torch.float16)
            write_tensors(stored, {"vectors": vectors})
        vectors = load_file(stored)["vectors"].float().numpy()
        return {word: k for k, word in enumerate(words)}, vectors

    def _ranked(self, word: str) -> dict[str, float]:
        if not WORD.fullmatch(word):
            return {}
        places, vectors = self._space
        own = vectors[places[word]] if word in places else _encode([word])[0]
        similarity = vectors @ own
        words = list(places)
        near = [words[k] for k in np.argsort(-similarity, kind="stable")[:NEAREST]]
        paired = {w for known in {word, *lemmas(word)} for w in self._pairs.get(known, ())}
        ranks: dict[str, float] = {}
        for least, others in zip(self._cosines, (near, paired), strict=True):
            for form in self._fitting(word, others):
                if form in places and similarity[places[form]] >= least:
                    ranks[form] = -float(similarity[places[form]])
        return ranks


def _encode(words: list[str]) -> np.ndarray:
    return sentence_encoder().encode(
        words, batch_size=256, normalize_embeddings=True, show_progress_bar=False
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
