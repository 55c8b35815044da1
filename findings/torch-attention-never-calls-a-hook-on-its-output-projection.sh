#!/usr/bin/env bash
# torch 2.13.0 (CPU)
#
# Behaviour: torch.nn.MultiheadAttention has a submodule out_proj, but reads its
# weight and never calls it. A forward hook on out_proj is accepted, is listed,
# and never runs, in training as in evaluation, with or without gradients. Hooks
# on every other submodule of a TransformerEncoderLayer do run.
#
# Guess, before the run: the hook runs at every forward pass. (The usual
# guess: the author remembered otherwise, and not for which modes.)
#
# Outcome: 0 calls in the four modes; an edit of the output to zero is ignored.
#
# Date: 2026-11-28
# Hurts: who steers, records or puts an adapter at the output of attention by
# walking named_modules(): the edit that was asked for does not happen.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install torch==2.13.0 numpy==2.4.6
look <<'PY'
import torch

torch.manual_seed(0)
states = torch.randn(2, 5, 8)
layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
before = layer(states)
calls = {name: 0 for name, _ in layer.named_modules() if name}


def watch(name):
    def hook(module, inputs, output):
        calls[name] += 1
        return output * 0 if name == "self_attn.out_proj" else None
    return hook


for name, module in layer.named_modules():
    if name:
        module.register_forward_hook(watch(name))
change = 0.0
for training in (True, False):
    for gradients in (True, False):
        with torch.set_grad_enabled(gradients):
            change = max(change, float((layer.train(training)(states) - before).abs().max()))
print("calls in four passes:", calls)
print(f"largest change of the output by zeroing out_proj: {change:.1e}")
others = [count for name, count in calls.items() if name != "self_attn.out_proj"]
raise SystemExit(not (calls["self_attn.out_proj"] == 0 and min(others) == 4 and change < 1e-5))
PY
