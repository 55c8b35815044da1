"""Pairs whose one noun becomes a sister, a word that the encoding writes as the same.

python -m experiments.scripts.sister_words

The pairs are drawn from the encoding's own table: it reads both forms of a pair alike, so of none
can it tell them apart. How many do the others?
"""

from __future__ import annotations

import time
from pathlib import Path

from experiments.adapters import adapter_record
from experiments.encoding import CHOSEN, COUNTED, encoding_of
from experiments.rows import fit_rows
from pidbook.evaluation.contrast_rows import before, edited
from pidbook.evaluation.results import write_result
from pidbook.evaluation.sister_rows import sisters
from pidbook.evaluation.trial_results import pack
from pidlib.attacks.wordnet import WordNet
from pidlib.data.nli import fingerprint, load_nli
from pidlib.estimation.pretrained import load_control
from pidlib.evaluation.accuracy import scores, under
from pidlib.evaluation.placebos import Placebo
from pidlib.models import load_model
from pidlib.pid import PIDController

MODEL = "minilm-nli"
DATA = "snli-test"
RESOURCES = "ppdb"
FITTED_ON = 2000
SEED = 0
ENTAILED = 0
RESULT = Path(f"book/results/sisters-{DATA}-{MODEL}.json")


def main() -> None:
    """Make the pairs from all rows, and ask every contender."""
    started = time.perf_counter()
    model, tokenizer = load_model(MODEL)
    rows = [dict(row) for row in load_nli(DATA)]
    encoding = encoding_of(CHOSEN, fit_rows(DATA, COUNTED), RESOURCES)
    edits = sisters(rows, range(len(rows)), WordNet(), encoding.groups(), SEED)
    sets = {"before": before(rows, edits), "sister": edited(rows, edits)}
    controller = PIDController.fit(model, tokenizer, fit_rows(DATA, FITTED_ON), scheme="PID")
    laws = {
        "none": None,
        "P 99 %": controller.retune(scheme="P", variance=0.99, c=1e-3),
        "P-D 99 %": controller.retune(scheme="PD", variance=0.99, c=1e-3),
        "Terminal both": load_control("minilm-nli-terminal", model),
        "encoding": encoding,
    }
    laws["P-D 99 %: noise 0"] = Placebo(laws["P-D 99 %"], "noise", 0)
    right = {}
    for name, law in laws.items():
        reads = encoding.before(tokenizer) if name == "encoding" else tokenizer
        with under(law, model):
            entails = {
                key: scores(model, reads, pairs).argmax(axis=1) == ENTAILED
                for key, pairs in sets.items()
            }
        right[name] = {"before": entails["before"], "sister": ~entails["sister"]}
        right[name]["told apart"] = right[name]["before"] & right[name]["sister"]
        print(name, {key: int(bits.sum()) for key, bits in right[name].items()}, flush=True)
    write_result(
        RESULT,
        command="python -m experiments.scripts.sister_words",
        config="sister_words.py",
        configuration={"setting": CHOSEN, "counted": COUNTED, "fitted_on": FITTED_ON},
        seed=SEED,
        data={"name": DATA, "n": len(rows), "sha256": fingerprint(rows)},
        model=adapter_record(MODEL),
        counts={
            name: {key: {"right": int(bits.sum()), "n": len(edits)} for key, bits in of.items()}
            for name, of in right.items()
        },
        examples={
            name: {key: pack(bits) for key, bits in of.items()} for name, of in right.items()
        },
        edits=[list(edit) for edit in edits],
        seconds=time.perf_counter() - started,
    )


if __name__ == "__main__":
    main()
