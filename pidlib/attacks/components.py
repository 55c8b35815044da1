"""The parts that TextAttack lacks offline; importing them imports TextAttack (5 to 15 seconds)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import torch

from pidlib.attacks.inflections import parts_of_speech
from pidlib.attacks.offline import load_textattack
from pidlib.attacks.synonyms import OFFLINE, candidates
from pidlib.data.batches import memoised
from pidlib.data.perturbations import Candidates, look_alikes
from pidlib.io.embedded import embedded_folder

ta = load_textattack()
_word_swaps = ta.transformations.word_swaps
_encoders = ta.constraints.semantics.sentence_encoders


class SynonymSwap(_word_swaps.WordSwap):
    """Replace a word by its candidates, in its own case; stock: by counter-fitted neighbours."""

    def __init__(self, source: Candidates, max_candidates: int) -> None:
        super().__init__()
        self.source, self.max_candidates = source, max_candidates

    def _get_replacement_words(self, word: str) -> list[str]:
        recover = _word_swaps.word_swap_embedding.recover_word_case
        synonyms = self.source.synonyms(word.lower())
        return [recover(other, word) for other in synonyms[: self.max_candidates]]


class HomoglyphSwap(_word_swaps.WordSwap):
    """Replace one letter of a word by one that looks like it; stock reads a list it lacks."""

    letters = look_alikes()

    def _get_replacement_words(self, word: str) -> list[str]:
        return [
            word[:k] + self.letters[letter] + word[k + 1 :]
            for k, letter in enumerate(word)
            if letter in self.letters
        ]


class SamePartOfSpeech(ta.constraints.Constraint):
    """Allow a swap within one part of speech, or of unknown words; stock: NLTK's tagger, a download."""

    def __init__(self, allow_verb_noun_swap: bool = True) -> None:
        super().__init__(compare_against_original=True)
        self.allow_verb_noun_swap = allow_verb_noun_swap

    def _check_constraint(self, transformed_text: Any, reference_text: Any) -> bool:
        places = transformed_text.attack_attrs["newly_modified_indices"]
        return all(self._agree(reference_text.words[k], transformed_text.words[k]) for k in places)

    def _agree(self, old: str, new: str) -> bool:
        a, b = parts_of_speech(old), parts_of_speech(new)
        if not a or not b or a & b:
            return True
        return self.allow_verb_noun_swap and bool(a & {"NOUN", "VERB"} and b & {"NOUN", "VERB"})


class SameMeaning(_encoders.sentence_bert.SBERT):
    """SBERT on the embedded MiniLM, at the stock thresholds: its cosines are not stock's."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(model_name=str(embedded_folder()), **settings)
        self._vectors: dict[str, torch.Tensor] = {}

    def clear_cache(self) -> None:
        """Forget the texts; TextAttack calls this after each example."""
        self._vectors.clear()

    def encode(self, sentences: Sequence[str]) -> torch.Tensor:
        """Vectors of the sentences (N, 384); those seen before are not computed again."""
        settings = {"batch_size": 64, "convert_to_tensor": True, "show_progress_bar": False}
        vectors = memoised(
            self._vectors, sentences, lambda new: self.model.encode(new, **settings).cpu()
        )
        return torch.stack(vectors)

    def _check_constraint_many(self, transformed_texts: list, reference_text: Any) -> list:
        """As stock, but texts shorter than the window are not encoded to be ignored."""
        least = self.window_size if self.skip_text_shorter_than_window else 0
        long = [text for text in transformed_texts if len(text.words) >= least]
        allowed = {id(text) for text in super()._check_constraint_many(long, reference_text)}
        for text in transformed_texts:
            if len(text.words) < least:
                text.attack_attrs["similarity_score"] = 1.0
                allowed.add(id(text))
        return [text for text in transformed_texts if id(text) in allowed]


class OfflineParts:
    """What the recipes are made of, from the given candidates."""

    def __init__(self, source: Candidates) -> None:
        self.sha256 = source.sha256
        self._source = source
        self._width = getattr(source, "width", 1)  # more than 1: a stronger attacker
        # Particles and rounds. Stock: (60, 20), six times the work.
        self.swarm = getattr(source, "swarm", (20 * self._width, 10))

    def synonyms(self, max_candidates: int) -> Any:
        """Swap of a word for its nearest candidates."""
        return SynonymSwap(self._source, max_candidates * self._width)

    def sememes(self) -> Any:
        """Swap of a word for any of its candidates."""
        # Stock: words with the same sememes in HowNet. Here: see `pidlib.attacks.wordnet`.
        return SynonymSwap(self._source, max_candidates=60)

    def word_constraints(self, min_cosine: float, allow_verb_noun_swap: bool) -> list:
        """Constraints on the new word by itself."""
        # Stock: counter-fitted cosine >= min_cosine. Here: the source has chosen its words.
        return [SamePartOfSpeech(allow_verb_noun_swap)]

    def meaning(self, **settings: Any) -> Any:
        """Constraint on the meaning of the sentence."""
        return SameMeaning(**settings)

    close_meaning = meaning


class StockParts:
    """The stock parts, which TextAttack downloads."""

    sha256 = "stock"
    swarm = (60, 20)

    def __init__(self, recipe: str) -> None:
        needs = {"a2t": (), "pso": ("OpenHowNet",)}.get(recipe, ("tensorflow", "tensorflow_hub"))
        if absent := [name for name in needs if find_spec(name) is None]:
            raise FileNotFoundError(
                f"resources='stock' needs {' and '.join(absent)} for {recipe} (pip install them), "
                "and the network for TextAttack's word lists and vectors; without them use one "
                f"of {list(OFFLINE)}"
            )
        try:
            counterfitted = ta.shared.WordEmbedding.counterfitted_GLOVE_embedding
            self._words = (
                ta.transformations.WordSwapHowNet() if recipe == "pso" else counterfitted()
            )
            import nltk

            for name in ("averaged_perceptron_tagger_eng", "universal_tagset"):
                nltk.download(name, quiet=True, raise_on_error=True)
        except Exception as problem:
            raise FileNotFoundError(
                f"resources='stock' could not download what {recipe} needs ({problem}); "
                f"connect, or use one of {list(OFFLINE)}"
            ) from problem

    def synonyms(self, max_candidates: int) -> Any:
        """Swap of a word for its neighbours."""
        return ta.transformations.WordSwapEmbedding(max_candidates, self._words)

    def sememes(self) -> Any:
        """Swap of a word for those with the same sememes."""
        return self._words

    def word_constraints(self, min_cosine: float, allow_verb_noun_swap: bool) -> list:
        """Constraints on the new word by itself."""
        return [
            ta.constraints.semantics.WordEmbeddingDistance(self._words, min_cos_sim=min_cosine),
            ta.constraints.grammaticality.PartOfSpeech(allow_verb_noun_swap=allow_verb_noun_swap),
        ]

    def meaning(self, **settings: Any) -> Any:
        """Constraint on the meaning of the sentence."""
        return _encoders.UniversalSentenceEncoder(**settings)

    def close_meaning(self, **settings: Any) -> Any:
        """Constraint on the meaning of the sentence, by A2T's encoder."""
        return _encoders.SBERT(model_name="stsb-distilbert-base", **settings)


def parts_of(resources: str | Candidates, recipe: str) -> OfflineParts | StockParts:
    """Parts for the resources of a name, or for a source of candidates of your own."""
    if resources == "stock":
        return StockParts(recipe)
    return OfflineParts(candidates(resources, recipe) if isinstance(resources, str) else resources)
