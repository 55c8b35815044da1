"""Where an attack finds words to put in place of others."""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from pidlib.attacks.inflections import exclusions, inflected_like, lemmas
from pidlib.attacks.offline import sentence_encoder
from pidlib.attacks.wordnet import WordNetCandidates
from pidlib.data.perturbations import Candidates
from pidlib.io.assets import ASSETS, cache_folder, word_list
from pidlib.io.files import sha256, write_tensors

RESOURCES = ("lexicon", "ppdb", "ppdb-wide", "stock")
OFFLINE = RESOURCES[:-1]
SOURCES = ("lexicon", "ppdb", "wordnet")  # of random edits
PPDB_FILE = "ppdb-synonyms.txt"


def candidates(name: str, recipe: str = "textfooler") -> Candidates:
    """Return the source of candidate words of that name for a recipe.

    Parameters
    ----------
    name : str
        `"lexicon"`: our own, true synonyms of what captions speak of. `"ppdb"`: pairs
        of PPDB from the folder `PIDLIB_DATA_DIR`, with neighbours by the embedded MiniLM.
        A2T takes nearer neighbours only, and PSO takes WordNet's words in their place.
        `"ppdb-wide"`: the same for a stronger attacker, with cosines 0.05 lower, which
        makes about twice as many words, and twice the words that TextBugger tries of
        them; PSO has all of WordNet's words already and gets twice the particles.
        (`"stock"` is no source of ours: TextAttack downloads it.)
    recipe : str
        One of `pidlib.attacks.attack.RECIPES`.

    Returns
    -------
    Candidates

    Raises
    ------
    ValueError
        Another name; those that exist are listed.
    FileNotFoundError
        The PPDB file, or WordNet, is not there.

    Examples
    --------
    >>> candidates("wordnet")
    Traceback (most recent call last):
    ...
    ValueError: unknown resources 'wordnet'; known: ['lexicon', 'ppdb', 'ppdb-wide', 'stock']

    Source: ours. Paper: counter-fitted vectors (Mrkšić et al. 2016), not to be had offline.
    """
    if name == "lexicon":
        return LexiconCandidates()
    if name in ("ppdb", "ppdb-wide"):
        from pidlib.data.nli import data_folder

        width = 2 if name == "ppdb-wide" else 1

        # With PPDB's words PSO finds what greedy search finds, so it gets its own.
        if recipe == "pso":
            return WordNetCandidates(width=width)
        # Stock A2T: counter-fitted cosine >= 0.8, where TextFooler has 0.5.
        least = (0.7, 0.6) if recipe == "a2t" else (0.6, 0.5)
        lower = 0.05 * (width - 1)  # about twice as many words
        return PpdbCandidates(
            data_folder(PPDB_FILE) / PPDB_FILE,
            min_cosine=round(least[0] - lower, 2),
            min_paired=round(least[1] - lower, 2),
            width=width,
        )
    raise ValueError(f"unknown resources {name!r}; known: {list(RESOURCES)}")


def words_for(mix: str, name: str) -> Candidates:
    """Where random edits of a mix find their synonyms.

    Parameters
    ----------
    mix : str
        As in `pidlib.data.perturbations.MIXES`. `"words"` pools what all recipes use of the
        source: of `"ppdb"`, its own words and WordNet's.
    name : str
        As for `candidates`, or `"wordnet"`.

    Returns
    -------
    Candidates

    Raises
    ------
    ValueError, FileNotFoundError
        As for `candidates`.

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
        told = " ".join(source.sha256 for source in sources)
        self.sha256 = hashlib.sha256(told.encode()).hexdigest()

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Synonyms of the word by any of the sources."""
        return tuple(dict.fromkeys(w for one in self.sources for w in one.synonyms(word)))


class LexiconCandidates:
    """Synonyms from our lexicon of scenes, already in the right inflection."""

    name = "lexicon"

    def __init__(self) -> None:
        from pidlib.data.lexicon import Lexicon

        self._lexicon = Lexicon.load()
        self.sha256 = sha256(ASSETS / "lexicon.json")

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Synonyms of the word; none for a word that the lexicon does not hold."""
        return tuple(self._lexicon.synonyms(word))


class PpdbCandidates:
    """PPDB pairs joined with the nearest words by the embedded MiniLM."""

    def __init__(
        self,
        path: str | Path,
        min_cosine: float = 0.6,
        min_paired: float = 0.5,
        nearest: int = 50,
        width: int = 1,
    ) -> None:
        path = Path(path)
        self.name, self.width = "ppdb" if width == 1 else "ppdb-wide", width
        if not path.is_file():
            raise FileNotFoundError(f"{path.name} is not in the folder that PIDLIB_DATA_DIR names")
        self._pairs: dict[str, set[str]] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            if len(pair := line.split()) == 2:
                self._pairs.setdefault(pair[0], set()).add(pair[1])
                self._pairs.setdefault(pair[1], set()).add(pair[0])
        self._excluded = exclusions(word_list("incompatible.txt"))
        self._limits, self._nearest = (min_cosine, min_paired), nearest
        self._found: dict[str, tuple[str, ...]] = {}
        barred = sha256(ASSETS / "incompatible.txt")
        settings = f"{sha256(path)} {barred} {self._limits} {nearest}"
        self.sha256 = hashlib.sha256(settings.encode()).hexdigest()

    @cached_property
    def _space(self) -> tuple[dict[str, int], np.ndarray]:
        """Whole words of the encoder's vocabulary (V,) and their unit vectors (V, 384)."""
        from safetensors.torch import load_file

        vocabulary = sentence_encoder().tokenizer.get_vocab()
        words = sorted((w for w in vocabulary if re.fullmatch("[a-z]{3,}", w)), key=vocabulary.get)
        key = hashlib.sha256(" ".join(words).encode()).hexdigest()[:12]
        stored = cache_folder() / f"word-vectors-{key}.safetensors"
        if not stored.is_file():  # 21,358 words: about 15 seconds, once
            vectors = torch.from_numpy(_encode(words)).to(torch.float16)
            write_tensors(stored, {"vectors": vectors})
        vectors = load_file(stored)["vectors"].float().numpy()
        return {word: k for k, word in enumerate(words)}, vectors

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Words inflected like the given one, nearest first."""
        if word not in self._found:
            self._found[word] = self._search(word)
        return self._found[word]

    def _search(self, word: str) -> tuple[str, ...]:
        if not re.fullmatch("[a-z]{3,}", word):
            return ()
        places, vectors = self._space
        known = word in places
        similarity = vectors @ (vectors[places[word]] if known else _encode([word])[0])
        bases = lemmas(word)
        barred = set().union(*(self._excluded.get(w, set()) for w in {word, *bases}))
        paired = set().union(*(self._pairs.get(w, set()) for w in {word, *bases}))
        near = np.argsort(-similarity, kind="stable")[: self._nearest]
        names = list(places)
        forms: dict[str, float] = {}
        for limit, others in zip(self._limits, ({names[k] for k in near}, paired), strict=True):
            for other in others:
                for form in inflected_like(other, word):
                    same = bases & lemmas(form) or barred & {form, *lemmas(form)}
                    if form in places and not same and similarity[places[form]] >= limit:
                        forms[form] = float(similarity[places[form]])
        return tuple(sorted(forms, key=lambda form: (-forms[form], form)))


def _encode(words: list[str]) -> np.ndarray:
    return sentence_encoder().encode(
        words, batch_size=256, normalize_embeddings=True, show_progress_bar=False
    )
