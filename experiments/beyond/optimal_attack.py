"""Recorded attacks by optimal control: searches at equal questions, and what foretells a fall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.adapters import adapter_model
from experiments.conditions import Condition
from experiments.experiment import Report, all_known, once, one_by_one
from experiments.words.contrast import Contenders, ContendersTrial
from pidbook.evaluation.results import configuration_hash, read_result
from pidbook.evaluation.trial_results import pack, unpack
from pidbook.evaluation.word_game import OBJECTIVES, SEARCHES, WordGame, search_words
from pidlib.attacks.attack import RECIPES, attack
from pidlib.attacks.synonyms import candidates
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.exact import choices

CONTENDERS = ("none", "P-D 99 %", "Terminal both")
TRUTH = "exact-snli-test-minilm-nli.json"
WIDTHS = [{"width": width, "asked": asked} for width in (1, 2) for asked in (4, 12)]
# settings among which the model without control chooses, on other rows
GRIDS: dict[str, list[dict[str, Any]]] = {
    "beam": [{"width": width} for width in (1, 3, 5)],
    "swarm": [{"size": size} for size in (2, 4, 8)],
    "gradient beam": WIDTHS,
    "running loss": WIDTHS,
    "relaxation": [
        {"steps": steps, "rate": rate, "temperature": heat}
        for steps in (4, 8) for rate in (3.0, 30.0) for heat in (0.5,)
    ],
}  # fmt: skip


@dataclass(frozen=True)
class OptimalAttackTrial(ContendersTrial):
    """Searches for words that turn an answer, each with as many questions, on each contender."""

    tuned_on: str = "snli-validation"
    after: int = 3000
    n: int = 200
    most: int = 5  # as in the exact trial
    tuned: int = 40
    budget: int = 48
    contenders: tuple[str, ...] = CONTENDERS
    searches: tuple[str, ...] = tuple(SEARCHES)
    recipes: tuple[str, ...] = RECIPES
    resources: str = "ppdb"
    stem = "optimal-attack"

    def __post_init__(self) -> None:
        all_known("contender", self.contenders, CONTENDERS)
        all_known("search", self.searches, SEARCHES)
        all_known("recipe", self.recipes, RECIPES)

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Choose settings, then play every row with every search and contender."""
        running = RunningAttacks(self, runs, report)
        tuning = running.tuning()
        games = {name: running.games(name) for name in self.contenders}
        rows, truth = running.rows, running.truth(results, games)
        return {
            "data": {"name": self.data, "n": len(rows), "sha256": fingerprint(rows)},
            "model": adapter_model(self.model),
            "candidates": candidates(self.resources).sha256,
            "selection": tuning,
            "truth": truth,
            "counts": {
                name: {"clean": sum(of["clean"] for of in played), "n": len(rows)}
                | {search: sum(of["clean"] and of[search] is None for of in played)
                   for search in self.searches}
                for name, played in games.items()
            },
            "recipes": running.recipes(),
            "examples": {
                name: {"clean": pack(np.array([of["clean"] for of in played]))}
                | {key: [of[key] for of in played] for key in (*self.searches, *MEASURES)}
                for name, played in games.items()
            },
        }  # fmt: skip


MEASURES = ("margin", "loss", "slope of the margin", "slope of the loss")


class RunningAttacks:
    """A trial under way."""

    def __init__(self, trial: OptimalAttackTrial, runs: Path, report: Report) -> None:
        self.trial, self.report, self.folder = trial, report, runs / trial.name
        self.contenders = Contenders(trial, runs, report)
        self.source = candidates(trial.resources)
        # fitted while nothing is attached
        self.loss = self.contenders.condition("P-D 99 %").control

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The first rows of the exact trial."""
        start, rows = self.trial.after, load_nli(self.trial.data)
        return rows.select(range(start, start + self.trial.n)).to_list()

    def truth(self, results: Path, games: Mapping[str, Sequence[Mapping]]) -> dict[str, Any]:
        """Rows right under every choice of all words, where known, of the recorded exact trial.

        The last word of a list hangs on cosines that are rounded, so it may be another on another
        machine: a row that a search turned here is no row that held.
        """
        trial, exact = self.trial, read_result(results / TRUTH)
        settings, kept = exact["configuration"], {}
        if settings["after"] != trial.after or settings["most"] != trial.most:
            raise ValueError(f"{TRUTH} has other rows or words: {settings}")
        for name in trial.contenders:
            held, unclear = (
                unpack(exact["examples"][name][key], settings["sizes"][name])[: trial.n]
                for key in ("exact, all words", "open")
            )
            turned = np.array(
                [any(of[s] is not None for s in trial.searches) for of in games[name]]
            )
            kept[name] = {
                "held": pack(held & ~turned),
                "open": pack(unclear & ~turned),
                "turned here": int((held & turned).sum()),
            }
        return kept

    def _game(self, condition: Condition, row: Mapping[str, Any]) -> WordGame:
        words = choices(row["hypothesis"], self.source, self.trial.most)
        of = condition.model, condition.tokenizer, row, words, self.loss
        return WordGame(*of, self.trial.budget)

    def _play(self, condition: Condition, row: Mapping[str, Any], search: str, **of: Any) -> Any:
        game = self._game(condition, row)
        return game, search_words(game, search, **of)

    def tuning(self) -> dict[str, list]:
        """Of each setting of each search: rows of other text that are left right."""
        trial = self.trial

        def tune() -> dict[str, Any]:
            condition, tried = self.contenders.condition("none"), {}
            rows = [dict(row) for row in load_nli(trial.tuned_on).select(range(trial.tuned))]
            for search, grid in GRIDS.items():
                if search not in trial.searches:
                    continue
                tried[search] = []
                for of in grid:
                    asked = [self._play(condition, row, search, **of)[1] for row in rows]
                    left = sum(a.fell is None for a in asked)
                    mean = float(
                        np.mean([trial.budget if a.fell is None else a.fell for a in asked])
                    )
                    tried[search].append({"setting": of, "left": left, "questions": round(mean, 2)})
                    self.report(f"{search} {of}: {left} left, {mean:.1f} questions")
            return {"tried": tried}

        about = {"grids": {k: v for k, v in GRIDS.items() if k in trial.searches},
                 "tuned": [trial.tuned_on, trial.tuned, trial.budget]}  # fmt: skip
        return once(self.folder / "tuning.json", about, tune)["tried"]

    def setting(self, search: str) -> dict[str, Any]:
        """The setting that leaves fewest rows, and of these asks least."""
        tried: Sequence[Mapping[str, Any]] = self.tuning().get(search, [])
        best = min(tried, key=lambda of: (of["left"], of["questions"]), default={"setting": {}})
        return dict(best["setting"])

    def games(self, name: str) -> list[dict[str, Any]]:
        """Every row's measures, and questions until each search turned the answer; kept by line."""
        trial, condition = self.trial, self.contenders.condition(name)
        path, played = self.folder / f"{name}.jsonl", []
        about = {"settings": {s: self.setting(s) for s in trial.searches}, "of": condition.summary,
                 "rows": fingerprint(self.rows), "trial": configuration_hash(trial.configuration)}  # fmt: skip
        with condition.attached():
            for of in one_by_one(path, about, self.rows, partial(self._played, condition)):
                played.append(of)
                if len(played) % 25 == 0:
                    left = {
                        s: sum(p["clean"] and p[s] is None for p in played) for s in trial.searches
                    }
                    self.report(f"{name}, {len(played)} rows: {left}")
        return played

    def recipes(self) -> dict[str, list]:
        """Each row's questions until a whole recipe, with its own words, turned it; None: never."""
        trial, condition, fell = self.trial, self.contenders.condition("none"), {}
        ids = list(range(trial.after, trial.after + trial.n))
        for recipe in trial.recipes:
            outcomes = attack(
                condition.model, condition.tokenizer, self.rows, recipe, trial.resources,
                trial.seed, ids=ids, data=trial.data, budget=trial.budget,
                about={"control": None}, log=self.folder / f"{recipe} none.jsonl",
            )  # fmt: skip
            fell[recipe] = [o.queries if o.status == "succeeded" else None for o in outcomes]
            left = sum(o.status == "failed" for o in outcomes)
            self.report(f"none, {recipe}: {left} of {len(outcomes)} left")
        return fell

    def _played(self, condition: Condition, row: Mapping[str, Any]) -> dict[str, Any]:
        game = self._game(condition, row)
        clean = search_words(game, "beam", width=1).fell != 1  # first it asks the text itself
        game = self._game(condition, row)
        values = {key: None for key in MEASURES}
        if clean and game.of.sizes:
            margin = -float(game.ask([game.none])[0])
            slopes = [max(game.slopes(game.none, of).values()) for of in OBJECTIVES]
            loss = float(game.ask([game.none], OBJECTIVES[1])[0])
            values = dict(zip(MEASURES, np.round([margin, loss, *slopes], 4).tolist(), strict=True))
        fell = {
            s: self._play(condition, row, s, **self.setting(s))[1].fell if clean else None
            for s in self.trial.searches
        }
        return {"clean": bool(clean)} | values | fell
