"""Judge one rival on all sets; what is done is kept, set by set and row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.experiment import once, one_by_one
from experiments.rivals.answers import Rival, Rows, margins, right
from pidbook.evaluation.trial_results import pack, unpack
from pidlib.data.perturbations import Candidates
from pidlib.evaluation.exact import LEVELS, choices, searched

AGAIN = "all words, asked again"
SEARCHED = "searched"  # the rows whose hypotheses a beam changes


@dataclass(frozen=True)
class Judge:
    """Sets of rows, the list that a beam may use, and the folder where answers are kept."""

    sets: Mapping[str, Rows]
    source: Candidates
    most: int
    folder: Path

    def judged(
        self,
        name: str,
        rival: Rival,
        settings: Mapping[str, Any],
        again: Rival | None = None,
        guide: Rival | None = None,
    ) -> tuple[dict[str, np.ndarray], int]:
        """Right answers by set, and how many texts the beams asked.

        `again` is the rival with fresh draws, which gets the worst text of each beam; `guide` says
        in which order a beam asks.
        """
        bits = {}
        for key, rows in self.sets.items():
            if key != SEARCHED:
                path, compute = self.folder / f"{name} {key}.json", partial(right, rival, rows)
                stored = once(path, settings, lambda of=compute: {"right": pack(of())})
                bits[key] = unpack(stored["right"], len(rows))
        bits["contrast"] = ~bits["contrast"]  # they still say "entailment", which is now wrong
        lines = self._beams(name, rival, settings, again, guide)
        for k, level in enumerate(LEVELS):
            bits[level] = np.array([line[0][k] for line in lines])
        if again is not None:
            bits[AGAIN] = np.array([line[1] for line in lines])
        return bits, sum(line[2] for line in lines)

    def _beams(
        self,
        name: str,
        rival: Rival,
        settings: Mapping[str, Any],
        again: Rival | None,
        guide: Rival | None,
    ) -> list[list]:
        """Of each row: what held, by level, and under fresh draws, and how many texts were asked."""
        path, rows = self.folder / f"{name} {SEARCHED}.jsonl", self.sets[SEARCHED]

        def ask(row: Mapping[str, Any]) -> list:
            of = choices(row["hypothesis"], self.source, self.most)
            asked = partial(_margins, rival, row)
            if guide is None:
                found = searched(of, asked)
            else:
                found = searched(of, asked, partial(_margins, guide, row), first=4)
            worst = {**row, "hypothesis": found.worst}
            holds = found.clean and again is not None and bool(right(again, [worst])[0])
            return [list(found.held), holds, found.asked]

        return list(one_by_one(path, settings, rows, ask))


def _margins(rival: Rival, row: Mapping[str, Any], texts: Sequence[str]) -> np.ndarray:
    rows = [{**row, "hypothesis": text} for text in texts]
    return margins(rival.scores(rows), [row["label"]] * len(rows))
