"""Exact robust accuracy: whether an answer is right under every choice of words from a list.

An attack that searches greedily may miss the text that turns an answer, and may miss it more often
for one model than for another. Hypotheses are short, so here every swap of one word is tried, every
pair of swaps, and every combination of all words as far as a cap goes. What was not tried is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from pidlib.attacks.inflections import fitting
from pidlib.data.batches import memoised
from pidlib.data.edits import word_spans
from pidlib.data.perturbations import Candidates
from pidlib.evaluation.accuracy import scores
from pidlib.io.assets import word_list

LEVELS = ("one word", "two words", "all words")
CANDIDATES, CAP, WIDTH = 8, 20_000, 5  # words for each word, combinations of a text, texts kept
_CHUNK = 256  # texts asked before it may stop
Choice = tuple[int, ...]  # of each place, which of the words that may stand there
Margins = Callable[[Sequence[str]], np.ndarray]  # of texts: logit of the label less the best other


class Choices(NamedTuple):
    """What the words of a text may become.

    Attributes
    ----------
    text : str
    spans : tuple of (int, int), where each word that has candidates begins and ends
    words : tuple of tuple of str, what may stand there, its own word first
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    words: tuple[tuple[str, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many words may stand at each place, its own among them."""
        return tuple(map(len, self.words))

    @property
    def unchanged(self) -> Choice:
        """The choice of the text's own words."""
        return (0,) * len(self.words)

    @property
    def without(self) -> list[str]:
        """The texts that lack one of the words."""
        return [self.text[:a].rstrip() + self.text[b:] for a, b in self.spans]

    def written(self, choice: Sequence[int]) -> str:
        """The text with the chosen words."""
        parts, end = [], 0
        for (a, b), words, k in zip(self.spans, self.words, choice, strict=True):
            parts += [self.text[end:a], words[k]]
            end = b
        return "".join([*parts, self.text[end:]])


class RobustnessResult(NamedTuple):
    """What became of one text.

    Attributes
    ----------
    clean : bool, whether the answer to the text as written is right
    exact : tuple of bool or None, right under all texts, by `LEVELS`; None where that is open
    greedy, beam : tuple of bool, right under the texts that a search meets, by `LEVELS`
    texts : int, texts that the list allows
    forwards : tuple of int, texts answered: exact (with the beam's), greedy, beam
    """

    clean: bool
    exact: tuple[bool | None, ...]
    greedy: tuple[bool, ...]
    beam: tuple[bool, ...]
    texts: int
    forwards: tuple[int, ...]


def choices(text: str, source: Candidates, most: int = CANDIDATES) -> Choices:
    """Words that may stand in place of those of a text.

    Parameters
    ----------
    text : str
    source : object with `synonyms(word)`, such as `pidlib.attacks.candidates("lexicon")`
    most : int, candidates of a word, the nearest first, all of a part of speech that it can have

    Returns
    -------
    Choices
        Of the words that have a candidate and are no stop words.

    Examples
    --------
    >>> from pidlib.attacks import candidates
    >>> choices("A dog is outside.", candidates("lexicon"), most=2).words
    (('dog', 'canine', 'hound'), ('outside', 'outdoors'))
    """
    stop, spans, words = set(word_list("textfooler_stopwords.txt")), [], []
    for a, b in word_spans(text):
        word = text[a:b]
        if word.lower() in stop:
            continue
        near = fitting(word.lower(), source.synonyms(word.lower()))
        near = (other.capitalize() if word[:1].isupper() else other for other in near)
        if others := tuple(islice((other for other in near if other != word), most)):
            spans.append((a, b))
            words.append((word, *others))
    return Choices(text, tuple(spans), tuple(words))


def exact_robustness(
    model: Any,
    tokenizer: Any,
    row: Mapping[str, Any],
    source: Candidates,
    most: int = CANDIDATES,
    cap: int = CAP,
) -> RobustnessResult:
    """Try every choice of words of a row's hypothesis (or text), with a control or without.

    Parameters
    ----------
    model, tokenizer
        As for `predict`; a controller may be attached.
    row : mapping with `label`, and `premise` and `hypothesis`, or `text`
    source, most
        As for `choices`.
    cap : int, combinations that are tried; more than that leave the last level open

    Returns
    -------
    RobustnessResult

    Source: our departure; the paper searches greedily (§3.1).
    """
    asked, of = _margins(model, tokenizer, row), choices(row[changing(row)], source, most)
    if asked([of.text])[0] > 0:  # each search begins with these texts: one batch, then remembered
        asked([*of.without, *map(of.written, one_more_change([of.unchanged], of.sizes))])
    return verdict(of, asked, cap)


def changing(row: Mapping[str, Any]) -> str:
    """The column whose words change."""
    return "hypothesis" if "hypothesis" in row else "text"


def _margins(model: Any, tokenizer: Any, row: Mapping[str, Any]) -> Margins:
    """What a model says of texts in place of a row's own: each is answered once.

    Texts that a tokenizer writes alike count as the same: it may write thousands alike.
    """
    column, label, memory = changing(row), row["label"], {}
    written: Callable[[str], str] = getattr(tokenizer, "normaliser", str)

    def ask(forms: Sequence[str]) -> list[float]:
        rows = [{**row, column: form} for form in forms]
        logits = scores(model, tokenizer, rows)
        return (logits[:, label] - np.delete(logits, label, 1).max(1)).tolist()

    return lambda texts: np.array(memoised(memory, list(map(written, texts)), ask))


def verdict(of: Choices, margins: Margins, cap: int = CAP) -> RobustnessResult:
    """Try every choice of words, the most harmful by single swaps first; stop at a wrong answer."""
    whole, memory = int(np.prod([float(size) for size in of.sizes])), {}
    answered = _remembering(margins, memory)
    base = float(answered([of.text])[0])
    if not base > 0:
        return RobustnessResult(False, (False,) * 3, (False,) * 3, (False,) * 3, whole, (1, 1, 1))
    beam = _beam(of, answered)  # what it meets need not be asked again
    greedy, greedy_texts = _greedy(of, margins, base)  # on its own account
    none, counts = of.unchanged, (greedy_texts, len(memory))
    singles = [(k, j) for k, size in enumerate(of.sizes) for j in range(1, size)]
    harm = answered([of.written(choice) for choice in one_more_change([none], of.sizes)])
    levels: list[bool | None] = [bool((harm > 0).all())]
    loss = {pair: base - m for pair, m in zip(singles, harm, strict=True)}
    levels.append(levels[0] and _all_right(answered, map(of.written, _pairs(none, loss))))
    last = levels[1] and beam[2] and greedy[2]  # a text met decides
    every = map(of.written, islice(falling(of.sizes, loss), cap))
    last = last and _all_right(answered, every)
    levels.append(None if last and whole > cap else last)
    return RobustnessResult(True, tuple(levels), greedy, beam, whole, (len(memory), *counts))


def _remembering(margins: Margins, memory: dict[str, float]) -> Margins:
    """The same margins, each text answered once."""
    return lambda texts: np.array(memoised(memory, texts, lambda new: map(float, margins(new))))


def changed(choice: Choice, *pairs: tuple[int, int]) -> Choice:
    """A choice with other words at some places."""
    chosen = list(choice)
    for k, j in pairs:
        chosen[k] = j
    return tuple(chosen)


def one_more_change(kept: Sequence[Choice], sizes: Sequence[int]) -> list[Choice]:
    """All texts with one more word changed."""
    return list(dict.fromkeys(
        changed(choice, (k, j)) for choice in kept for k, size in enumerate(sizes)
        if choice[k] == 0 for j in range(1, size)
    ))  # fmt: skip


def _pairs(none: Choice, loss: Mapping[tuple[int, int], float]) -> Iterator[Choice]:
    """Choices with two words changed, the most harmful first, were harms to add up."""
    both = [(a, b) for a, b in combinations(loss, 2) if a[0] != b[0]]
    both.sort(key=lambda pair: -loss[pair[0]] - loss[pair[1]])
    return (changed(none, *pair) for pair in both)


def falling(sizes: Sequence[int], loss: Mapping[tuple[int, int], float]) -> Iterator[Choice]:
    """All choices, the most harmful first, were harms to add up: best first over sorted words."""
    from heapq import heappop, heappush

    order = [
        sorted(range(n), key=lambda j, k=k: -loss.get((k, j), 0.0)) for k, n in enumerate(sizes)
    ]
    gap = [[loss.get((k, j), 0.0) for j in words] for k, words in enumerate(order)]
    queue = [(-sum(values[0] for values in gap), (0,) * len(sizes), 0)]
    while queue:
        lost, ranks, start = heappop(queue)
        yield tuple(words[rank] for words, rank in zip(order, ranks, strict=True))
        for k in range(start, len(sizes)):  # each choice has one way to it: its last step
            if ranks[k] + 1 < sizes[k]:
                step = gap[k][ranks[k]] - gap[k][ranks[k] + 1]
                heappush(queue, (lost + step, changed(ranks, (k, ranks[k] + 1)), k))


def _all_right(answered: Margins, wanted: Iterator[str]) -> bool:
    size = 16  # small at first: where an answer falls, it mostly falls soon
    while chunk := list(islice(wanted, size)):
        if (answered(chunk) <= 0).any():
            return False
        size = min(2 * size, _CHUNK)
    return True


def _greedy(of: Choices, margins: Margins, base: float) -> tuple[tuple[bool, ...], int]:
    """Word after word, in the order of what leaving it out costs, to what harms most."""
    answered = _remembering(margins, memory := {of.text: base})
    order = np.argsort(margins(of.without), kind="stable") if of.spans else []
    choice, margin, after = of.unchanged, base, []
    for k in order:
        tried = [changed(choice, (int(k), j)) for j in range(1, of.sizes[k])]
        values = answered([of.written(other) for other in tried])
        if values.min() < margin:
            margin, choice = float(values.min()), tried[int(values.argmin())]
            after.append(margin > 0)
        if margin <= 0:
            break
    held = [all(after[:most]) for most in (1, 2, len(after))]
    return tuple(held), len(memory) + len(of.spans)


def _beam(of: Choices, margins: Margins) -> tuple[bool, ...]:
    """Change a further word in each step, of the `WIDTH` most harmful texts of the last one."""
    kept, held = [of.unchanged], []
    for _ in of.sizes:
        wider = one_more_change(kept, of.sizes)
        values = margins([of.written(choice) for choice in wider])
        held.append(bool((values > 0).all()))
        if not held[-1]:
            break
        kept = [wider[k] for k in np.argsort(values, kind="stable")[:WIDTH]]
    return tuple(all(held[:most]) for most in (1, 2, len(held)))
