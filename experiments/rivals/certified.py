"""What SAFER's certificate is worth: on candidate lists, and on groups that share no word."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product

import numpy as np

from experiments.rivals.answers import Rows, margins
from pidbook.evaluation.certificates import certified, smoothing_shift, total_variation
from pidlib.data.batches import recalled
from pidlib.data.edits import word_spans
from pidlib.data.perturbations import Candidates
from pidlib.evaluation.exact import Choices, choices, searched

DRAWS = 64  # texts of the smoothing; where there are no more, all of them, each once


def list_shifts(rows: Rows, source: Candidates, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The shift q (N,) of hypotheses by candidate lists: one word changed, and all."""

    @cache
    def near(word: str) -> tuple[str, ...]:
        of = choices(word, source, most)
        return tuple(w.lower() for w in of.words[0]) if of.words else (word,)

    @cache
    def worst(word: str) -> float:
        return max(total_variation(near(word), near(other)) for other in near(word))

    distances = [
        [worst(words[0].lower()) for words in choices(row["hypothesis"], source, most).words]
        for row in rows
    ]
    one = np.array([smoothing_shift(of, 1) for of in distances])
    return one, np.array([smoothing_shift(of) for of in distances])


def group_choices(text: str, groups: Mapping[str, Sequence[str]]) -> Choices:
    """Words that may stand in place of those of a text: all of their group."""
    spans, words = [], []
    for a, b in word_spans(text):
        own = text[a:b]
        others = [w.capitalize() if own[:1].isupper() else w for w in groups.get(own.lower(), ())]
        if others := [w for w in others if w != own]:
            spans.append((a, b))
            words.append((own, *others))
    return Choices(text, tuple(spans), tuple(words))


def smoothed_verdicts(
    answers: Callable[[Rows], np.ndarray],
    rows: Rows,
    lists: Callable[[str], Choices],
    shift: Sequence[float],
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """Per row (N,): right as written, smoothed right, certified, right under all texts (the truth).

    `answers` gives shares (N, labels). Where there are more texts than `DRAWS`, the smoothing is
    drawn, its certificate holds with 95 % each, and the truth is the beam's: an upper bound.
    """
    verdicts: dict[str, list[bool]] = {
        key: [] for key in ("written", "smoothed", "certified", "truth", "whole")
    }
    for k, (row, q) in enumerate(zip(rows, shift, strict=True)):
        of, label, memory = lists(row["hypothesis"]), row["label"], {}

        def shares(texts: Sequence[str], row=row, memory=memory) -> np.ndarray:
            def ask(new: Sequence[str]) -> np.ndarray:
                return answers([{**row, "hypothesis": text} for text in new])

            return np.stack(recalled(memory, texts, ask))

        def asked(texts: Sequence[str], shares=shares, label=label) -> np.ndarray:
            return margins(shares(texts), [label] * len(texts))

        whole = float(np.prod([float(size) for size in of.sizes])) <= DRAWS
        if whole:
            drawn = list(product(*map(range, of.sizes)))
        else:
            random = np.random.default_rng([seed, k])
            drawn = [tuple(int(random.integers(n)) for n in of.sizes) for _ in range(DRAWS)]
        logits = shares([of.written(choice) for choice in drawn])
        votes = np.eye(logits.shape[1])[logits.argmax(1)].mean(0)
        written = bool(asked([of.text])[0] > 0)
        truth = bool((logits.argmax(1) == label).all()) and written
        if truth and not whole:
            truth = searched(of, asked).held[-1]
        verdicts["written"].append(written)
        verdicts["smoothed"].append(bool(margins(votes[None], [label])[0] > 0))
        verdicts["certified"].append(certified(votes, label, q, None if whole else DRAWS))
        verdicts["truth"].append(truth)
        verdicts["whole"].append(whole)
    return {key: np.array(bits) for key, bits in verdicts.items()}
