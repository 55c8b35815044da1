"""Pairs of captions for natural-language inference, labelled by construction.

A hypothesis is drawn first. For it, three premises are drawn: one that entails it, one
that leaves it open and one that excludes it, all with as many words, and all lacking as
many words of the hypothesis. So a hypothesis occurs once under each label, and neither
it, nor lengths, nor word overlap tell the label. The label follows from the scenes behind
the two texts by the rules of `experiments.captions.scenes`.

python -m experiments.captions.generator    write the rows that ship with pidlib
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from functools import cache, reduce
from itertools import islice
from operator import add, itemgetter
from random import Random

from experiments.captions.realisation import Wording, tokens
from experiments.captions.sampling import Drafts
from experiments.captions.scenes import Scene
from pidlib.data.nli import COLUMNS
from pidlib.io.assets import ASSETS

SIZES = {"train": 20_000, "validation": 2_000, "test": 5_000}
_BLOCK = 60  # hypotheses per shuffled block
_SCENES, _TEXTS = 7, 5  # premises tried per label and hypothesis, and texts of each


def captions(split: str, n: int | None = None, seed: int = 0) -> list[dict]:
    """Caption pairs with their labels."""
    return [{key: row[key] for key in COLUMNS} for row in scenes(split, n, seed)]


def scenes(split: str, n: int | None = None, seed: int = 0) -> list[dict]:
    """Rows of `captions` with the scenes behind them."""
    rows, source = _rows(split, seed)
    n = SIZES[split] if n is None else n
    rows += islice(source, max(0, n - len(rows)))
    return rows[:n]


@cache
def _rows(split: str, seed: int) -> tuple[list[dict], Iterator[dict]]:
    """Rows made so far, and the source of further ones."""
    return [], _shuffled(_triples(split, seed), Random(f"order-{split}-{seed}"))


def _shuffled(triples: Iterator[list[dict]], rng: Random) -> Iterator[dict]:
    """Rows in an order of which every prefix is balanced."""
    while True:
        columns = [list(column) for column in zip(*islice(triples, _BLOCK), strict=True)]
        for column in columns:
            rng.shuffle(column)
        for rows in zip(*columns, strict=True):
            yield from rng.sample(rows, 3)


def _triples(split: str, seed: int) -> Iterator[list[dict]]:
    """Three rows at a time: one hypothesis under each label."""
    rng = Random(f"captions-{split}-{seed}")
    drafts, wording, balance = Drafts(rng, split), Wording(rng), _Balance()
    used: set[str] = set()
    while True:
        asked = drafts.hypothesis()
        hypothesis = wording.write(asked)
        if hypothesis in used:
            continue
        chosen = balance.choose(_premises(drafts, wording, asked, hypothesis))
        if chosen is None:
            continue
        used.add(hypothesis)
        keys = (*COLUMNS, "premise_scene", "hypothesis_scene")
        yield [
            dict(zip(keys, (text, hypothesis, label, scene, asked), strict=True))
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
    groups: list[dict[tuple, list[tuple]]] = [{}, {}, {}]
    for label in (2, 1, 0):  # the rarest first, so that failures show early
        for _ in range(_SCENES):
            scene = drafts.premise(asked, label)
            for _ in range(_TEXTS if scene else 0):
                text = wording.write(scene)
                row = tokens(text)
                known = dict.fromkeys(row)  # not a set: sums must not follow the hash order
                if row != words:
                    key = len(row), sum([word not in known for word in words])
                    groups[label].setdefault(key, []).append((text, known, scene))
        if not groups[label]:
            return [{}, {}, {}]
    return groups


class _Balance:
    """Keeps each word of the premises equally common under the three labels."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}
        self._surplus: tuple[dict[str, float], ...] = ({}, {}, {})

    def choose(self, groups: list[dict[tuple, list[tuple]]]) -> list[tuple] | None:
        """One premise per label, all of one group, with the words that balance best."""
        ways = []
        for key in (key for key in groups[0] if key in groups[1] and key in groups[2]):
            costs = [
                min((self._cost(item[1], label), i) for i, item in enumerate(groups[label][key]))
                for label in range(3)
            ]
            chosen = [groups[label][key][i] for label, (_, i) in enumerate(costs)]
            ways.append((_sum(cost for cost, _ in costs), chosen))
        _, chosen = min(ways, key=itemgetter(0), default=(0, None))
        for label, (_, words, _) in enumerate(chosen or ()):
            self._add(words, label)
        return chosen

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


if __name__ == "__main__":
    for name in SIZES:
        lines = "".join(json.dumps(row) + "\n" for row in captions(name))
        path = ASSETS / f"captions-{name}.jsonl.gz"
        path.write_bytes(gzip.compress(lines.encode(), mtime=0))
