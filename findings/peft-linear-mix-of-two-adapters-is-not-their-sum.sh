#!/usr/bin/env bash
# peft 0.21.2, transformers 4.57.6, torch 2.13.0 (CPU)
#
# Behaviour: add_weighted_adapter with combination_type="linear" adds the two
# factors of LoRA each by itself, A1 + A2 and B1 + B2. The update of the weight
# is their product, with the cross terms B1 A2 and B2 A1. It is not
# B1 A1 + B2 A2. With the weights 1 and -1 it is not the difference either.
#
# Guess, before the run: the sum of the two updates. (The usual guess: the
# author remembered the cross terms, and guessed "cat" to be exact.)
#
# Outcome: off by about as much as the sum is large (relative error near 1)
# for (1, 1) and for (1, -1). combination_type="cat" is exact in both.
#
# Date: 2026-11-28
# Hurts: who adds two learned directions, or takes one from another, as adapters.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install torch==2.13.0 transformers==4.57.6 peft==0.21.2 numpy==2.4.6
look <<'PY'
import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertModel

torch.manual_seed(0)
config = BertConfig(vocab_size=20, hidden_size=16, num_hidden_layers=1,
                    num_attention_heads=2, intermediate_size=32)
lora = LoraConfig(target_modules=["query"], r=4)
model = get_peft_model(BertModel(config), lora, "one")
model.add_adapter("two", lora)
for name, weight in model.named_parameters():
    if "lora_" in name:
        torch.nn.init.normal_(weight)
query = model.base_model.model.encoder.layer[0].attention.self.query
one, two = query.get_delta_weight("one"), query.get_delta_weight("two")
error = {}
for kind in ("linear", "cat"):
    for sign, word in ((1.0, "sum"), (-1.0, "difference")):
        name = f"{kind} {word}"
        model.add_weighted_adapter(["one", "two"], [1.0, sign], name, combination_type=kind)
        right = one + sign * two
        error[name] = float((query.get_delta_weight(name) - right).norm() / right.norm())
        print(f"{name:18} relative error {error[name]:.1e}")
stated = all((value > 0.5) == name.startswith("linear") for name, value in error.items())
raise SystemExit(not (stated and max(error["cat sum"], error["cat difference"]) < 1e-5))
PY
