"""How a rival answers: logits of each row under one or more draws, made one answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import softmax

from pidlib.data.batches import recalled, texts
from pidlib.evaluation.accuracy import scores, under

Rows = Sequence[Mapping[str, Any]]
Draw = Callable[[Rows, int], np.ndarray]  # rows, how many draws: logits (N, draws, labels)
BATCH = 32
_TIE = 1e-3  # weight of the mean probability beside votes: it parts equal votes, and no others


@dataclass(frozen=True)
class Rival:
    """Something that answers rows as a model does.

    Attributes
    ----------
    summary : str, what it is and its setting
    draw : callable, of rows and a number: logits (N, number, labels); the draws of a text depend
        on the seed and the text alone
    draws : int, over which an answer is taken; 1 where nothing is random
    votes : bool, whether draws vote, or their probabilities are averaged
    """

    summary: str
    draw: Draw
    draws: int = 1
    votes: bool = False

    def scores(self, rows: Rows) -> np.ndarray:
        """Shares (N, labels) of the labels: the largest is the answer."""
        return combined(self.draw(rows, self.draws), self.votes)


def combined(logits: np.ndarray, votes: bool = False) -> np.ndarray:
    """Shares (N, labels) that draws of logits (N, draws, labels) give the labels."""
    mean = softmax(logits, -1).mean(1)
    if not votes:
        return mean
    cast = np.eye(logits.shape[-1])[logits.argmax(-1)].mean(1)
    return (cast + _TIE / logits.shape[1] * mean) / (1 + _TIE / logits.shape[1])


def margins(shares: np.ndarray, labels: Sequence[int]) -> np.ndarray:
    """Share of each row's label less the largest other one: the answer is right above 0."""
    rows, rest = np.arange(len(shares)), shares.copy()
    rest[rows, labels] = -np.inf
    return shares[rows, labels] - rest.max(1)


def right(rival: Rival, rows: Rows) -> np.ndarray:
    """Whether a rival answers each row rightly (N,)."""
    return margins(rival.scores(rows), [row["label"] for row in rows]) > 0


def plain(model: Any, tokenizer: Any, control: Any = None) -> Rival:
    """The model itself, or under a control, as a rival among rivals."""

    def draw(rows: Rows, draws: int) -> np.ndarray:
        with under(control, model):
            return scores(model, tokenizer, rows, BATCH)[:, None]

    return Rival("none", draw)


def random_words(
    model: Any,
    tokenizer: Any,
    change: Callable[[str, np.random.Generator], str],
    columns: Sequence[str],
    seed: int,
) -> Draw:
    """Draws that change the words of some columns at random; each text is answered once."""
    answer, memory = plain(model, tokenizer).draw, {}

    def draw(rows: Rows, draws: int) -> np.ndarray:
        wanted = []
        for row in rows:
            for k in range(draws):
                random = np.random.default_rng(seed_of(row, seed, k))
                changed = {c: change(row[c], random) for c in columns if c in row}
                wanted.append({**row, **changed})
        keys = [tuple(column[0] for column in texts([row]) if column) for row in wanted]
        row_of = dict(zip(keys, wanted, strict=True))

        def ask(new: list[tuple[str, ...]]) -> np.ndarray:
            return answer([row_of[key] for key in new], 1)[:, 0]

        return np.stack(recalled(memory, keys, ask)).reshape(len(rows), draws, -1)

    return draw


def seed_of(row: Mapping[str, Any], seed: int, k: int) -> int:
    """Seed of draw `k` of a text: the same whenever the text is asked."""
    words = "\n".join(column[0] for column in texts([row]) if column)
    return int.from_bytes(hashlib.sha256(f"{seed} {k}\n{words}".encode()).digest()[:8], "big")


def generator(row: Mapping[str, Any], seed: int, k: int) -> torch.Generator:
    """Source of random numbers of draw `k` of a text."""
    return torch.Generator().manual_seed(seed_of(row, seed, k) >> 1)
