#!/usr/bin/env bash
# datasets 5.0.1
#
# Behaviour: Dataset.class_encode_column turns the values into text, sorts the
# texts and numbers them. A column of whole numbers gets other numbers:
# with -1 among them (SNLI's "no agreement") every class moves up by one, and
# with ten classes or more 10 comes before 2. There is no warning.
#
# Guess, before the run: numbers stay in the order of numbers, so that labels
# 0, 1, 2 keep their values. (The usual guess: the author's memory said text
# order of texts, and had not thought of numbers below zero.)
#
# Outcome: [2, -1, 1, 0] becomes [3, 0, 2, 1]; [2, 0, 1, 10] becomes [3, 0, 1, 2].
#
# Date: 2026-11-28
# Hurts: who encodes the labels of a set before scoring a model trained on the
# old numbers: entailment is then scored as neutral, neutral as contradiction.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install datasets==5.0.1
look <<'PY'
from datasets import Dataset, disable_progress_bars

disable_progress_bars()
seen = []
for labels in ([2, -1, 1, 0], [2, 0, 1, 10], [2, 0, 1, 0]):
    encoded = Dataset.from_dict({"label": labels}).class_encode_column("label")
    seen.append(encoded["label"][:])
    print(labels, "->", seen[-1], "names", encoded.features["label"].names)
raise SystemExit(seen != [[3, 0, 2, 1], [3, 0, 1, 2], [2, 0, 1, 0]])
PY
