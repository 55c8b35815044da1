"""A2T, PSO, TextBugger and TextFooler from TextAttack's parts, buildable offline.

Importing this module imports TextAttack, which takes 5 to 15 seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from pidlib.labels import label_order
from pidlib.offline import load_textattack, word_list
from pidlib.parts import HomoglyphSwap, OfflineParts, StockParts

ta = load_textattack()
_before = ta.constraints.pre_transformation
_ENGLISH = word_list("nltk/corpora/stopwords/english")

Text = str | tuple[str, str]


class Victim(ta.models.wrappers.ModelWrapper):
    """The model under attack: texts in, probabilities out, in our label order.

    Stock: `HuggingFaceModelWrapper` pads every text to the tokenizer's maximum and
    computes repeated texts again. Here: texts are padded to the longest of their batch
    and remembered until `forget`, because that is 10 times as fast or more and the
    outcomes are the same. A controller attached to the model acts as in any other call.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Sequence classifier; its labels must be named (`label_order`).
    tokenizer : transformers.PreTrainedTokenizerBase
    max_length : int
        Tokens a text, special tokens included.

    Source: ours; TextAttack 0.3.11, `huggingface_model_wrapper.py`.
    """

    def __init__(self, model: Any, tokenizer: Any, max_length: int = 256) -> None:
        self.model, self.tokenizer, self.max_length = model, tokenizer, max_length
        self.order = label_order(model.config)
        self.memory: dict[Text, torch.Tensor] = {}
        self._gradients = 0

    @property
    def forwards(self) -> int:
        """Distinct texts computed since the last `forget`, gradients among them."""
        return len(self.memory) + self._gradients

    def forget(self) -> None:
        """Empty the memory of texts."""
        self.memory.clear()
        self._gradients = 0

    def __call__(self, text_input_list: Sequence[Text], **_: Any) -> torch.Tensor:
        """Probabilities (N, classes), on the CPU in single precision."""
        unseen = list(dict.fromkeys(t for t in text_input_list if t not in self.memory))
        if unseen:
            for text, row in zip(unseen, self._probabilities(unseen), strict=True):
                self.memory[text] = row
        return torch.stack([self.memory[text] for text in text_input_list])

    def _probabilities(self, texts: list[Text]) -> torch.Tensor:
        with self._evaluating(), torch.inference_mode():
            logits = self.model(**self._inputs(texts)).logits[:, self.order].float()
            return logits.softmax(-1).cpu()

    def get_grad(self, text_input: Text) -> dict[str, Any]:
        """Gradient of the loss by the word embeddings, for the label that is predicted.

        Stock: the model is in training mode, so dropout enters the gradient, and the
        gradients of its weights are filled. Here: neither. With a controller attached,
        the gradient runs through it.

        Parameters
        ----------
        text_input : str or tuple of str

        Returns
        -------
        dict
            With `ids` and `gradient`, as TextAttack wants them.
        """
        inputs, taken = self._inputs([text_input]), []

        def take(_module: Any, _args: Any, output: torch.Tensor) -> torch.Tensor:
            taken.append(output.detach().requires_grad_())
            return taken[-1]

        hook = self.model.get_input_embeddings().register_forward_hook(take)
        try:
            with self._evaluating(), torch.enable_grad():
                logits = self.model(**inputs).logits.float()
                loss = torch.nn.functional.cross_entropy(logits, logits.argmax(-1))
                (gradient,) = torch.autograd.grad(loss, taken[0])
        finally:
            hook.remove()
        self._gradients += 1
        return {"ids": inputs["input_ids"], "gradient": gradient[0].cpu().numpy()}

    def _tokenize(self, inputs: Sequence[Text]) -> list[list[str]]:
        settings = dict(truncation=True, max_length=self.max_length)
        return [
            self.tokenizer.convert_ids_to_tokens(self.tokenizer([x], **settings)["input_ids"][0])
            for x in inputs
        ]

    def _inputs(self, texts: list[Text]) -> Any:
        return self.tokenizer(
            texts, padding=True, truncation=True, max_length=self.max_length, return_tensors="pt"
        ).to(self.model.device)

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        training = self.model.training
        self.model.eval()  # dropout must not leak into an attack
        try:
            yield
        finally:
            self.model.train(training)


def _untouched(stopwords: Sequence[str], premise: bool = True) -> list:
    """Words that a recipe doesn't change: stop words, those changed once, the premise.

    Stock: stop words are compared as they are written, so a capital "The" may change.
    Here: any case counts.
    """
    any_case = {form for word in stopwords for form in (word, word.capitalize(), word.upper())}
    kept = [_before.RepeatModification(), _before.StopwordModification(stopwords=any_case)]
    if premise:
        kept.append(_before.InputColumnModification(["premise", "hypothesis"], {"premise"}))
    return kept


def a2t(victim: Victim, parts: OfflineParts | StockParts) -> Any:
    """A2T: few swaps for near synonyms, words ranked by the gradient.

    Stock: 20 neighbours of counter-fitted cosine 0.8, sentences of cosine 0.9 by
    DistilBERT. Here: our candidates (nearer ones of PPDB), MiniLM's cosine 0.9; words of
    the hypothesis only, as stock. The gradient is free of dropout.

    Parameters
    ----------
    victim : Victim
    parts : OfflineParts or StockParts

    Returns
    -------
    textattack.Attack

    Source: Yoo & Qi 2021; `a2t_yoo_2021.py` of TextAttack 0.3.11.
    """
    constraints = [
        *_untouched(_ENGLISH),
        *parts.word_constraints(min_cosine=0.8, allow_verb_noun_swap=False),
        _before.MaxModificationRate(max_rate=0.1, min_threshold=4),
        parts.close_meaning(threshold=0.9, metric="cosine"),
    ]
    search = ta.search_methods.GreedyWordSwapWIR(
        wir_method="gradient", truncate_words_to=getattr(victim, "max_length", None)
    )
    return _attack(victim, constraints, parts.synonyms(max_candidates=20), search)


def pso(victim: Victim, parts: OfflineParts | StockParts) -> Any:
    """PSO: a swarm of texts, each word moving towards the best texts found.

    Stock: 60 particles, 20 rounds, words with the same sememes in HowNet. Here: 20
    particles, 10 rounds, words of our source (WordNet on real data); the hypothesis
    only, as stock, and like stock no constraint on the sentence.

    Parameters
    ----------
    victim : Victim
    parts : OfflineParts or StockParts

    Returns
    -------
    textattack.Attack

    Source: Zang et al. 2020; `pso_zang_2020.py` of TextAttack 0.3.11.
    """
    particles, rounds = parts.swarm
    search = ta.search_methods.ParticleSwarmOptimization(pop_size=particles, max_iters=rounds)
    return _attack(victim, _untouched(_ENGLISH), parts.sememes(), search)


def textfooler(victim: Victim, parts: OfflineParts | StockParts) -> Any:
    """TextFooler: swap important words for synonyms until the label flips.

    Paper: similarity 0.7 of words. Stock: 0.5, as in the authors' code, and an angular
    similarity of 1 - 0.5/pi of a window of 15 words. Here: as stock.

    Parameters
    ----------
    victim : Victim
    parts : OfflineParts or StockParts

    Returns
    -------
    textattack.Attack

    Source: Jin et al. 2020; `textfooler_jin_2019.py` of TextAttack 0.3.11.
    """
    meaning = parts.meaning(
        threshold=0.840845057,
        metric="angular",
        compare_against_original=False,
        window_size=15,
        skip_text_shorter_than_window=True,
    )
    constraints = [
        *_untouched(word_list("textfooler_stopwords.txt")),
        *parts.word_constraints(min_cosine=0.5, allow_verb_noun_swap=True),
        meaning,
    ]
    return _attack(victim, constraints, parts.synonyms(max_candidates=50), _by_deletion())


def textbugger(victim: Victim, parts: OfflineParts | StockParts) -> Any:
    """TextBugger: five kinds of bug, in the most important words first.

    Paper: words ranked by the Jacobian. Stock: by deleting each word, in the premise and
    in the hypothesis. Here: as stock, with our list of homoglyphs.

    Parameters
    ----------
    victim : Victim
    parts : OfflineParts or StockParts

    Returns
    -------
    textattack.Attack

    Source: Li et al. 2019; `textbugger_li_2018.py` of TextAttack 0.3.11.
    """
    inner = {"random_one": True, "skip_first_char": True, "skip_last_char": True}
    bugs = ta.transformations.CompositeTransformation(
        [
            ta.transformations.WordSwapRandomCharacterInsertion(letters_to_insert=" ", **inner),
            ta.transformations.WordSwapRandomCharacterDeletion(**inner),
            ta.transformations.WordSwapNeighboringCharacterSwap(**inner),
            HomoglyphSwap(),
            parts.synonyms(max_candidates=5),
        ]
    )
    constraints = [*_untouched(_ENGLISH, premise=False), parts.meaning(threshold=0.8)]
    return _attack(victim, constraints, bugs, _by_deletion())


def _by_deletion() -> Any:
    return ta.search_methods.GreedyWordSwapWIR(wir_method="delete")


def _attack(victim: Victim, constraints: list, transformation: Any, search: Any) -> Any:
    goal = ta.goal_functions.UntargetedClassification(victim)
    return ta.Attack(goal, constraints, transformation, search)


RECIPES: dict[str, Callable[..., Any]] = {
    "a2t": a2t,
    "pso": pso,
    "textbugger": textbugger,
    "textfooler": textfooler,
}
