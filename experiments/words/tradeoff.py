"""Recorded measurement of how far a linear map can tell synonyms from changes of meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from experiments.adapters import adapter_model
from experiments.experiment import Report, TextExperiment
from experiments.fields import counted
from pidbook.evaluation.contrast import RESULT, Contrast, edits_of
from pidbook.evaluation.contrast_rows import before, edited
from pidbook.evaluation.results import read_result
from pidlib.attacks.synonyms import candidates
from pidlib.data.batches import batches
from pidlib.data.edits import Edit, rebuild, word_spans
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.accuracy import right_answers
from pidlib.hooks import read_states
from pidlib.models import load_model
from pidlib.theory.wiener import invariance_tradeoff, shrunk, wiener_map

SPLITS = ("itself", "rows", "words")  # tested on all that was fitted, on other rows, on other words


class Swaps(NamedTuple):
    """Pairs of sentences, the same with a synonym, and with another meaning; and the word."""

    clean: list[dict[str, Any]]
    synonym: list[dict[str, Any]]
    contrast: list[dict[str, Any]]
    words: list[str]


@dataclass(frozen=True)
class TradeoffTrial(TextExperiment):
    """Best linear maps, fitted on half of the swaps and tested on the rest, in several splits."""

    resources: str = "ppdb"
    most: int = 8
    weights: tuple[float, ...] = tuple(float(w) for w in 10.0 ** np.arange(-2, 2.01, 0.25).round(2))
    draws: int = 5
    seed: int = 0
    stem, split = "tradeoff", False

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Read the states of all swaps; for each split and state, the frontier."""
        model, tokenizer = load_model(self.model)
        rows = [dict(row) for row in load_nli(self.data)]
        contrast = read_result(results / RESULT)
        swaps = self._swaps(rows, edits_of(contrast), tokenizer)
        report(f"{len(swaps.clean)} swaps of {len(set(swaps.words))} words")
        right = {
            key: right_answers(model, tokenizer, part)
            for key, part in zip(Swaps._fields, swaps[:3], strict=False)
        }
        right["contrast"] = ~right["contrast"]  # their rows still say "entailment"
        states = [_states(model, tokenizer, part) for part in swaps[:3]]
        frontiers, sizes = {}, {}
        for split in SPLITS:
            halves = [self._halves(split, swaps, k) for k in range(self.draws)]
            halves = halves[:1] if split == "itself" else halves
            sizes[split] = [[int(half.sum()) for half in pair] for pair in halves]
            frontiers[split] = [self._frontiers(states, *pair) for pair in halves]
            for lines in frontiers[split]:
                report(f"{split}: {[round(min(map(sum, line)), 2) for line in lines]}")
        return {
            "data": {"name": self.data, "n": len(swaps.clean), "sha256": fingerprint(swaps.clean)},
            "model": adapter_model(self.model),
            "candidates": candidates(self.resources).sha256,
            "edits": contrast["content_sha256"],
            "counts": counted({"none": right}),
            "words": len(set(swaps.words)),
            "sizes": sizes,
            "frontiers": frontiers,
        }

    def _swaps(self, rows: Sequence[dict], edits: Sequence[Contrast], tokenizer: Any) -> Swaps:
        """Swaps of a token for a token: one synonym and one contrast of the same word each."""
        source, random = candidates(self.resources), np.random.default_rng(self.seed)
        swaps = Swaps([], [], [], [])
        for clean, turned, edit in zip(
            before(rows, edits), edited(rows, edits), edits, strict=True
        ):
            a, b = word_spans(clean["hypothesis"])[edit.word]
            word = clean["hypothesis"][a:b]
            near = [
                rebuild(clean, [Edit("hypothesis", edit.word, _cased(other, word))])
                for other in source.synonyms(word.lower())[: self.most]
            ]
            near = [row for row in near if _length(tokenizer, row) == _length(tokenizer, clean)]
            if not near or _length(tokenizer, turned) != _length(tokenizer, clean):
                continue
            swaps.clean.append(clean)
            swaps.synonym.append(near[int(random.integers(len(near)))])
            swaps.contrast.append(turned)
            swaps.words.append(word.lower())
        return swaps

    def _halves(self, split: str, swaps: Swaps, draw: int) -> tuple[np.ndarray, np.ndarray]:
        """Which swaps the maps are fitted on, and tested on: half of them, or of the words."""
        random, n = np.random.default_rng([self.seed, draw]), len(swaps.clean)
        if split == "itself":
            return np.ones(n, bool), np.ones(n, bool)
        if split == "rows":
            fitted = random.permutation(n) < n // 2
        else:
            names, place = np.unique(swaps.words, return_inverse=True)
            counts, order = np.bincount(place), random.permutation(len(names))
            fitted = np.isin(place, order[np.cumsum(counts[order]) <= n // 2])
        return fitted, ~fitted

    def _frontiers(
        self, states: Sequence[Sequence[np.ndarray]], fitted: np.ndarray, tested: np.ndarray
    ) -> list:
        """By state: for each weight the share of a synonym's length left, and of a contrast's lost."""
        lines = []
        for t in range(states[0][0].shape[0]):
            moments = []
            for part in states[1:]:
                steps = [moved[t] - clean[t] for clean, moved in zip(states[0], part, strict=True)]
                for chosen in (fitted, tested):
                    rows = np.concatenate([s for s, use in zip(steps, chosen, strict=True) if use])
                    moments.append((rows.T @ rows / len(rows), len(rows)))
            (alike, n), (alike_test, _), (other, m), (other_test, _) = moments
            alike, other = (shrunk(s, k) / np.trace(s) for s, k in ((alike, n), (other, m)))
            maps = [wiener_map(alike, other, weight).A for weight in self.weights]
            pairs = (invariance_tradeoff(A, alike_test, other_test) for A in maps)
            lines.append([[round(share, 4) for share in pair] for pair in pairs])
        return lines


def _states(model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]]) -> list[np.ndarray]:
    """States (T + 1, L, d) of the real tokens of each row."""
    states: dict[int, np.ndarray] = {}
    with torch.no_grad():
        for batch in batches(tokenizer, rows, 64):
            values = torch.stack(read_states(model, batch.inputs).values, 1).double()
            real = batch.inputs["attention_mask"].bool()
            for k, x, mask in zip(batch.indices, values, real, strict=True):
                states[int(k)] = x[:, mask].numpy()
    return [states[k] for k in range(len(rows))]


def _length(tokenizer: Any, row: Mapping[str, Any]) -> int:
    return len(tokenizer(row["premise"], row["hypothesis"])["input_ids"])


def _cased(word: str, like: str) -> str:
    return word.capitalize() if like[:1].isupper() else word
