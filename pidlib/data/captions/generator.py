"""Pairs of captions for natural-language inference, labelled by construction.

A hypothesis is drawn first. For it, three premises are drawn: one that entails it, one
that leaves it open and one that excludes it, all with as many words, and all lacking as
many words of the hypothesis. So a hypothesis occurs once under each label, and neither
it, nor lengths, nor word overlap tell the label. The label follows from the scenes behind
the two texts by the rules of `pidlib.data.captions.scenes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, reduce
from operator import add
from random import Random

from pidlib.data.captions.lexicon import Lexicon
from pidlib.data.captions.realisation import Wording, tokens
from pidlib.data.captions.sampling import Drafts
from pidlib.data.captions.scenes import Scene

__all__ = ["SIZES", "Lexicon", "captions", "scenes"]

SIZES = {"train": 20_000, "validation": 2_000, "test": 5_000}
_BLOCK = 60  # hypotheses per shuffled block
_SCENES, _TEXTS = 7, 5  # premises tried per label and hypothesis, and texts of each


def captions(split: str, n: int | None = None, seed: int = 0) -> list[dict]:
    """Caption pairs with their labels."""
    keys = ("premise", "hypothesis", "label")
    return [{key: row[key] for key in keys} for row in scenes(split, n, seed)]


def scenes(split: str, n: int | None = None, seed: int = 0) -> list[dict]:
    """Rows of `captions` with the scenes behind them."""
    if split not in SIZES:
        raise ValueError(f"unknown split {split!r}; use one of {', '.join(SIZES)}")
    size = SIZES[split]
    n = size if n is None else n
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"n is {n!r}; give a whole number from 1 to {size}, or None for all rows")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed is {seed!r}; give a whole number")
    if not 1 <= n <= size:
        raise ValueError(f"n is {n}; the {split} split has {size} rows, so give n from 1 to {size}")
    return [dict(row) for row in _rows(split, seed).first(n)]


@cache
def _rows(split: str, seed: int) -> _Rows:
    return _Rows(split, seed)


class _Rows:
    """The rows of a split, made as far as they are asked for."""

    def __init__(self, split: str, seed: int) -> None:
        self.rows: list[dict] = []
        self._triples = _triples(split, seed)
        self._rng = Random(f"order-{split}-{seed}")

    def first(self, n: int) -> list[dict]:
        while len(self.rows) < n:
            block = [next(self._triples) for _ in range(_BLOCK)]
            columns = [[triple[label] for triple in block] for label in range(3)]
            for column in columns:
                self._rng.shuffle(column)
            for rows in zip(*columns, strict=True):  # so that every prefix is balanced
                self.rows += self._rng.sample(rows, 3)
        return self.rows[:n]


def _triples(split: str, seed: int) -> Iterator[list[dict]]:
    """Three rows at a time: one hypothesis under each label."""
    rng = Random(f"captions-{split}-{seed}")
    drafts, wording, balance = Drafts(rng, split), Wording(rng), _Balance()
    seen: set[str] = set()
    while True:
        asked = drafts.hypothesis()
        hypothesis = wording.write(asked)
        if hypothesis in seen:
            continue
        found = _premises(drafts, wording, asked, hypothesis)
        chosen = balance.choose(found) if found else None
        if chosen is None:
            continue
        seen.add(hypothesis)
        yield [
            {
                "premise": text,
                "hypothesis": hypothesis,
                "label": label,
                "premise_scene": scene,
                "hypothesis_scene": asked,
            }
            for label, (text, _, scene) in enumerate(chosen)
        ]


def _premises(
    drafts: Drafts, wording: Wording, asked: Scene, hypothesis: str
) -> list[dict[tuple, list[tuple]]]:
    """Premises of each label, grouped by what a shallow classifier sees of the pair.

    Empty when a label has none. A group is keyed by the number of words of the premise
    and the number of words of the hypothesis that the premise lacks.
    """
    words = tokens(hypothesis)
    found: list[dict[tuple, list[tuple]]] = [{}, {}, {}]
    for label in (2, 1, 0):  # the rarest first, so that failures show early
        for _ in range(_SCENES):
            scene = drafts.premise(asked, label)
            for _ in range(_TEXTS if scene else 0):
                text = wording.write(scene)
                row = tokens(text)
                known = dict.fromkeys(row)  # not a set: sums must not follow the hash order
                if row != words:
                    key = len(row), sum([word not in known for word in words])
                    found[label].setdefault(key, []).append((text, known, scene))
        if not found[label]:
            return []
    return found


class _Balance:
    """Keeps each word of the premises equally common under the three labels."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}
        self._surplus: tuple[dict[str, float], ...] = ({}, {}, {})

    def choose(self, found: list[dict[tuple, list[tuple]]]) -> list[tuple] | None:
        """One premise per label, all of one group, with the words that balance best."""
        best = None
        for key in found[0]:
            if key not in found[1] or key not in found[2]:
                continue
            costs = [
                min((self._cost(item[1], label), i) for i, item in enumerate(found[label][key]))
                for label in range(3)
            ]
            total = _sum(cost for cost, _ in costs)
            if best is None or total < best[0]:
                best = total, [found[label][key][i] for label, (_, i) in enumerate(costs)]
        if best is None:
            return None
        for label, (_, words, _) in enumerate(best[1]):
            self._add(words, label)
        return best[1]

    def _cost(self, words: dict[str, None], label: int) -> float:
        surplus = self._surplus[label]
        return _sum(surplus.get(word, 0.0) for word in words) / len(words)

    def _add(self, words: dict[str, None], label: int) -> None:
        for word in words:
            counts = self._counts.setdefault(word, [0, 0, 0])
            counts[label] += 1
            total = sum(counts)
            for other in range(3):
                self._surplus[other][word] = (3 * counts[other] - total) / (4 + total) ** 0.5


def _sum(costs: Iterable[float]) -> float:
    """Sum from left to right. From Python 3.12 on `sum` rounds otherwise, and ties would too."""
    return reduce(add, costs, 0.0)
