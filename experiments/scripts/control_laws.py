"""P, D, both, and conceptors in their place: what each law gains, and what it is deaf to.

python -m experiments.scripts.control_laws

Every law at three prices, a conceptor of the same length beside it, and a random push of that
length. The rows are of a file that no page has used beyond its first 500. Deafness is told from
leaning: after each law three biases and a temperature are fitted anew on held-out clean pairs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from experiments.adapters import adapter_record
from experiments.experiment import cached_json
from experiments.rows import fit_rows
from pidbook.estimation.conceptors import ConceptorController, aperture_of_length, length
from pidbook.estimation.detection import auc
from pidbook.evaluation.contrast_rows import before, contrasts, edited
from pidbook.evaluation.kept_rows import kept_pairs
from pidbook.evaluation.overlap_rows import overlap_pairs
from pidbook.evaluation.results import write_result
from pidbook.evaluation.trial_results import pack, unpack
from pidlib.attacks.attack import attack
from pidlib.attacks.attacker import victim_sha256
from pidlib.attacks.outcomes import transfer_rows
from pidlib.attacks.wordnet import WordNet
from pidlib.data.nli import fingerprint, load_nli
from pidlib.evaluation.accuracy import scores, under
from pidlib.evaluation.placebos import Placebo
from pidlib.models import load_model
from pidlib.pid import PIDController

MODEL = "minilm-nli"
DATA = "sick-test"
HELD = range(600)  # clean pairs on which the biases are fitted; the first 500 stand on pages
JUDGED = range(600, 1600)
JUDGED_SHA256 = "1b428d6642a4ee0ef295a96719510ec1bc2ab9a0c8ed4803e86ac21f0eee5c23"
FITTED_ON = 2000  # pairs of snli-validation
COUNTERFACTUAL = "snli-counterfactual-train"
PEOPLE_REWROTE = 1000  # of its second half, which the model's training did not read
EDITED = 1000  # one-word edits of rows from 600 on, drawn by SEED, of either kind
OVERLAP = 500
PRICES = (1e-3, 0.1, 1.0)
SCHEMES = ("P", "D", "PD")
VARIANCE = 0.99
RECIPE = "textfooler"
ADAPTIVE = 300
PLACEBO_SEEDS = (0, 1)
MARGIN = 0.02  # a difference that does not matter, fixed before the run
SEED = 0

RESULTS = Path("book/results")
RUNS = Path("runs/control-laws")
NAME = f"control-laws-{DATA}-{MODEL}"
ENTAILED = 0


def make_sets(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the clean, edited, rewritten and template sets; each row has a label."""
    rewritten = load_nli(COUNTERFACTUAL)
    random = np.random.default_rng(SEED)
    second_half = np.arange(len(rewritten) // 2, len(rewritten))
    chosen = random.choice(second_half, PEOPLE_REWROTE, replace=False)
    places = range(HELD.stop, len(rows))
    edits = contrasts(rows, places, WordNet(), SEED)
    edits = [edits[k] for k in sorted(random.choice(len(edits), EDITED, replace=False))]
    kept = kept_pairs(rows, places, WordNet(), SEED)
    kept = [kept[k] for k in sorted(random.choice(len(kept), EDITED, replace=False))]
    overlap_kept, overlap_lost = overlap_pairs(OVERLAP, SEED)
    return {
        "clean": [rows[k] for k in JUDGED],
        "rewritten": [dict(rewritten[int(k)]) for k in sorted(chosen)],
        "before": before(rows, edits),
        "lost": edited(rows, edits),
        "kept": kept,
        "overlap lost": overlap_lost,
        "overlap kept": overlap_kept,
    }


LOST = ("lost", "overlap lost")  # sets whose label, entailment, is not true
TRANSFER = f"transfer {RECIPE}"
PLACEBO_SETS = ("clean", "before", "lost", "kept", TRANSFER)


def make_laws(fitted: PIDController) -> dict[str, Any]:
    """Return the laws by name: projections at three prices, conceptors of the same length."""
    laws: dict[str, Any] = {}
    for scheme in SCHEMES:
        for c in PRICES:
            law = fitted.retune(scheme=scheme, c=c, variance=VARIANCE)
            laws[f"{'-'.join(scheme)}, c {c:g}"] = law
    for terms in ("P", "PD"):
        for c in PRICES:
            like = laws[f"{'-'.join(terms)}, c {c:g}"]
            aperture = aperture_of_length(fitted.bases, terms, length(like, fitted.bases))
            name = f"conceptor {' AND '.join(terms)}, as long as at c {c:g}"
            laws[name] = ConceptorController(fitted.bases, terms, aperture)
    return laws


def refit(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return two biases (the third label's is 0) and a log temperature of least log loss."""

    def loss(x: np.ndarray) -> float:
        moved = logits * np.exp(x[2]) + np.array([x[0], x[1], 0.0])
        return float(-log_softmax(moved, axis=1)[np.arange(len(labels)), labels].mean())

    return minimize(loss, np.zeros(3), method="BFGS").x


def is_right(logits: np.ndarray, rows: Sequence[Mapping[str, Any]], lost: bool) -> np.ndarray:
    """Return whether each answer is right; where entailment was lost, whether it is not given."""
    answers = logits.argmax(axis=1)
    labels = np.array([row["label"] for row in rows])
    return answers != ENTAILED if lost else answers == labels


def log_odds(logits: np.ndarray) -> np.ndarray:
    """Return the log odds of entailment of each pair."""
    return logits[:, ENTAILED] - np.logaddexp(logits[:, 1], logits[:, 2])


def attacked_under(
    law: Any,
    model: Any,
    tokenizer: Any,
    rows: Sequence[dict[str, Any]],
    ids: Sequence[int],
    log: Path,
) -> list[dict[str, Any]]:
    """Return rows as the attack left them under a law; the log is gone on with."""
    about = {"control": law.summary()} if law else {}
    chosen = [rows[k] for k in ids]
    settings = {"ids": list(ids), "log": log, "data": DATA, "about": about}
    with under(law, model):
        found = attack(model, tokenizer, chosen, RECIPE, "ppdb", SEED, **settings)
    return transfer_rows(rows, found)  # an outcome has the place of its row


def main() -> None:
    """Run what has not been run, and write the result."""
    started = time.perf_counter()
    model, tokenizer = load_model(MODEL)
    rows = [dict(row) for row in load_nli(DATA)]
    judged = [rows[k] for k in JUDGED]
    if fingerprint(judged) != JUDGED_SHA256:
        raise ValueError(f"the rows have the sum {fingerprint(judged)}; fixed was {JUDGED_SHA256}")
    sets = make_sets(rows)
    held = [rows[k] for k in HELD]
    held_labels = np.array([row["label"] for row in held])
    settings = {"scheme": "PID", "terms": "PID"}
    fitted = PIDController.fit(model, tokenizer, fit_rows(DATA, FITTED_ON), **settings)
    laws = make_laws(fitted)
    weights = victim_sha256(model)

    def attacked(name: str, ids: Sequence[int]) -> list[dict[str, Any]]:
        return attacked_under(
            laws.get(name), model, tokenizer, rows, ids, RUNS / f"{RECIPE} {name}.jsonl"
        )

    RUNS.mkdir(parents=True, exist_ok=True)
    sets[TRANSFER] = attacked("none", JUDGED)

    def answers(name: str, control: Any, keys: Sequence[str]) -> dict[str, Any]:
        """Answers to sets as they are and after new biases, and what tells kept from lost."""

        def ask() -> dict[str, Any]:
            with under(control, model):
                logits = {key: scores(model, tokenizer, sets[key]) for key in keys}
                bias = refit(scores(model, tokenizer, held), held_labels)
            told: dict[str, Any] = {"bias": [round(float(b), 4) for b in bias], "right": {}}
            for key, found in logits.items():
                moved = found * np.exp(bias[2]) + np.array([bias[0], bias[1], 0.0])
                for kind, values in ((key, found), (f"{key}, new biases", moved)):
                    told["right"][kind] = pack(is_right(values, sets[key], key in LOST))
            pairs = (("before", "lost"), ("kept", "lost"), ("overlap kept", "overlap lost"))
            told["auc"] = {
                f"{kept} : {lost}": round(auc(log_odds(logits[lost]), log_odds(logits[kept])), 4)
                for kept, lost in pairs
                if kept in logits and lost in logits
            }
            return told

        summary = control.summary() if hasattr(control, "summary") else "none"
        sums = {key: fingerprint(sets[key]) for key in keys}
        settings = {"weights": weights, "condition": [name, summary], "sets": sums}
        print(name, flush=True)
        return cached_json(RUNS / "judged" / f"{name}.json", settings, ask)

    every = list(sets)
    found = {"none": answers("none", None, every)}
    for name, law in laws.items():
        found[name] = answers(name, law, every)
    for name, law in laws.items():
        for seed in PLACEBO_SEEDS:
            push = f"{name}: noise {seed}"
            found[push] = answers(push, Placebo(law, "noise", seed), PLACEBO_SETS)
    for name in ("none", *laws):
        ids = range(JUDGED.start, JUDGED.start + ADAPTIVE)
        texts = attacked(name, ids)
        with under(laws.get(name), model):
            logits = scores(model, tokenizer, texts)
        found[name]["right"][f"adaptive {RECIPE}"] = pack(is_right(logits, texts, False))
        print(RECIPE, name, is_right(logits, texts, False).sum(), flush=True)

    sizes = {key: len(part) for key, part in sets.items()}
    sizes |= {f"{key}, new biases": n for key, n in sizes.items()}
    sizes[f"adaptive {RECIPE}"] = ADAPTIVE
    configuration = {
        key.lower(): list(value) if isinstance(value, range | tuple) else value
        for key, value in globals().items()
        if key.isupper() and key not in ("RESULTS", "RUNS", "NAME")
    }
    write_result(
        RESULTS / f"{NAME}.json",
        command="python -m experiments.scripts.control_laws",
        config="control_laws.py",
        configuration=configuration,
        seed=SEED,
        data={"name": DATA, "n": len(judged), "sha256": JUDGED_SHA256},
        model=adapter_record(MODEL),
        counts={
            name: {
                key: {"right": int(unpack(bits, sizes[key]).sum()), "n": sizes[key]}
                for key, bits in told["right"].items()
            }
            for name, told in found.items()
        },
        examples={name: told["right"] for name, told in found.items()},
        auc={name: told["auc"] for name, told in found.items()},
        biases={name: told["bias"] for name, told in found.items()},
        lengths={name: round(length(law, fitted.bases), 4) for name, law in laws.items()},
        seconds=time.perf_counter() - started,
    )


if __name__ == "__main__":
    main()
