"""Every answer of the paper's control, of its two terms alone and of random pushes as long.

A text is read as written, and as each of the four attacks on the bare model left it. What is
counted: how often the model gives each of the three answers where each of them is right.

PIDLIB_DATA_DIR=data python -m experiments.scripts.answers
"""

import time
from collections import Counter
from pathlib import Path

from experiments.adapters import adapter_record
from experiments.conditions import Condition, Conditions
from experiments.experiment import read_experiment
from experiments.run_trial import RunningTrial
from experiments.trial import Cell
from pidbook.evaluation.results import write_result
from pidbook.evaluation.trial_results import control_name
from pidlib.data.nli import fingerprint
from pidlib.evaluation.accuracy import predict
from pidlib.evaluation.placebos import Placebo
from pidlib.models import load_model

TRIAL = "trial-snli-test-minilm-nli"  # its rows, its attacks, its fit
VARIANCE = 0.99
CONTROLS = ("P", "D", "PD")  # the random pushes are as long as the last one's
SEEDS = (0, 1)
SECOND = "minilm-nli-second"  # MiniLM from another seed, without control
LABELS = ("entailment", "neutral", "contradiction")


def main() -> None:
    """Count, and write the result file."""
    started = time.perf_counter()
    trial = read_experiment(TRIAL)
    running = RunningTrial(trial, Path("book/results"), Path("runs"))
    conditions = Conditions(trial)
    model, tokenizer = conditions.model, conditions.tokenizer
    fitted = conditions.controls[control_name("PID", VARIANCE)]  # to all three terms
    judged = {"none": conditions.bare}
    for scheme in CONTROLS:
        control = fitted.retune(scheme=scheme)
        judged[control_name(scheme, VARIANCE)] = Condition(model, tokenizer, control)
    for seed in SEEDS:
        judged[f"noise {seed}"] = Condition(model, tokenizer, Placebo(control, "noise", seed))
    judged["second"] = Condition(*load_model(SECOND))

    sets = {"clean": [dict(row) for row in running.rows]}
    for recipe in trial.recipes:
        sets[recipe], _ = running._attacked_rows(Cell("", recipe))

    counts: dict = {}
    for name, condition in judged.items():
        counts[name] = {}
        for key, rows in sets.items():
            with condition.attached():
                answers = predict(condition.model, condition.tokenizer, rows)
            pairs = Counter((row["label"], int(a)) for row, a in zip(rows, answers, strict=True))
            counts[name][key] = {
                label: [pairs[i, j] for j in range(len(LABELS))] for i, label in enumerate(LABELS)
            }
            print(name, key, counts[name][key], flush=True)

    write_result(
        Path("book/results/answers-snli-test-minilm-nli.json"),
        command="python -m experiments.scripts.answers",
        configuration={
            "trial": TRIAL,
            "controls": list(CONTROLS),
            "variance": VARIANCE,
            "noise seeds": list(SEEDS),
            "second": SECOND,
            "labels": list(LABELS),
        },
        data={"name": trial.data, "n": len(running.rows), "sha256": fingerprint(running.rows)},
        model=adapter_record(trial.model),
        seed=trial.seed,
        counts=counts,
        seconds=time.perf_counter() - started,
    )


if __name__ == "__main__":
    main()
