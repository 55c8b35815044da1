"""Recorded check of what a control no longer hears: pairs whose meaning hangs on a few words."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.adapters import training_data
from experiments.conditions import LineUp
from experiments.contrast_rows import before, contrasts, edited
from experiments.fine_tuning import fine_tuned
from experiments.rivals import ESTIMATED_ON, TUNED_ON, WIENER, Contender
from experiments.trial import Trial, fit_rows
from pidlib.attacks.attacker import weights_sha256
from pidlib.attacks.synonyms import words_for
from pidlib.attacks.wordnet import WordNet
from pidlib.data.nli import fingerprint, load_nli
from pidlib.data.perturbations import RandomEdits
from pidlib.estimation.estimator import TERMINAL, Estimator
from pidlib.estimation.pretrained import load_control
from pidlib.evaluation.accuracy import Paired, compare, right_answers
from pidlib.evaluation.results import write_result
from pidlib.evaluation.trial_results import control_name, pack, unpack
from pidlib.io.files import write_json
from pidlib.models import BASE, BASE_SHA256, training_record

COUNTERFACTUAL = "snli-counterfactual-train"


@dataclass(frozen=True)
class ContrastTrial:
    """One model and its contenders on ordinary, counterfactual and edited pairs.

    What the recorded trial chose on held-out rows is taken over: the mix and the strength of the
    closed form, and the rate of the fine-tuning.
    """

    data: str = "snli-test"
    model: str = "minilm-nli"
    after: int = 3000
    mix: str = "synonyms"
    rho: float = 2.0
    rate: float = 1e-3
    seed: int = 0

    @property
    def name(self) -> str:
        """Stem of the result file."""
        return f"contrast-{self.data.partition('-')[0]}-{self.model}"

    @property
    def command(self) -> str:
        """What to type to run it again."""
        return (
            f"python -m pidlib reproduce contrast --data {self.data} --model {self.model} "
            f"--after {self.after}"
        )


def contenders(
    trial: ContrastTrial, runs: Path, report: Callable[[str], None] = print
) -> dict[str, Contender]:
    """Make all that is judged, as the recorded trial of the controls made them."""
    plain = Trial(
        trial.data,
        trial.model,
        controls=(("PD", 0.99),),
        placebos=(),
        rivals=("spelling",),
        resources="ppdb",
        seed=trial.seed,
    )
    line_up = LineUp(plain, runs, report)
    model, tokenizer = line_up.model, line_up.tokenizer
    controls = line_up.controls | {
        control_name(TERMINAL, "both"): load_control(f"{trial.model}-terminal", model),
        control_name(WIENER, trial.mix): Estimator.fit(
            model,
            tokenizer,
            fit_rows(trial.data, ESTIMATED_ON[WIENER]),
            RandomEdits(trial.mix, source=words_for(trial.mix, "ppdb")),
            rho=trial.rho,
            seed=trial.seed,
        ),
    }
    made = {"none": Contender(model, tokenizer)}
    made |= {name: Contender(model, tokenizer, c, c.summary()) for name, c in controls.items()}
    rows = fit_rows(trial.data, TUNED_ON)
    copy = fine_tuned(
        model,
        tokenizer,
        rows,
        RandomEdits("both", source=words_for("both", "ppdb")),
        runs / trial.name / "fine-tuned" / f"rate-{trial.rate:g}",
        learning_rate=trial.rate,
        seed=trial.seed,
        report=report,
    )
    told = f"fine-tuned on {len(rows)} rows, rate {trial.rate:g}, {weights_sha256(copy)[:8]}"
    return made | {"fine-tuned": Contender(copy, tokenizer, None, told)} | line_up.rivals


def run_contrast(
    trial: ContrastTrial, results: Path, runs: Path, report: Callable[[str], None] = print
) -> dict[str, Any]:
    """Judge every contender on every set and write one result file."""
    started = time.perf_counter()
    rows = [dict(row) for row in load_nli(trial.data)]
    other, wordnet = load_nli(COUNTERFACTUAL), WordNet()
    half = list(range(len(other) // 2, len(other)))
    made = contrasts(rows, range(trial.after, len(rows)), wordnet, trial.seed)
    sets = {
        "ordinary": rows[trial.after :],
        "counterfactual": [dict(other[k]) for k in half],
        "before": before(rows, made),
        "edited": edited(rows, made),
    }
    sums = {key: {"n": len(part), "sha256": fingerprint(part)} for key, part in sets.items()}
    right: dict[str, dict[str, np.ndarray]] = {}
    line_up = contenders(trial, runs, report)
    for name, one in line_up.items():
        right[name] = _judged(one, sets, sums, runs / trial.name / "judged" / f"{name}.json")
        report(f"{name}: { {key: int(bits.sum()) for key, bits in right[name].items()} }")
    read = {_texts(row) for row in training_data(1)[0][COUNTERFACTUAL]}
    return write_result(
        results / f"{trial.name}.json",
        command=trial.command,
        configuration=json.loads(json.dumps(asdict(trial))),
        data={
            "name": f"{trial.data}, {COUNTERFACTUAL}",
            "n": len(made),
            "sha256": sums["edited"]["sha256"],
            "sets": sums,
            "wordnet": wordnet.files_sha256,
            "read_by_adapter": sum(_texts(row) in read for row in sets["counterfactual"]),
        },
        model={
            "name": trial.model,
            "sha256": training_record(trial.model)["adapter"]["sha256"],
            "base": {"name": BASE, "sha256": BASE_SHA256},
        },
        seed=trial.seed,
        counts={
            name: {key: {"right": int(b.sum()), "n": len(b)} for key, b in of.items()}
            for name, of in right.items()
        },
        gains={
            name: {key: _told(compare(right["none"][key], b)) for key, b in of.items()}
            for name, of in right.items()
            if name != "none"
        },
        examples={name: {key: pack(b) for key, b in of.items()} for name, of in right.items()},
        edits=[list(one) for one in made],
        contenders={name: one.told for name, one in line_up.items()},
        seconds=time.perf_counter() - started,
    )


def _judged(
    one: Contender, sets: Mapping[str, Sequence], sums: Mapping[str, Any], place: Path
) -> dict[str, np.ndarray]:
    """Right answers by set, computed once and kept."""
    weights = weights_sha256(one.model)
    sha = getattr(one.control, "sha256", "")
    want = {"of": [weights, one.told, sha], "sets": {k: s["sha256"] for k, s in sums.items()}}
    if place.is_file():
        seen = json.loads(place.read_text(encoding="utf-8"))
        if seen["want"] == want:
            return {key: unpack(seen["right"][key], len(part)) for key, part in sets.items()}
    with one.on():
        found = {key: right_answers(one.model, one.tokenizer, part) for key, part in sets.items()}
    found["edited"] = ~found["edited"]  # their rows still say "entailment", which is now wrong
    write_json(place, {"want": want, "right": {key: pack(bits) for key, bits in found.items()}})
    return found


def _told(paired: Paired) -> dict[str, float]:
    low, high = paired.interval()
    return {"won": paired.won, "lost": paired.lost, "low": low, "high": high, "p": paired.p}


def _texts(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["premise"].strip().lower(), row["hypothesis"].strip().lower()
