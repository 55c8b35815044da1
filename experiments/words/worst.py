"""Recorded worst case: every text that any attack left against anybody, shown to each contender.

The result holds, for each contender and set, right answers and out of how many:

- `clean`; a recipe's name: right under every text that the recipe left against anybody, in any of
  the stored logs; `union`: under all of them;
- `own`: under the attacks that saw the contender itself, as the recorded trials counted them or,
  by recipe, as they ran here (`adaptive a2t`); `stock swarm`: under PSO at its stock size, too;
- `worst`: under all of that; a row that an attack did not take counts as withstanding it;
- `unseen words`, `unseen letters`: under every swap of a word for WordNet's that PPDB does not
  list, and of a letter for its full-width form, which nothing here was fitted to.
"""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from experiments.conditions import Condition
from experiments.experiment import Report, cached_json
from experiments.fields import answered
from experiments.words.contrast import Contenders, ContendersTrial
from experiments.words.exact import contender_record
from pidbook.evaluation.results import read_result
from pidbook.evaluation.trial_results import ADAPTIVE, answers, pack, unpack
from pidbook.evaluation.word_game import one_more_change
from pidlib.attacks import RECIPES, candidates
from pidlib.attacks.outcomes import Outcome, read_outcomes
from pidlib.data.edits import rebuild, row_hash, word_spans
from pidlib.data.nli import fingerprint, load_nli
from pidlib.data.perturbations import Candidates
from pidlib.evaluation.exact import choices, half_scores

Texts = list[list[dict[str, Any]]]  # for each row, what it becomes
SWARM = "stock swarm"


@dataclass(frozen=True)
class WorstTrial(ContendersTrial):
    """Contenders on the first rows of a data set, under whatever was found against anybody."""

    n: int = 500
    trials: tuple[str, ...] = ("wiener-snli-test-minilm-nli", "wiener-snli-test-minilm-nli-encoded")
    contenders: tuple[str, ...] = ("none", "P-D 99 %", "Terminal both")
    swarmed: tuple[str, ...] = ("none", "P-D 99 %", "Terminal both")  # attacked by PSO, stock size
    swarmed_n: int = 150
    swarm: tuple[int, int] = (60, 20)  # particles, rounds
    attacked: tuple[str, ...] = ()  # by all recipes, as no recorded trial did
    attacked_n: int = 300
    unseen_n: int = 200  # rows whose words and letters are swapped for unseen ones
    resources: str = "ppdb"
    most: int = 5
    stem = "worst"

    @property
    def parts(self) -> tuple[str, ...]:
        """Contenders that are attacked here; the attacks on each can be run by themselves."""
        return tuple(dict.fromkeys((*self.swarmed, *self.attacked)))

    def run(
        self, results: Path, runs: Path, report: Report, only: str | None = None
    ) -> dict[str, Any] | None:
        """Attack, gather the texts, ask every contender; or only the attacks on one of them."""
        rows = [dict(row) for row in load_nli(self.data, n=self.n)]
        contenders, outcomes = Contenders(self, runs, report), {}
        for name in (only,) if only else self.parts:
            condition = contenders.condition(name)
            attacks = {SWARM: self._swarm()} if name in self.swarmed else {}
            if name in self.attacked:
                attacks |= {recipe: self.resources for recipe in RECIPES}
            outcomes[name] = {
                key: self._attack(rows, condition, name, key, source, results, runs)
                for key, source in attacks.items()
            }
            report(f"{name}: { {k: int(_robust(of).sum()) for k, of in outcomes[name].items()} }")
        if only:
            return None
        sets = stored_texts(rows, sorted((results / "attacks").glob(f"{self.data}-*.jsonl")))
        sets |= self._unseen(rows[: self.unseen_n])
        right: dict[str, dict[str, np.ndarray]] = {}
        for name in self.contenders:
            folder = runs / self.name / "judged" / name
            right[name] = _judged(contenders.condition(name), rows, sets, folder)
            right[name]["union"] = np.all([right[name][recipe] for recipe in RECIPES], axis=0)
            right[name] |= self._own(name, results, outcomes.get(name, {}))
            right[name]["worst"] = _worst(right[name])
            report(f"{name}: { {key: int(bits.sum()) for key, bits in right[name].items()} }")
        return answered(self, rows, right) | {
            "texts": {
                key: {"all": sum(map(len, of)), "of a row": median(map(len, of))}
                for key, of in sets.items()
            },
            "queries": {
                name: {key: median(o.queries for o in of) for key, of in by.items()}
                for name, by in outcomes.items()
            },
        }

    def _swarm(self) -> Any:
        """Words of PSO, with its stock size."""
        source: Any = candidates(self.resources, "pso")
        source.name, source.swarm = "{} {} x {}".format(source.name, *self.swarm), self.swarm
        return source

    def _attack(
        self, rows: Sequence[dict], condition: Condition, name: str, key: str, source: Any,
        results: Path, runs: Path,
    ) -> list[Outcome]:  # fmt: skip
        """Outcomes of an attack that sees the contender: a recipe, or PSO at its stock size."""
        swarm, of = key == SWARM, f"{key} {name}".replace(" %", "").split()
        log = f"{self.data}-{self.model}-worst-{'-'.join(of)}.jsonl"
        outcomes = condition.attack(
            rows[: self.swarmed_n if swarm else self.attacked_n],
            recipe="pso" if swarm else key,
            resources=source,
            seed=self.seed,
            log=runs / log,
            data=self.data,
        )
        (results / "attacks").mkdir(exist_ok=True)
        shutil.copyfile(runs / log, results / "attacks" / log)  # the attack is whole
        return outcomes

    def _unseen(self, rows: Sequence[dict]) -> dict[str, Texts]:
        """Rows with a word swapped for WordNet's that PPDB does not list, or a letter for a wide one."""
        fresh = Unlisted(candidates(self.resources, "pso"), candidates(self.resources))
        words = [swaps(row, fresh, self.most) for row in rows]
        return {"unseen words": words, "unseen letters": list(map(_letters, rows))}

    def _own(
        self, name: str, results: Path, outcomes: Mapping[str, list[Outcome]]
    ) -> dict[str, np.ndarray]:
        """Right answers under the attacks that saw this contender."""
        stood = {
            key if key == SWARM else ADAPTIVE + key: _robust(of) for key, of in outcomes.items()
        }
        bits = [of for key, of in stood.items() if key != SWARM]
        for trial in self.trials:
            result = read_result(results / f"{trial}.json")
            if name in result["counts"]:
                start = "" if name == "none" else ADAPTIVE
                bits += [answers(result, name, start + recipe) for recipe in RECIPES]
        own = np.ones(self.n, bool)
        for of in bits:
            own[: len(of)] &= of[: self.n]
        return {"own": own} | stood


def _worst(right: Mapping[str, np.ndarray]) -> np.ndarray:
    """Right under the union and under all that saw the contender."""
    worst = right["union"] & right["own"]
    if SWARM in right:
        worst[: len(right[SWARM])] &= right[SWARM]
    return worst


def _robust(outcomes: Sequence[Outcome]) -> np.ndarray:
    return np.array([o.status == "failed" for o in outcomes])


class Unlisted:
    """Words of a source that another does not list."""

    def __init__(self, source: Candidates, listed: Candidates) -> None:
        self.source, self.listed = source, listed

    def synonyms(self, word: str) -> tuple[str, ...]:
        """The source's words, without the listed ones."""
        listed = set(self.listed.synonyms(word))
        return tuple(other for other in self.source.synonyms(word) if other not in listed)


def stored_texts(rows: Sequence[dict], logs: Iterable[Path]) -> dict[str, Texts]:
    """What each recipe left of each row, against anybody: every text once."""
    hashes = list(map(row_hash, rows))
    texts: dict[str, list[dict[str, dict]]] = {recipe: [{} for _ in rows] for recipe in RECIPES}
    for log in logs:
        file = read_outcomes(log)
        recipe = file.header["configuration"]["recipe"]
        for outcome in file.outcomes:
            k = outcome.id
            if k < len(rows) and outcome.row == hashes[k] and outcome.edits:
                row = rebuild(rows[k], outcome.edits)
                texts[recipe][k][f"{row['premise']}\n{row['hypothesis']}"] = row
    return {recipe: [list(of.values()) for of in per_row] for recipe, per_row in texts.items()}


def swaps(row: Mapping[str, Any], source: Any, most: int) -> list[dict[str, Any]]:
    """A row with each word of its hypothesis swapped, a word at a time, in every way of a list."""
    of = choices(row["hypothesis"], source, most)
    changed = one_more_change([(0,) * len(of.sizes)], of.sizes)
    return [{**row, "hypothesis": of.written(choice)} for choice in changed]


def _letters(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row with each letter inside its words in full width, a letter at a time."""
    text = row["hypothesis"]
    places = [k for a, b in word_spans(text) for k in range(a, b) if text[k].isascii()]
    wide = [(k, full_width(text[k])) for k in places if text[k].isalpha()]
    return [{**row, "hypothesis": text[:k] + letter + text[k + 1 :]} for k, letter in wide]


def full_width(letter: str) -> str:
    """The full-width form of an ASCII letter."""
    return unicodedata.lookup(f"FULLWIDTH {unicodedata.name(letter)}")


def _judged(
    condition: Condition, rows: Sequence[dict], sets: Mapping[str, Texts], folder: Path
) -> dict[str, np.ndarray]:
    """Whether a contender is right on each row and on all that a set makes of it; once a set."""
    right: dict[str, np.ndarray] = {}
    for key, texts in ({"clean": [[] for _ in rows]} | dict(sets)).items():
        whole = [[row, *of] for row, of in zip(rows, texts, strict=False)]  # a set may be shorter
        settings = contender_record(condition) | {"rows": fingerprint(sum(whole, []))}
        judge = partial(_right_on_all, condition, whole)
        right[key] = unpack(
            cached_json(folder / f"{key}.json", settings, judge)["right"], len(whole)
        )
    return right


def _right_on_all(condition: Condition, texts: Texts) -> dict[str, str]:
    """Whether the answers to all of a row's texts are right, packed."""
    flat = sum(texts, [])
    with condition.attached():
        logits = half_scores(condition.model, condition.tokenizer, flat)
    bits = iter(logits.argmax(1) == [row["label"] for row in flat])
    return {"right": pack(np.array([all([next(bits) for _ in of]) for of in texts]))}
