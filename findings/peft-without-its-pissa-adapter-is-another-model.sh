#!/usr/bin/env bash
# peft 0.21.2, transformers 4.57.6, torch 2.13.0 (CPU)
#
# Behaviour: init_lora_weights="pissa" or "olora" takes the part that the
# adapter starts from out of the base weight. The model with the adapter starts
# equal to the base, but disable_adapter() and unload() then give what is left
# of the base, a model that nobody trained. The default start does not do so.
#
# Guess, before the run: disable_adapter() gives the base model, for each start.
# (The usual guess: the author remembered otherwise.)
#
# Outcome: equal with the default start. With pissa and olora the outputs
# differ in the first digit, with disable_adapter() and after unload() alike.
#
# Date: 2026-11-28
# Hurts: who takes disable_adapter() as the base of a comparison, or as the
# reference model of a penalty.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install torch==2.13.0 transformers==4.57.6 peft==0.21.2 numpy==2.4.6
look <<'PY'
import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertModel


def base():
    torch.manual_seed(0)
    return BertModel(BertConfig(
        vocab_size=20, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, initializer_range=0.5)).eval()


@torch.no_grad()
def states(model):
    return model(input_ids=torch.arange(1, 9)[None]).last_hidden_state


right, far = states(base()), {}
for start in (True, "pissa", "olora"):
    config = LoraConfig(target_modules=["query", "value"], r=4, init_lora_weights=start)
    model = get_peft_model(base(), config).eval()
    distance = [float((states(model) - right).abs().max())]
    with model.disable_adapter():
        distance.append(float((states(model) - right).abs().max()))
    distance.append(float((states(model.unload()) - right).abs().max()))
    far[start] = distance
    print("start %-6s with adapter %.1e, disabled %.1e, unloaded %.1e" % (start, *distance))
stated = max(far[True]) < 1e-4 and all(
    far[start][0] < 1e-3 and min(far[start][1:]) > 0.1 for start in ("pissa", "olora"))
raise SystemExit(not stated)
PY
