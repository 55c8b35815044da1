"""Recorded search for a control that gains under every swap and still hears a change of meaning.

Along each path one number grows: the strength of a control, its rank, the states that it reaches,
the share of its fit's rows in which a word turned the meaning, or how readily a gate lets it act.
Everything is judged on the same rows: as written, under every swap of one word, on pairs whose
meaning one word turned, and on pairs that people rewrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.special import softmax

from experiments.adapters import adapter_record
from experiments.conditions import COUNTED
from experiments.encoding import BOTH, encoding_of
from experiments.experiment import Report
from experiments.fields import answered
from experiments.rows import fit_rows
from experiments.words.contrast import COUNTERFACTUAL, Contenders, ContendersTrial
from experiments.words.worst import swaps
from pidbook.estimation import NormalisedTokenizer, word_counts
from pidbook.estimation.selection import RHOS
from pidbook.evaluation.contrast import RESULT, edits_of
from pidbook.evaluation.contrast_rows import ENTAILED, contrast_pairs, edited
from pidbook.evaluation.results import configuration_hash, read_result
from pidlib.attacks.synonyms import candidates, words_for
from pidlib.attacks.wordnet import WordNet
from pidlib.data.edits import word_spans
from pidlib.data.nli import fingerprint, load_nli
from pidlib.data.perturbations import RandomEdits
from pidlib.estimation.estimator import TERMINAL, Estimator
from pidlib.evaluation.exact import half_scores
from pidlib.io.files import write_tensors

SWAPS = "swaps"
FITTED = ("taught", "fitted states", "closed form")
TEXTS = 6000  # rows whose words say what is rare
Gate = Callable[[Sequence[Mapping], np.ndarray, np.ndarray], np.ndarray]


class Setting(NamedTuple):
    """A point of a path: what is attached to the model, and what stands before it."""

    control: Any = None
    push: Callable | None = None  # in place of the control's own, as `attached` takes it
    before: Callable[[str], str] | None = None


@dataclass(frozen=True)
class FrontierTrial(ContendersTrial):
    """Paths of controls on one model, each from none to all of something."""

    after: int = 3000
    n: int = 500
    edited: int = 1000
    counterfactual: int = 1000
    most: int = 5
    resources: str = "ppdb"
    fitted: int = 1600
    strengths: tuple[float, ...] = (0.25, 0.5, 0.75)
    ranks: tuple[int, ...] = (4, 16, 64)
    states: tuple[int, ...] = (0, 1, 3)  # the last state that is reached
    taught: tuple[float, ...] = (0.0, 0.5, 0.75)
    fitted_states: tuple[int, ...] = (0, 1, 2)  # the last state of a fit of its own
    rhos: tuple[float, ...] = RHOS
    encodings: tuple[str, ...] = ("common 8", "ppdb 2", "ppdb 4")
    rare: tuple[int, ...] = (1, 3, 10, 40)
    doubts: tuple[float, ...] = (0.6, 0.8, 0.95)
    sure: tuple[float, ...] = (0.9, 0.8, 0.7, 0.6)
    stem = "frontier"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Answer all rows under every setting, then let the gates choose between two answers."""
        running = RunningFrontier(self, results, runs, report)
        logits = {" ".join(key): running.logits(*key) for key in running.settings()}
        bits = {name: running.right(of) for name, of in logits.items()}
        for path, gates in running.gates().items():
            for at, gate in gates:
                bits[f"{path} {at}"] = running.right(running.gated(gate, logits))
        about = {"sets": running.sums, "swaps": len(running.sets[SWAPS])}
        fields = answered(self, running.sets["ordinary"], bits, **about)
        return fields | {"candidates": running.source.sha256}


class RunningFrontier:
    """The trial under way; every setting's logits are kept in `runs`."""

    def __init__(self, trial: FrontierTrial, results: Path, runs: Path, report: Report) -> None:
        self.trial, self.folder, self.report = trial, runs / trial.name, report
        self.contenders = Contenders(trial, runs, report)
        self.bare = self.contenders.condition("none")
        self.source = candidates(trial.resources)
        rows = [dict(row) for row in load_nli(trial.data)]
        recorded = edits_of(read_result(results / RESULT))
        order = np.random.default_rng(trial.seed).permutation(len(recorded))[: trial.edited]
        other = load_nli(COUNTERFACTUAL)
        half = range(len(other) // 2, len(other))[: trial.counterfactual]
        ordinary = rows[trial.after :][: trial.n]
        swapped = [swaps(row, self.source, trial.most) for row in ordinary]
        self.of_row = np.repeat(np.arange(len(swapped)), list(map(len, swapped)))
        self.sets = {
            "ordinary": ordinary,
            SWAPS: sum(swapped, []),
            "edited": edited(rows, [recorded[k] for k in order]),
            "counterfactual": [dict(other[k]) for k in half],
        }
        self.sums = {key: fingerprint(of) for key, of in self.sets.items()}

    def settings(self) -> Iterator[tuple[str, str]]:
        """Path and point of all that has to be asked."""
        trial = self.trial
        yield from (("none", ""), ("P-D 99 %", ""), ("strength", "1"))
        points = {"strength": trial.strengths, "rank": trial.ranks, "states": trial.states,
                  "taught": trial.taught, "fitted states": trial.fitted_states, "closed form": trial.rhos, "encoding": trial.encodings,
                  "encoding, then trained": trial.encodings[:1]}  # fmt: skip
        for path, values in points.items():
            yield from (
                (path, f"{value:g}" if type(value) is not str else value) for value in values
            )

    def setting(self, path: str, at: str) -> Setting:
        """What a point of a path attaches."""
        if path == "none":
            return Setting()
        if path == "P-D 99 %":
            return Setting(self.contenders.condition(path).control)
        if path == "strength":
            return Setting(self.trained, lambda t, u, mask: float(at) * u)
        if path == "states":
            return Setting(self.trained, lambda t, u, mask: u if t <= int(at) else 0 * u)
        if path == "rank":
            return Setting(self.trained.of_rank(int(at)))
        if path == "taught":
            return Setting(self._trained(float(at)))
        if path == "fitted states":
            return Setting(self._trained(layers=range(int(at) + 1)))
        if path == "closed form":
            rows = fit_rows(self.trial.data, self.trial.fitted)
            edits = self.contenders.recorded.edits("synonyms")
            of = self.bare.model, self.bare.tokenizer, rows, edits
            return Setting(Estimator.fit(*of, rho=float(at), seed=self.trial.seed))
        trained = None if path == "encoding" else self.trained
        return Setting(trained, before=self.encoding(at))

    @cached_property
    def trained(self) -> Estimator:
        """The control that ships."""
        return self.contenders.condition("Terminal both").control

    def encoding(self, setting: str) -> Callable[[str], str]:
        """An encoding by groups of synonyms."""
        return encoding_of(setting, fit_rows(self.trial.data, COUNTED), self.trial.resources)

    def _trained(self, share: float = 0.0, layers: Sequence[int] | None = None) -> Estimator:
        """Trained without labels; in a share of its rows a word turned the meaning."""
        trial, rows = self.trial, [dict(row) for row in fit_rows(self.trial.data, TEXTS)]
        random = np.random.default_rng(trial.seed)
        turned = contrast_pairs(rows, WordNet(), trial.seed) if share else []
        few = random.permutation(len(turned))[: round(share * trial.fitted)]
        kept = rows[: trial.fitted - len(few)] + [turned[k] | {"label": ENTAILED} for k in few]
        edits = RandomEdits("both", source=words_for("both", trial.resources))
        settings = {"rule": TERMINAL, "seed": trial.seed, "report": self.report}
        model, tokenizer = self.bare.model, self.bare.tokenizer
        with torch.autocast("cpu", torch.bfloat16):  # half the time
            return Estimator.fit(model, tokenizer, kept, edits, layers, **settings)

    def logits(self, path: str, at: str) -> dict[str, np.ndarray]:
        """Logits (N, labels) of each set at a point; kept."""
        from safetensors.torch import load_file

        trial = self.trial
        own = {"model": adapter_record(trial.model)["sha256"], "source": self.source.sha256}
        own |= {"sums": self.sums, "at": [path, at], "seed": trial.seed}
        own |= {"fitted": trial.fitted} if path in FITTED else {}
        of = configuration_hash(own)
        file = self.folder / f"{path} {at} {of[:12]}.safetensors"
        if not file.is_file():
            control, push, before = self.setting(path, at)
            tokenizer = self.bare.tokenizer
            tokenizer = tokenizer if before is None else NormalisedTokenizer(tokenizer, before)
            model = self.bare.model
            with nullcontext() if control is None else control.attached(model, instead=push):
                answers = {
                    key: torch.from_numpy(half_scores(model, tokenizer, rows))
                    for key, rows in self.sets.items()
                }
            write_tensors(file, answers)
        answers = {key: of.numpy() for key, of in load_file(file).items()}
        right = self.right(answers)
        self.report(f"{path} {at}: { {key: f'{100 * b.mean():.1f}' for key, b in right.items()} }")
        return answers

    def right(self, logits: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Right answers by set; of the swaps, whether a row is right as written and under all."""
        answer = {key: of.argmax(1) for key, of in logits.items()}
        labels = {key: np.array([row["label"] for row in rows]) for key, rows in self.sets.items()}
        bits = {key: answer[key] == labels[key] for key in answer}
        one = bits["ordinary"].copy()
        np.logical_and.at(one, self.of_row, bits.pop(SWAPS))
        # edited rows still say "entailment", which is now wrong
        return bits | {"edited": ~bits["edited"], "one word": one}

    def gates(self) -> dict[str, list[tuple[str, Gate]]]:
        """Rules that let the trained control act on some texts only."""
        trial, encoding = self.trial, self.encoding(self.trial.encodings[-1])
        counts = word_counts({row[c] for row in fit_rows(trial.data, TEXTS) for c in BOTH})

        def rarest(row: Mapping[str, Any], words: Counter[str] = counts) -> int:
            text = row["hypothesis"]
            return min((words[text[a:b].lower()] for a, b in word_spans(text)), default=0)

        def changed(row: Mapping[str, Any]) -> bool:
            return encoding(row["hypothesis"]) != row["hypothesis"]

        return {
            "rare words": [
                (f"{m}", lambda rows, none, own, m=m: np.array([rarest(row) < m for row in rows]))
                for m in trial.rare
            ],
            "in doubt": [(f"{p:g}", lambda rows, none, own, p=p: none < p) for p in trial.doubts],
            "sure of itself": [(f"{p:g}", lambda rows, none, own, p=p: own > p) for p in trial.sure],
            "the groups know": [("", lambda rows, none, own: np.array(list(map(changed, rows))))],
        }  # fmt: skip

    def gated(
        self, gate: Gate, logits: Mapping[str, Mapping[str, np.ndarray]]
    ) -> dict[str, np.ndarray]:
        """The trained control's answer where a gate opens, else the model's own."""
        none, own = logits["none "], logits["strength 1"]
        answers = {}
        for key, rows in self.sets.items():
            sure = (softmax(of[key], 1).max(1) for of in (none, own))
            answers[key] = np.where(gate(rows, *sure)[:, None], own[key], none[key])
        return answers
