"""Recorded exact robustness: every choice of words from a stated list, for each contender."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiments.adapters import adapter_model
from experiments.conditions import Condition
from experiments.experiment import Experiment, Report
from experiments.words.contrast import Contenders
from pidlib.attacks.attacker import weights_sha256
from pidlib.attacks.synonyms import candidates
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.exact import CANDIDATES, CAP, LEVELS, Verdict, exact_robustness
from pidlib.evaluation.trial_results import pack

SIZES = {"none": 1000, "P-D 99 %": 1000, "Terminal both": 500, "spelling": 300}
SEARCHES = ("exact", "greedy", "beam")


@dataclass(frozen=True)
class ExactTrial(Experiment):
    """One model and its contenders, each on the first so many of the rows after `after`."""

    data: str = "snli-test"
    model: str = "minilm-nli"
    after: int = 3000
    sizes: dict[str, int] = field(default_factory=lambda: SIZES)
    most: int = CANDIDATES
    cap: int = CAP
    resources: str = "ppdb"
    mix: str = "synonyms"  # as in the trial of contrasts
    rho: float = 2.0
    rate: float = 1e-3
    seed: int = 0

    @property
    def name(self) -> str:
        """Stem of the result file."""
        return f"exact-{self.data}-{self.model}"

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
        contenders, verdicts, about = Contenders(self, runs, report), {}, {}
        for name in self.parts if only is None else (only,):
            condition = contenders.condition(name)
            about[name] = _about(condition) | {"rows": fingerprint(rows[: self.sizes[name]])}
            path = runs / self.name / f"{name}.jsonl"
            settings = about[name] | {"most": self.most, "cap": self.cap}
            verdicts[name] = self._verdicts(condition, rows[: self.sizes[name]], path, settings)
            report(f"{name}: {_counts(verdicts[name])}")
        if only is not None:
            return None
        return {
            "data": {"name": self.data, "n": most, "sha256": fingerprint(rows)},
            "model": adapter_model(self.model),
            "candidates": candidates(self.resources).sha256,
            "contenders": about,
            "counts": {name: _counts(of) for name, of in verdicts.items()},
            "forwards": {
                name: dict(zip(SEARCHES, np.sum([v.forwards for v in of], 0).tolist(), strict=True))
                for name, of in verdicts.items()
            },
            "examples": {name: _packed(of) for name, of in verdicts.items()},
        }

    def _verdicts(
        self, condition: Condition, rows: Sequence[dict], path: Path, settings: dict[str, Any]
    ) -> list[Verdict]:
        """The verdict of each row; a line of a file each, after one of settings."""
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        if lines and json.loads(lines[0]) != settings:
            raise ValueError(f"{path.name} was made under other settings: remove it, or set them")
        verdicts = [_verdict(line) for line in lines[1:]]
        source, model = candidates(self.resources), condition.model
        with path.open("a", encoding="utf-8") as file, condition.attached():
            if not lines:
                file.write(json.dumps(settings) + "\n")
            for row in rows[len(verdicts) :]:
                answers = model, condition.tokenizer, row, source
                verdicts.append(exact_robustness(*answers, self.most, self.cap))
                file.write(json.dumps(verdicts[-1]) + "\n")
                file.flush()
        return verdicts


def _about(condition: Condition) -> dict[str, str]:
    return {
        "weights": weights_sha256(condition.model),
        "summary": condition.summary or "",
        "control": getattr(condition.control, "sha256", ""),
    }


def _verdict(line: str) -> Verdict:
    clean, *searches, texts, forwards = json.loads(line)
    return Verdict(clean, *map(tuple, searches), texts, tuple(forwards))


def _sets(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, np.ndarray]]:
    """Answers (N,) by name: clean, each search at each level, and where the truth is open."""
    yield "clean", np.array([v.clean for v in verdicts])
    for search in SEARCHES:
        for k, level in enumerate(LEVELS):
            yield f"{search}, {level}", np.array([getattr(v, search)[k] is True for v in verdicts])
    yield "open", np.array([v.exact[-1] is None for v in verdicts])


def _counts(verdicts: Sequence[Verdict]) -> dict[str, Mapping[str, int]]:
    n = len(verdicts)
    return {key: {"right": int(bits.sum()), "n": n} for key, bits in _sets(verdicts)}


def _packed(verdicts: Sequence[Verdict]) -> dict[str, str]:
    return {key: pack(bits) for key, bits in _sets(verdicts)}
