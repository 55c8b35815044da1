"""Recorded check of labels: what another model says of attacked texts, and how like they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.adapters import adapter_model
from experiments.experiment import Report, TextExperiment, once
from experiments.fields import answered
from pidbook.evaluation.contrast import RESULT, edits_of
from pidbook.evaluation.contrast_rows import before, edited
from pidbook.evaluation.results import read_result
from pidbook.evaluation.trial_results import pack, unpack
from pidlib.attacks import RECIPES, candidates
from pidlib.attacks.outcomes import read_outcomes, transfer_rows
from pidlib.data.batches import batches
from pidlib.data.edits import Edit, rebuild, word_spans
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.accuracy import right_answers
from pidlib.evaluation.exact import choices
from pidlib.io.embedded import MPNET
from pidlib.models import base_classifier, load_model

BEFORE, CHANGED, RANDOM = "before", "edited", "random swap"


@dataclass(frozen=True)
class ValidityTrial(TextExperiment):
    """Texts that attacks left, judged by a model that none of them attacked."""

    judge: str = "mpnet-nli"
    contenders: tuple[str, ...] = ("none", "P-D 99 %", "Terminal both")
    recipes: tuple[str, ...] = RECIPES
    n: int = 300
    contrasts: int = 400
    resources: str = "ppdb"
    most: int = 5
    seed: int = 0
    stem = "validity"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Judge the clean texts, the attacked ones, and those whose label is known."""
        rows = [dict(row) for row in load_nli(self.data)]
        sets, stopped = self._sets(rows, results)
        sums = {key: fingerprint(after) for key, (_, after) in sets.items()}
        right, alike = {}, {}
        judge, encoder = load_model(self.judge), base_classifier(base=MPNET)
        for key, (first, after) in sets.items():
            path = runs / self.name / f"{key.replace(':', ',')}.json"

            def judged(first: Any = first, after: Any = after) -> dict[str, Any]:
                cosines = similarity(encoder, first, after).round(3).tolist()
                return {"right": pack(right_answers(*judge, after)), "similarity": cosines}

            stored = once(path, {"rows": sums[key], "judge": self.judge}, judged)
            right[key] = unpack(stored["right"], len(after))
            alike[key] = stored["similarity"]
            report(f"{key}: {int(right[key].sum())} of {len(after)}, {np.mean(alike[key]):.2f}")
        answers = {"judge": right, "succeeded": stopped}
        return answered(self, sets["clean"][1], answers, sets=sums) | {
            "judge": adapter_model(self.judge),
            "encoder": {"name": MPNET.name, "sha256": MPNET.sha256},
            "similarity": alike,
        }

    def _sets(
        self, rows: Sequence[dict], results: Path
    ) -> tuple[dict[str, tuple[list, list]], dict[str, np.ndarray]]:
        """Rows before and after a change, by name; and which attacks turned the answer."""
        first, stopped = list(rows[: self.n]), {}
        sets: dict[str, tuple[list, list]] = {"clean": (first, first)}
        sets[RANDOM] = (first, self._swapped(first))
        edits = edits_of(read_result(results / RESULT))
        edits = edits[:: max(1, len(edits) // self.contrasts)][: self.contrasts]
        entailed = before(rows, edits)
        sets |= {BEFORE: (entailed, entailed), CHANGED: (entailed, edited(rows, edits))}
        for name in self.contenders:
            for recipe in self.recipes:
                outcomes = read_outcomes(self._log(results, name, recipe)).outcomes
                outcomes = sorted(outcomes, key=lambda o: o.id)[: self.n]
                sets[f"{name}: {recipe}"] = (first, transfer_rows(rows, outcomes))
                stopped[f"{name}: {recipe}"] = np.array([o.status == "succeeded" for o in outcomes])
        return sets, stopped

    def _log(self, results: Path, name: str, recipe: str) -> Path:
        """Outcomes of a recipe that saw a contender."""
        seen = "" if name == "none" else "adaptive-"
        of = "" if name == "none" else "-" + name.replace(" %", "").replace(" ", "-")
        return results / "attacks" / f"{self.data}-{self.model}-{seen}{recipe}{of}.jsonl"

    def _swapped(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Each row with one word swapped at random, as the list allows; no model is asked."""
        source, random, swapped = candidates(self.resources), np.random.default_rng(self.seed), []
        for row in rows:
            of = choices(row["hypothesis"], source, self.most)
            edits = []
            if of.spans:
                k = int(random.integers(len(of.spans)))
                word = word_spans(row["hypothesis"]).index(of.spans[k])
                edits = [Edit("hypothesis", word, str(random.choice(of.words[k][1:])))]
            swapped.append(rebuild(row, edits))
        return swapped


def similarity(encoder: Any, first: Sequence[Mapping], after: Sequence[Mapping]) -> np.ndarray:
    """Cosines (N,) of two rows' hypotheses, each the mean of its tokens' last states."""
    vectors = []
    for rows in (first, after):
        texts = [{"text": row["hypothesis"]} for row in rows]
        pooled = torch.empty(len(texts), encoder.model.config.hidden_size)
        with torch.inference_mode():
            for batch in batches(encoder.tokenizer, texts, 64):
                states = encoder.model.base_model(**batch.inputs).last_hidden_state
                mask = batch.inputs["attention_mask"][..., None]
                pooled[batch.indices] = (states * mask).sum(1) / mask.sum(1)
        vectors.append(torch.nn.functional.normalize(pooled, dim=1))
    return (vectors[0] * vectors[1]).sum(1).numpy()
