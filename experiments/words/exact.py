"""Recorded exact robustness: every choice of words from a stated list, for each contender."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.conditions import Condition
from experiments.experiment import Report, resumable_map
from experiments.fields import answered
from experiments.words.contrast import Contenders, ContendersTrial
from pidlib.attacks.attacker import victim_sha256
from pidlib.attacks.synonyms import candidates
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.exact import (
    CANDIDATES,
    CAP,
    LEVELS,
    RobustnessResult,
    choices,
    exact_letters,
    exact_robustness,
)

SIZES = {"none": 1000, "P-D 99 %": 1000, "Terminal both": 500, "spelling": 300}
LETTERS = "letters"  # the set of answers that are right under every slip of the keyboard
SEARCHES = ("exact", "greedy", "beam")


@dataclass(frozen=True)
class ExactTrial(ContendersTrial):
    """One model and its contenders, each on the first so many of the rows after `after`."""

    after: int = 3000
    sizes: dict[str, int] = field(default_factory=lambda: SIZES)
    most: int = CANDIDATES
    cap: int = CAP
    letters: int = 0  # rows, the first, that are asked under every slip of the keyboard
    half: bool = True  # bfloat16 first, full precision where a margin is small
    resources: str = "ppdb"
    label: str = ""  # end of the name, where sizes are of other contenders
    later = ("label",)
    stem = "exact"

    @property
    def parts(self) -> tuple[str, ...]:
        """The contenders; each can be run by itself."""
        return tuple(self.sizes)

    def run(
        self, results: Path, runs: Path, report: Report, only: str | None = None
    ) -> dict[str, Any] | None:
        """Try all texts of every contender's rows, or of one contender; row by row it goes on."""
        rows = load_nli(self.data)
        most = max(self.sizes.values())
        if len(rows) < self.after + most:
            raise ValueError(
                f"{self.data} has {len(rows)} rows; after = {self.after} and sizes up to {most} "
                f"need {self.after + most}"
            )
        rows = [dict(row) for row in rows.select(range(self.after, self.after + most))]
        contenders, verdicts, letters, described = Contenders(self, runs, report), {}, {}, {}
        source = candidates(self.resources)
        words = [choices(row["hypothesis"], source, self.most).words for row in rows]
        lists = hashlib.sha256(json.dumps(words).encode()).hexdigest()  # what may stand where
        lists_of = {"source": source, "most": self.most, "cap": self.cap}
        exact = partial(exact_robustness, half=self.half, **lists_of)
        slips = partial(exact_letters, half=self.half)
        for name in self.parts if only is None else (only,):
            condition, part = contenders.condition(name), rows[: self.sizes[name]]
            described[name] = contender_record(condition) | {"rows": fingerprint(part)}
            settings = described[name] | {
                "most": self.most,
                "cap": self.cap,
                "lists": lists,
                "half": self.half,
            }
            folder = runs / self.name
            lines = _kept(exact, condition, part, folder / f"{name}.jsonl", settings)
            verdicts[name] = list(map(_verdict, lines))
            report(f"{name}: { {key: int(of.sum()) for key, of in _sets(verdicts[name])} }")
            part = part[: self.letters]
            settings = described[name] | {"rows": fingerprint(part), "half": self.half}
            path = folder / f"{name} {LETTERS}.jsonl"
            letters[name] = np.array(_kept(slips, condition, part, path, settings), bool)
            report(f"{name}: {letters[name].sum()} of {len(part)} under every slip")
        if only is not None:
            return None
        sets = {name: dict(_sets(of)) for name, of in verdicts.items()}
        for name, bits in letters.items() if self.letters else ():
            sets[name][LETTERS] = bits
        return answered(self, rows, sets) | {
            "candidates": source.sha256,
            "lists": lists,
            "contenders": described,
            "forwards": {
                name: dict(zip(SEARCHES, np.sum([v.forwards for v in of], 0).tolist(), strict=True))
                for name, of in verdicts.items()
            },
        }


def _kept(
    ask: Callable[..., Any], of: Condition, rows: Sequence[dict], path: Path, settings: Mapping
) -> list[Any]:
    """What is asked of each row; a line of a file each, after one of settings."""
    with of.attached():
        return list(
            resumable_map(path, settings, rows, lambda row: ask(of.model, of.tokenizer, row))
        )


def contender_record(condition: Condition) -> dict[str, str]:
    """What tells a contender from another in a log."""
    return {
        "weights": victim_sha256(condition.model),
        "summary": condition.summary or "",
        "control": getattr(condition.control, "sha256", ""),
    }


def _verdict(line: Sequence[Any]) -> RobustnessResult:
    clean, *searches, texts, forwards = line
    return RobustnessResult(clean, *map(tuple, searches), texts, tuple(forwards))


def _sets(verdicts: Sequence[RobustnessResult]) -> Iterator[tuple[str, np.ndarray]]:
    """Answers (N,) by name: clean, each search at each level, and where the truth is open."""
    yield "clean", np.array([v.clean for v in verdicts])
    for search in SEARCHES:
        for k, level in enumerate(LEVELS):
            yield f"{search}, {level}", np.array([getattr(v, search)[k] is True for v in verdicts])
    yield "open", np.array([v.exact[-1] is None for v in verdicts])
