"""TextFooler and TextBugger from TextAttack's parts, buildable offline.

Importing this module imports TextAttack, which takes 5 to 15 seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from pidlib.labels import label_order
from pidlib.offline import load_textattack, word_list
from pidlib.parts import HomoglyphSwap, OfflineParts, StockParts

ta = load_textattack()
_before = ta.constraints.pre_transformation

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

    @property
    def forwards(self) -> int:
        """Distinct texts computed since the last `forget`."""
        return len(self.memory)

    def forget(self) -> None:
        """Empty the memory of texts."""
        self.memory.clear()

    def __call__(self, text_input_list: Sequence[Text], **_: Any) -> torch.Tensor:
        """Probabilities (N, classes), on the CPU in single precision."""
        unseen = list(dict.fromkeys(t for t in text_input_list if t not in self.memory))
        if unseen:
            for text, row in zip(unseen, self._probabilities(unseen), strict=True):
                self.memory[text] = row
        return torch.stack([self.memory[text] for text in text_input_list])

    def _probabilities(self, texts: list[Text]) -> torch.Tensor:
        inputs = self.tokenizer(
            texts, padding=True, truncation=True, max_length=self.max_length, return_tensors="pt"
        ).to(self.model.device)
        training = self.model.training
        self.model.eval()  # dropout must not leak into an attack
        try:
            with torch.inference_mode():
                logits = self.model(**inputs).logits[:, self.order].float()
                return logits.softmax(-1).cpu()
        finally:
            self.model.train(training)


def _untouched(stopwords: Sequence[str]) -> list:
    """Words that no recipe changes.

    Stock: stop words are compared as they are written, so a capital "The" may change,
    and TextBugger changes the premise too. Here: any case counts and only the hypothesis
    changes, because the premise is what the label is about (as TextFooler does for NLI).
    """
    any_case = {form for word in stopwords for form in (word, word.capitalize(), word.upper())}
    return [
        _before.RepeatModification(),
        _before.StopwordModification(stopwords=any_case),
        _before.InputColumnModification(["premise", "hypothesis"], {"premise"}),
    ]


def textfooler(victim: Victim, parts: OfflineParts | StockParts) -> Any:
    """TextFooler: swap the most important words for synonyms until the label flips.

    Paper: similarity 0.7 of words. Stock: 0.5, as in the authors' code, and an angular
    similarity of 1 - 0.5/pi of a window of 15 words. Here: as stock.

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
        *parts.word_constraints(),
        meaning,
    ]
    return _greedy(victim, constraints, parts.synonyms(max_candidates=50))


def textbugger(victim: Victim, parts: OfflineParts | StockParts) -> Any:
    """TextBugger: five kinds of bug, in the most important words first.

    Paper: words ranked by the Jacobian. Stock: by deleting each word. Here: as stock,
    with our list of homoglyphs.

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
    constraints = [
        *_untouched(word_list("nltk/corpora/stopwords/english")),
        parts.meaning(threshold=0.8),
    ]
    return _greedy(victim, constraints, bugs)


def _greedy(victim: Victim, constraints: list, transformation: Any) -> Any:
    goal = ta.goal_functions.UntargetedClassification(victim)
    search = ta.search_methods.GreedyWordSwapWIR(wir_method="delete")
    return ta.Attack(goal, constraints, transformation, search)


RECIPES: dict[str, Callable[..., Any]] = {"textfooler": textfooler, "textbugger": textbugger}
