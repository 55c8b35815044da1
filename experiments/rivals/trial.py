"""Recorded trial of the rivals: chosen on held-out rows, judged beside the model without any.

The result holds

- `search`: for each rival every setting tried on held-out rows, right answers to clean and to
  randomly swapped text, the same for no rival, the setting chosen, and whether it passes the rule;
- `counts`, `examples`: right answers by contender and set, out of how many, and packed. A stochastic rival stands there twice, over so many draws
  and over one ("AdvFooler x16", "AdvFooler x1"). Sets: clean, contrast (one word turned the
  meaning), transfer (texts that TextFooler made without rival), then a beam inside the list:
  one word (exact), two words, all words; and "asked again": the worst text of that beam, under
  fresh draws. `asked` counts the texts that the beams had answered, each over all draws;
- `detection`: area under the curve by recipe and detector, its interval, and how many texts fooled
  the model; the innovations on the same texts stand in the recorded trial of the estimates;
- `certificates`: q and what is certified on candidate lists and on groups that share no word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.adapters import adapter_model
from experiments.experiment import Report, TextExperiment, all_known, once
from experiments.fields import answered
from experiments.rivals.answers import Rival, plain, right
from experiments.rivals.certified import group_choices, list_shifts, smoothed_verdicts
from experiments.rivals.denoising import Density, FirstStates
from experiments.rivals.encoding import encoding_of
from experiments.rivals.families import COSTLY, DRAWN, GRIDS, Families
from experiments.rivals.judging import Judge
from experiments.rows import held_rows
from experiments.words.contrast import Contenders, ContrastTrial
from pidbook.estimation.detection import auroc
from pidbook.evaluation.contrast import Contrast
from pidbook.evaluation.contrast_rows import contrasts, edited
from pidbook.evaluation.trial_results import pack, stored_rows, unpack
from pidlib.attacks.synonyms import candidates
from pidlib.attacks.wordnet import WordNet
from pidlib.data.nli import fingerprint, load_nli
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.evaluation.exact import choices

ALLOWED = 0.01  # of the clean answers that a setting may lose
FIXED_ROWS = {"clean": 500, "contrast": 500, "transfer": 300, "searched": 120}
DRAWN_ROWS = {"clean": 200, "contrast": 200, "transfer": 100, "searched": 40}
CONTROLS = ("P-D 99 %", "Terminal both")


@dataclass(frozen=True)
class RivalsTrial(TextExperiment):
    """Rivals of a control on one model, each at its best setting on held-out rows."""

    after: int = 3000
    rivals: tuple[str, ...] = tuple(GRIDS)
    learnt_on: int = 2000  # clean rows: of the denoiser, the density, and the counts of words
    held: int = 200
    draws: int = 16
    search_draws: int = 4
    fixed: dict[str, int] = field(default_factory=lambda: FIXED_ROWS)
    drawn: dict[str, int] = field(default_factory=lambda: DRAWN_ROWS)
    enlarged: int = 0  # rows searched without rival and for encodings; as the others if 0
    recipe: str = "textfooler"  # whose texts are transferred
    detected: tuple[str, ...] = ("textfooler", "textbugger", "a2t", "pso")
    fooled: int = 1000  # texts of each recipe, at most
    certified: int = 60
    lists: int = 200  # rows whose q on lists is taken
    groups: str = "ppdb 2"
    controls: tuple[str, ...] = CONTROLS
    most: int = 5
    resources: str = "ppdb"
    half: bool = True  # bfloat16, for all alike
    seed: int = 0
    stem = "rivals"

    def __post_init__(self) -> None:
        all_known("rival", self.rivals, GRIDS)

    @property
    def parts(self) -> tuple[str, ...]:
        """What can be run by itself."""
        return ("none", *self.rivals, "detection", "certificates")

    def run(
        self, results: Path, runs: Path, report: Report, only: str | None = None
    ) -> dict[str, Any] | None:
        """Choose and judge every rival, then the detectors and the certificates; or one of them."""
        running = RunningRivals(self, results, runs, report)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.half):
            if only == "detection":
                return running.detection() and None
            if only == "certificates":
                return running.certificates() and None
            if only is not None:
                return running.judged(only) and None
            return running.fields()


class RunningRivals:
    """A trial of rivals under way; finished parts are kept in `runs`."""

    def __init__(self, trial: RivalsTrial, results: Path, runs: Path, report: Report) -> None:
        self.trial, self.results, self.runs = trial, results, runs / trial.name
        self.report, self.all_runs = report, runs
        settings = trial.resources, trial.learnt_on, trial.seed
        self.families = Families(trial.data, trial.model, *settings)
        self.source = candidates(trial.resources)
        split = "test" if trial.data == "captions" else None
        self.rows = [dict(row) for row in load_nli(trial.data, split)]

    def fields(self) -> dict[str, Any]:
        """All that the result file holds."""
        trial, right, asked = self.trial, {}, {}
        judged = {"none": self.judged("none")}
        for name in trial.rivals:
            judged[name] = self.judged(name)
        for of in judged.values():
            for name, bits in of["right"].items():
                right[name] = {key: unpack(*packed_bits) for key, packed_bits in bits.items()}
                asked[name] = of["asked"][name]
        return answered(trial, self.rows[trial.after :], right) | {
            "candidates": self.source.sha256,
            "search": {name: self.search(name) for name in trial.rivals},
            "contenders": {n: of["summary"] for n, of in judged.items()},
            "asked": asked,
            "detection": self.detection(),
            "certificates": self.certificates(),
        }

    def search(self, family: str) -> dict[str, Any]:
        """Settings of one rival on held-out rows, and the one chosen."""
        trial = self.trial
        held = [dict(row) for row in held_rows(trial.data)][: trial.held]
        edits = RandomEdits("synonyms", source=self.source)
        swapped = [row for row, _ in perturbed_rows(held, edits, trial.seed)]
        draws = trial.search_draws if family in DRAWN else 1
        settings = self._settings(family) | {
            "held": [fingerprint(held), fingerprint(swapped)],
            "draws": draws,
        }

        def counts(rival: Rival) -> dict[str, int]:
            return {
                "clean": int(right(rival, held).sum()),
                "swapped": int(right(rival, swapped).sum()),
            }

        def choose() -> dict[str, Any]:
            none, tried = counts(self.families.bare), []
            for setting in GRIDS[family]:
                rival = replace(self.families.rival(family, setting), draws=draws)
                tried.append({"setting": setting} | counts(rival))
                self.report(f"{family} {setting}: {tried[-1]}, none {none}")
            return {"n": len(held), "none": none, "tried": tried} | chosen(tried, none, len(held))

        path = self.runs / "search" / f"{family}.json"
        stored = once(path, settings, choose)
        if [of["setting"] for of in stored["tried"]] != list(GRIDS[family]):
            raise ValueError(f"{path.name} was made with another grid: remove it")
        return {key: stored[key] for key in ("n", "none", "tried", "chosen", "passes")} | {
            "draws": draws
        }

    def judged(self, family: str) -> dict[str, Any]:
        """Right answers of one rival at its setting, over many draws and over one."""
        trial = self.trial
        sizes = dict(trial.drawn if family in COSTLY else trial.fixed)
        if trial.enlarged and (family == "none" or family.endswith("encoding")):
            sizes["searched"] = trial.enlarged
        setting = None if family == "none" else self.search(family)["chosen"]
        sets = self._sets(sizes)
        settings = self._settings(family) | {
            "chosen": setting,
            "sets": {key: fingerprint(rows) for key, rows in sets.items()},
            "draws": trial.draws,
        }

        def compute() -> dict[str, Any]:
            if family == "none":
                rival = again = self.families.bare
            else:
                rival, again = (self.families.rival(family, setting, more) for more in (0, 1))
            out: dict[str, Any] = {"summary": rival.summary, "right": {}, "asked": {}}
            for draws in (trial.draws, 1) if family in DRAWN else (0,):
                name = f"{family} x{draws}" if draws else family
                draws = draws or 1
                judge = Judge(sets, self.source, trial.most, self.runs / "judged" / "parts")
                bits, out["asked"][name] = judge.judged(
                    name,
                    replace(rival, draws=draws),
                    settings,
                    replace(again, draws=draws) if family in DRAWN else None,
                    self.families.bare if family in DRAWN else None,
                )
                out["right"][name] = {key: [pack(b), len(b)] for key, b in bits.items()}
                self.report(f"{name}: { {k: f'{b.sum()}/{len(b)}' for k, b in bits.items()} }")
            return out

        return once(self.runs / "judged" / f"{family}.json", settings, compute)

    def _sets(self, sizes: Mapping[str, int]) -> dict[str, list[dict]]:
        """Rows to judge; smaller sets are the first rows of larger ones."""
        trial, rows = self.trial, self.rows
        edits = self._contrasts
        order = np.random.default_rng(trial.seed).permutation(len(edits))[: sizes["contrast"]]
        attacked = self._attacked(trial.recipe)
        return {
            "clean": rows[trial.after :][: sizes["clean"]],
            "contrast": edited(rows, [edits[k] for k in order]),
            "transfer": attacked[: sizes["transfer"]],
            "searched": rows[trial.after :][: sizes["searched"]],
        }

    def _attacked(self, recipe: str) -> list[dict]:
        trial = self.trial
        return stored_rows(self.rows, trial.data, recipe, self.results, trial.model)

    @cached_property
    def _contrasts(self) -> list[Contrast]:
        trial = self.trial
        judged = range(trial.after, len(self.rows))
        return contrasts(self.rows, judged, _wordnet(), trial.seed)

    def detection(self) -> dict[str, Any]:
        """Detectors by recipe: area, its interval, texts that fooled the model."""
        trial, families = self.trial, self.families
        settings = self._settings("detection") | {
            "of": [list(trial.detected), trial.fooled, fingerprint(families.learnt_on)]
        }

        @torch.autocast("cpu", enabled=False)  # as the innovations on these texts were recorded
        def detect() -> dict[str, Any]:
            states = FirstStates(families.model, families.tokenizer)
            learnt = states, families.learnt_on
            scores = {
                "density, robust": Density(*learnt, 30, True, trial.seed).score,
                "density, shrunk": Density(*learnt, 100, False, trial.seed).score,
                "doubt": states.doubt,
            }
            areas: dict[str, Any] = {}
            for recipe in trial.detected:
                rows = self._attacked(recipe)
                fooled = [row for row in rows if row["kind"] == "succeeded"][: trial.fooled]
                clean = [self.rows[row["id"]] for row in fooled]
                areas[recipe] = {
                    name: [*auroc(score(clean), score(fooled), seed=trial.seed), len(fooled)]
                    for name, score in scores.items()
                }
                self.report(f"{recipe}: {areas[recipe]}")
            return {"areas": areas}

        return once(self.runs / "detection.json", settings, detect)["areas"]

    def certificates(self) -> dict[str, Any]:
        """SAFER's certificate on candidate lists and on groups."""
        trial, families = self.trial, self.families
        rows = self.rows[trial.after :][: trial.lists]
        settings = self._settings("certificates") | {
            "of": [trial.certified, trial.groups, list(trial.controls), fingerprint(rows)]
        }

        def certify() -> dict[str, Any]:
            one, every = list_shifts(rows, self.source, trial.most)
            few = rows[: trial.certified]
            encoding = encoding_of(trial.groups, families.learnt_on, trial.resources)
            groups = encoding.groups()
            by_word = {word: of for of in groups.values() if len(of) > 1 for word in of}
            model, models = (families.model, families.tokenizer), {"none": families.bare}
            models |= {name: plain(*model, self._control(name)) for name in trial.controls}
            lists = partial(choices, source=self.source, most=trial.most)
            in_groups = partial(group_choices, groups=by_word)
            out: dict[str, Any] = {"lists": {"n": len(rows)}}
            for key, shifts in (("one word", one), ("all words", every)):
                low = np.flatnonzero(shifts < 0.5)  # else no margin is wide enough
                some = [rows[k] for k in low]
                bits = smoothed_verdicts(families.bare.scores, some, lists, shifts[low], trial.seed)
                out["lists"][key] = {
                    "q": [round(float(q), 4) for q in np.percentile(shifts, [10, 50, 90])],
                    "below a half": len(low),
                    "certified": int(bits["certified"].sum()),
                }
            out["groups"] = {"n": len(few), "words": len(by_word)}
            for name, rival in models.items():
                nothing = np.zeros(len(few))
                bits = smoothed_verdicts(rival.scores, few, in_groups, nothing, trial.seed)
                counts = {key: int(b.sum()) for key, b in bits.items()}
                packs = {key: pack(b) for key, b in bits.items()}
                out["groups"][name] = {"counts": counts, "examples": packs}
                self.report(f"groups, {name}: {counts}")
            return out

        stored = once(self.runs / "certificates.json", settings, certify)
        return {key: stored[key] for key in ("lists", "groups")}

    def _control(self, name: str) -> Any:
        trial = ContrastTrial(self.trial.data, self.trial.model)
        with torch.autocast("cpu", enabled=False):  # a fit has its own arithmetic
            return Contenders(trial, self.all_runs, self.report).condition(name).control

    def _settings(self, what: str) -> dict[str, Any]:
        trial = self.trial
        return {
            "what": what,
            "model": adapter_model(trial.model)["sha256"],
            "source": [self.source.sha256, trial.most],
            "half": trial.half,
            "seed": trial.seed,
        }


def chosen(tried: Sequence[Mapping], none: Mapping[str, int], n: int) -> dict[str, Any]:
    """The setting that is taken: most right under swaps of those that lose little on clean text.

    If each loses more than `ALLOWED`, the one that loses least, which then does not pass.
    """
    passing = [s for s in tried if none["clean"] - s["clean"] <= ALLOWED * n]
    if passing:
        best = max(passing, key=lambda s: (s["swapped"], s["clean"]))
    else:
        best = max(tried, key=lambda s: (s["clean"], s["swapped"]))
    return {"chosen": best["setting"], "passes": bool(passing)}


def _wordnet() -> WordNet | None:
    try:
        return WordNet()
    except FileNotFoundError:
        return None
