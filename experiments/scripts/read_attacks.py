"""Texts that turned an answer, read: whether the label still holds.

python -m experiments.scripts.read_attacks

Fifty winning texts of each attack, mixed with pairs as written and with pairs of the contrast set,
are read blind by two readers. The run stops where readings are missing, and says which sheet is to
be read. INSTRUCTIONS and the draw were committed before anything was read.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.adapters import adapter_record
from experiments.scripts.kept_meaning import READINGS, kappa, letter_counts
from pidbook.evaluation.contrast_rows import contrasts, edited
from pidbook.evaluation.results import write_result
from pidlib.attacks.outcomes import read_outcomes, transfer_rows
from pidlib.attacks.wordnet import WordNet
from pidlib.data.labels import LABELS
from pidlib.data.nli import fingerprint, load_nli

MODEL = "minilm-nli"
DATA = "snli-test"
EACH = 50
SEED = 0
LOGS = {
    "a2t": "a2t",
    "textfooler": "textfooler",
    "textbugger": "textbugger",
    "pso": "pso",
    "P-D 99 %: textfooler": "adaptive-textfooler-P-D-99",
    "Terminal both: textfooler": "adaptive-textfooler-Terminal-both",
}
AS_WRITTEN = range(4000, 4000 + EACH)  # pairs that no attack met
INSTRUCTIONS = """
Each line holds two sentences about one scene and a word. Take the first sentence for true of the
scene. The word says what is then to be said of the second: entailment, it must be true; contradiction,
it cannot be true of that scene; neutral, it may or may not be. Read over slips of spelling and
grammar as you would in a message of a friend. Answer with one letter: K, a fair reader could give
this word; L, no fair reader could; E, the second sentence cannot be understood. Read each line by
itself, with no program; do not guess whence it is.
"""
RUNS = Path("runs/read-attacks")
RESULT = Path(f"book/results/read-attacks-{DATA}-{MODEL}.json")


def read_pairs() -> dict[str, list[dict[str, Any]]]:
    """Pairs to be read, by kind."""
    rows = [dict(row) for row in load_nli(DATA)]
    random = np.random.default_rng(SEED)
    kinds = {}
    for name, log in LOGS.items():
        outcomes = read_outcomes(f"book/results/attacks/{DATA}-{MODEL}-{log}.jsonl").outcomes
        won = [outcome for outcome in outcomes if outcome.status == "succeeded"]
        drawn = [won[k] for k in sorted(random.choice(len(won), EACH, replace=False))]
        kinds[name] = transfer_rows(rows, drawn)
    edits = contrasts(rows, range(AS_WRITTEN.stop, len(rows)), WordNet(), SEED)
    edits = [edits[k] for k in sorted(random.choice(len(edits), EACH, replace=False))]
    return kinds | {"as written": [rows[k] for k in AS_WRITTEN], "contrast": edited(rows, edits)}


def main() -> None:
    """Write the sheets, or the result where both are read."""
    started = time.perf_counter()
    kinds = read_pairs()
    lines = [(f"{kind} {k}", row) for kind, rows in kinds.items() for k, row in enumerate(rows)]
    answers = []
    for reader in (1, 2):
        path = READINGS / f"attacks-{reader}.csv"
        if path.is_file():
            given = {r["of"]: r["answer"] for r in csv.DictReader(path.open(encoding="utf-8"))}
            answers.append(np.array([given[of] for of, _ in lines]))
            continue
        RUNS.mkdir(parents=True, exist_ok=True)
        order = np.random.default_rng((SEED, reader)).permutation(len(lines))
        with (RUNS / f"attacks-{reader}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("line", "of", "first", "second", "word"))
            for k, place in enumerate(order):
                of, row = lines[place]
                word = list(LABELS)[row["label"]]
                writer.writerow((k, of, row["premise"], row["hypothesis"], word))
    if len(answers) < 2:
        raise SystemExit(f"read the sheets in {RUNS}, by INSTRUCTIONS; go on then")
    both = np.array(answers)
    of_kind = np.array([of.rpartition(" ")[0] for of, _ in lines])
    counts = {kind: letter_counts(both[:, of_kind == kind]) for kind in kinds}
    texts = [row for _, row in lines]
    write_result(
        RESULT,
        command="python -m experiments.scripts.read_attacks",
        config="read_attacks.py",
        configuration={"logs": LOGS, "each": EACH, "instructions": INSTRUCTIONS.strip()},
        seed=SEED,
        data={"name": DATA, "n": len(texts), "sha256": fingerprint(texts)},
        model=adapter_record(MODEL),
        counts=counts,
        kappa=kappa(*both, same="K"),
        seconds=time.perf_counter() - started,
    )


if __name__ == "__main__":
    main()
