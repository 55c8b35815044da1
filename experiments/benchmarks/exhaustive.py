"""What trying every text costs: the search of `exact_robustness` against bare forward passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.experiment import Experiment, Report
from pidbook.evaluation.timing import ratio, seconds_of
from pidlib.attacks.synonyms import candidates
from pidlib.data.batches import batches
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.accuracy import scores
from pidlib.evaluation.exact import choices, verdict
from pidlib.models import load_model


@dataclass(frozen=True)
class ExhaustiveBenchmark(Experiment):
    """Captions with every text of their list tried, and the same texts in ready batches, turn about."""

    rows: int = 12
    most: int = 4
    cap: int = 2000
    rounds: int = 5
    model: str = "minilm-nli"

    name = "bench-exact"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Time both ways."""
        model, tokenizer = load_model(self.model)
        rows = [dict(row) for row in load_nli("captions", split="test", n=self.rows)]
        source = candidates("lexicon")
        lists = [choices(row["hypothesis"], source, self.most) for row in rows]
        asked: list[dict[str, Any]] = []

        def search() -> None:
            asked.clear()
            for row, of in zip(rows, lists, strict=True):

                def margins(texts: Sequence[str], row: dict = row) -> np.ndarray:
                    changed = [{**row, "hypothesis": text} for text in texts]
                    asked.extend(changed)
                    logits, label = scores(model, tokenizer, changed), row["label"]
                    return logits[:, label] - np.delete(logits, label, axis=1).max(1)

                verdict(of, margins, self.cap)

        search()
        ready = [batch.inputs for batch in batches(tokenizer, asked, 64)]

        def bare() -> None:
            with torch.inference_mode():
                for inputs in ready:
                    model(**inputs)

        taken = [[seconds_of(search), seconds_of(bare)] for _ in range(self.rounds)]
        cost, pace = ratio(*np.transpose(taken)), len(asked) / np.median(taken, axis=0)
        report(f"{len(asked)} texts, {pace[0]:.0f} a second, {cost} times bare forward passes")
        return {
            "data": {"name": "captions", "n": self.rows, "sha256": fingerprint(rows)},
            "model": {"name": self.model},
            "counts": {
                "texts": len(asked),
                "texts a second": {"search": pace[0], "bare": pace[1]},
                "ratio": cost._asdict(),
            },
        }
