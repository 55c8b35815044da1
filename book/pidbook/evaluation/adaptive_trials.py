"""Every adaptive attack on the paper's control that the book recorded on real pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pidbook.evaluation.beside_paper import RECIPES, TEXTS, measured, with_fewer_words
from pidbook.evaluation.judged import judged
from pidbook.evaluation.law_results import law_gains
from pidlib.evaluation import holm

CONTROL = "P-D 99 %"
PAIRS = 1000  # of SNLI, under all four attacks
WORDS = {"1 word": 1, "2 words": 2, "3 words": 3}
LARGER = {
    "MPNet, SNLI": ("trial-snli-test-mpnet-nli", CONTROL),
    "MPNet, MNLI": ("trial-mnli-matched-mpnet-nli", CONTROL),
    "SmolLM2, SNLI": ("trial-snli-test-smollm2-nli", "P 99 %"),
}
LAWS = {"conceptor P": "soft P", "conceptor P AND D": "soft P and D"}
SNLI = "trial-snli-test-minilm-nli"
VARIANTS = "control-laws-again-sick-test-minilm-nli"
VALIDITY = "validity-snli-test-minilm-nli"
RESULTS = [SNLI, VARIANTS, VALIDITY, *(name for name, _ in LARGER.values())]


def adaptive_trials(results: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Gain of the control under each adaptive attack, in points, with its 95 % interval.

    results: by the names of `RESULTS`. Columns group (what differs from the first group), trial,
    gain, low, high, shown (survives a correction for the tests of its group, or of its trial). The
    last group counts a text only as far as a judge finds its label kept.
    """
    trial = results[SNLI]
    parts = {"any number of words": _adaptive(trial, CONTROL, PAIRS)}
    fewer = with_fewer_words(trial, CONTROL, WORDS, PAIRS).query("who == 'control, adaptive'")
    of_words = fewer["group"] + ", " + fewer["row"]
    shown = holm(fewer["p"]) < 0.05
    parts["one to three words"] = fewer.assign(trial=of_words, shown=shown)
    variants = law_gains(results[VARIANTS], ["adaptive textfooler"]).replace({"law": LAWS})
    price = variants["price"].map("{:g}".format)
    shown = variants["answer"] == "gain"
    parts["other variants"] = variants.assign(trial=variants["law"] + ", c = " + price, shown=shown)
    larger = []
    for model, (name, control) in LARGER.items():
        gains = _adaptive(results[name], control)
        larger.append(gains.assign(trial=model + ", " + gains["trial"]))
    parts["larger models"] = pd.concat(larger)
    parts["valid texts alone"] = _valid(results[VALIDITY], trial)
    columns = ["group", "trial", "gain", "low", "high", "shown"]
    return pd.concat([part.assign(group=name)[columns] for name, part in parts.items()])


def _adaptive(trial: Mapping[str, Any], control: str, rows: int | None = None) -> pd.DataFrame:
    gains = measured(trial, control, rows=rows).query("threat == 'adaptive'")
    return gains.assign(trial=gains["text"], shown=gains["answer"] == "gain")


def _valid(validity: Mapping[str, Any], trial: Mapping[str, Any]) -> pd.DataFrame:
    rows = []
    for attack in RECIPES:
        of_control = judged(validity, trial, CONTROL, attack)[1]
        gain = of_control - judged(validity, trial, "none", attack)[1]
        low, high = np.percentile(gain[1:], [2.5, 97.5])
        surely = np.percentile(gain[1:], 2.5 / len(RECIPES)) > 0  # Bonferroni's correction
        rows.append(
            {"trial": TEXTS[attack], "gain": gain[0], "low": low, "high": high, "shown": surely}
        )
    return pd.DataFrame(rows)
