"""One attack built for one model: seeds, example by example, told step by step."""

from __future__ import annotations

import hashlib
import random
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch

from pidlib.attacks.outcomes import Outcome
from pidlib.data.edits import find_edits, row_hash, word_spans
from pidlib.data.perturbations import Candidates
from pidlib.data.rows import text_keys


class Step(NamedTuple):
    """One step of an attack.

    Attributes
    ----------
    before, after : str, the words that stood there, and those that stand there now
    text : str, the last column as it stands after the change
    probabilities : tuple of float, of the labels, after the change
    """

    before: str
    after: str
    text: str
    probabilities: tuple[float, ...]


class Explanation(NamedTuple):
    """An attack told step by step.

    Attributes
    ----------
    outcome, steps : Outcome, and tuple of Step
    probabilities : tuple of float, of the labels, before the attack
    importance : tuple of (word, number), most important first
        How much the probability of the true label falls without the word; for A2T, the size of
        the gradient by its embedding; none for PSO.
    """

    outcome: Outcome
    probabilities: tuple[float, ...]
    importance: tuple[tuple[str, float], ...]
    steps: tuple[Step, ...]


@contextmanager
def seeded(seed: int, key: int) -> Iterator[None]:
    """Seed Python, numpy and torch from (seed, row id); put the old states back after."""
    number = int(np.random.SeedSequence([seed, key]).generate_state(1)[0])
    states = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        random.seed(number)
        np.random.seed(number)
        torch.manual_seed(number)
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])


class Engine:
    """A recipe built once for one model."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        recipe: str,
        resources: str | Candidates,
        seed: int,
        max_length: int,
        budget: int | None = None,
    ) -> None:
        from pidlib.attacks import components, recipes  # slow: they import TextAttack

        parts = components.parts_of(resources, recipe)
        self.victim = recipes.Victim(model, tokenizer, max_length)
        self.search = recipes.RECIPES[recipe](self.victim, parts)
        if budget is not None:
            self.search.goal_function.query_budget = budget
        self.seed = seed
        self._text = recipes.ta.shared.AttackedText
        self._settings = {
            "recipe": recipe,
            "resources": resources if isinstance(resources, str) else resources.name,
            "resources_sha256": parts.sha256,
            "seed": seed,
            "max_length": max_length,
            "budget": budget,
        }

    def configuration(self) -> dict[str, Any]:
        """What decides the outcomes, as the header of a log holds it."""
        from importlib.metadata import version

        model = self.victim.model
        return self._settings | {
            "weights_sha256": victim_sha256(model),
            "hooked": any(m._forward_pre_hooks or m._forward_hooks for m in model.modules()),
            "textattack": version("textattack"),
        }

    def attack(self, row: Mapping[str, Any], key: int) -> Outcome:
        """Attack one row under the seed of its id; one without a word to change withstands."""
        example, label = _example(row), int(row["label"])
        self.victim.forget()
        if _is_wordless(example):
            right = int(np.argmax(self._probabilities(self._text(example)))) == label
            return Outcome(key, "failed" if right else "skipped", (), 1, 1, row_hash(row))
        with seeded(self.seed, key):
            self.search.clear_cache()
            result = self.search.attack(example, label)
        kind = type(result).__name__.removesuffix("AttackResult").lower()
        attacked = _columns(result.perturbed_result.attacked_text)
        return Outcome(
            id=key,
            status={"successful": "succeeded"}.get(kind, kind),
            edits=find_edits(row, dict(zip(example, attacked, strict=True))),
            queries=int(result.num_queries),
            forwards=self.victim.forwards,
            row=row_hash(row),
        )

    def explain(self, row: Mapping[str, Any], key: int) -> Explanation:
        """Attack one row, search again, and walk back through the texts that were tried."""
        outcome = self.attack(row, key)
        label = int(row["label"])
        example = _example(row)
        original = self._text(example)
        start = self._probabilities(original)
        if outcome.status == "skipped" or _is_wordless(example):
            return Explanation(outcome, start, (), ())
        with seeded(self.seed, key):  # again: TextAttack cut the chain of texts at the end
            self.search.clear_cache()
            first, _ = self.search.goal_function.init_attack_example(original, label)
            text = self.search.search_method(first).attacked_text
        steps = []
        while "previous_attacked_text" in text.attack_attrs:
            before = text.attack_attrs["previous_attacked_text"]
            changed = [
                (old[slice(*word_spans(old)[edit.word])], edit.replacement)
                for old, new in zip(_columns(before), _columns(text), strict=True)
                for edit in find_edits({"text": old}, {"text": new})
            ]
            if changed:  # a particle may stay where it is
                old, new = (" … ".join(words) for words in zip(*changed, strict=True))
                steps.append(Step(old, new, _columns(text)[-1], self._probabilities(text)))
            text = before
        ranked = self._importance(original, start[label], label)
        return Explanation(outcome, start, ranked, tuple(reversed(steps)))

    def _importance(self, text: Any, start: float, label: int) -> tuple[tuple[str, float], ...]:
        """Words as the search ranks them, with the number that it ranks by."""
        method = getattr(self.search.search_method, "wir_method", None)
        if method is None:
            return ()
        _, places = self.search.get_indices_to_order(text)
        if method == "gradient":
            gradient = self.victim.get_grad(text.tokenizer_input)["gradient"]
            tokens = text.align_with_model_tokens(self.victim)
            sizes = {k: gradient[tokens[k]].mean(0) for k in places if tokens[k]}
            scores = {k: float(np.abs(size).sum()) for k, size in sizes.items()}
        else:
            without = {k: self._probabilities(text.delete_word_at_index(k)) for k in places}
            scores = {k: start - answer[label] for k, answer in without.items()}
        return tuple((text.words[k], scores[k]) for k in sorted(scores, key=lambda k: -scores[k]))

    def _probabilities(self, text: Any) -> tuple[float, ...]:
        return tuple(self.victim([text.tokenizer_input])[0].tolist())


def _example(row: Mapping[str, Any]) -> OrderedDict[str, str]:
    return OrderedDict((column, row[column]) for column in text_keys(row))


def _is_wordless(example: Mapping[str, str]) -> bool:
    """Whether the last text, which every recipe changes, has no word."""
    return not word_spans(list(example.values())[-1])


def _columns(text: Any) -> tuple[str, ...]:
    given = text.tokenizer_input
    return (given,) if isinstance(given, str) else given


def victim_sha256(model: torch.nn.Module) -> str:
    """Sha256 of a model's weights and their names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
