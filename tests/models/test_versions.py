"""The table *What differs between versions*, measured on the version that is installed."""

import json
from pathlib import Path

import pytest
import torch
import transformers
from packaging.version import Version
from transformers import AutoModel, AutoTokenizer
from transformers.cache_utils import Cache

from pidlib.hooks import find_blocks
from pidlib.io.embedded import SMOLLM2, _files
from tests.conftest import drawn, make_config

TABLE = Path(__file__).parents[2] / "book" / "versions.json"
ROWS = json.loads(TABLE.read_text(encoding="utf-8"))
INSTALLED = "5.24" if Version(transformers.__version__).major == 5 else "4.57"
IDS = torch.tensor([[5, 6, 7, 8]])
GROUPED = {"num_key_value_heads": 2}
OWN = {"bart": {"encoder_layers": 2, "decoder_layers": 2}, "mistral": GROUPED, "qwen2": GROUPED}


def made(kind):
    """A random model of two blocks whose norms also scale, so that what is normed shows it."""
    model = drawn(
        AutoModel.from_config, make_config(kind, num_hidden_layers=2, **OWN.get(kind, {}))
    )
    model = model.get_encoder() if kind in ("bart", "t5") else model
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name.lower() or "ln" in name.lower():
                weight.mul_(1.7)
    return model


def states(model):
    with torch.no_grad():
        return model(input_ids=IDS, output_hidden_states=True).hidden_states


def first(output):
    return output if torch.is_tensor(output) else output[0]


def returned(model):
    """What the last block returns."""
    seen = []
    with find_blocks(model).modules[-1].register_forward_hook(lambda *of: seen.append(of[2])):
        found = states(model)
    return seen[0], found[-1]


def last_state(kind):
    block, state = returned(made(kind))
    same = torch.allclose(first(block), state, atol=1e-5)
    return "of the last block" if same else "after the final norm"


def block_returns(kind):
    return "a tensor" if torch.is_tensor(returned(made(kind))[0]) else "a tuple"


def edit_is_seen(kind):
    def edit(_module, _args, output):
        return output + 1 if torch.is_tensor(output) else (output[0] + 1, *output[1:])

    seen = []
    for asked_before in (False, True):
        model = made(kind)
        if asked_before:
            states(model)
        with find_blocks(model).modules[0].register_forward_hook(edit):
            edited = states(model)[1]
        seen.append(torch.allclose(edited, states(made(kind))[1] + 1, atol=1e-4))
    known = {(True, True): "yes", (False, False): "no"}
    return known.get(tuple(seen), "if never asked for before")


def name_of_the_cache(kind):
    seen = []

    def before(_module, _args, kwargs):
        seen.extend(name for name, value in kwargs.items() if isinstance(value, Cache))

    model = made(kind)
    block = find_blocks(model).modules[0]
    with block.register_forward_pre_hook(before, with_kwargs=True), torch.no_grad():
        model(input_ids=IDS, use_cache=True)
    return seen[0] if seen else "by its place"


def token_put_first(_kind):
    """What transformers makes of the file; `load_model` of pidlib reads the file itself."""
    try:
        (gguf,) = _files(SMOLLM2)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    more = len(tokenizer("dog").input_ids) - len(tokenizer.tokenize("dog"))
    return str(tokenizer("dog").input_ids[0]) if more else "none"


MEASURED = {
    "the last of the hidden states": last_state,
    "a block returns": block_returns,
    "hidden states show what a hook changed": edit_is_seen,
    "a block's name for the cache": name_of_the_cache,
    "the token put before a GGUF model's text": token_put_first,
}


@pytest.mark.parametrize(
    ("what", "kind", "said"),
    [(row["what"], kind, row[INSTALLED]) for row in ROWS for kind in row["models"]],
)
def test_the_installed_version_does_what_its_column_says(what, kind, said):
    assert MEASURED[what](kind) == said
