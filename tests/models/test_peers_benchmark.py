"""The comparison with other libraries: like with like, and one clear error where they are missing."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial

import pytest
import torch
import transformers as tf

from experiments.benchmarks import peers
from experiments.benchmarks.peers import CONTROL, WAYS, PeersBenchmark
from pidlib import PIDController
from pidlib.hooks import find_blocks

BENCHMARK = PeersBenchmark(tokens=2, rounds=2, attaches=2, norm=20.0)


@pytest.fixture(params=["bert", "llama"])
def model(request, tiny):
    found = tiny.model(request.param)
    if request.param == "bert":
        return found
    torch.manual_seed(0)
    return tf.LlamaForCausalLM(found.config).eval()


@contextmanager
def by_hand(model, tokenizer, push, layers=slice(None, -1)):
    """Push by plain hooks of torch after blocks."""

    def after(_block, _inputs, output):
        return (output[0] + push, *output[1:]) if isinstance(output, tuple) else output + push

    hooks = [block.register_forward_hook(after) for block in find_blocks(model).modules[layers]]
    yield peers.plain(model)
    for hook in hooks:
        hook.remove()


def by_none(model, tokenizer, push):
    raise ValueError("not on this model")


def test_costs_are_those_of_one_push(tiny, model):
    texts = [{"text": row["premise"]} for row in tiny.rows(20)]
    controller = PIDController.fit(model, tiny.tokenizer(), texts, correct_only=False)
    control = partial(peers.by_controller, controller=controller)
    ways = {"pidlib": WAYS["pidlib"], "repeng": by_hand, "pyvene": by_none, CONTROL: control}
    found = BENCHMARK.measure(model, tiny.tokenizer(), tiny.rows(4), ways)
    assert found["moved"] > peers.FAR and found["ways"]["pyvene"] == {"cannot": "not on this model"}
    for name in set(ways) - {"pyvene"}:
        cost = found["ways"][name]
        assert cost["first"] > 0 < cost["again"] and cost["forward"]["value"] > 0
        assert ("token" in cost) == model.can_generate() == ("token" in found["base_seconds"])
        assert cost.get("gap", 0) < peers.CLOSE
    again = BENCHMARK.again(model, controller)
    assert again["hash_over_again"] == pytest.approx(again["hash"] / again["again"])


def test_another_push_and_one_too_small_to_tell_are_refused(tiny):
    model, rows = tiny.model("bert"), tiny.rows(4)
    ways = {"pidlib": WAYS["pidlib"], "repeng": partial(by_hand, layers=slice(1, None))}
    with pytest.raises(RuntimeError, match="repeng pushes otherwise than pidlib"):
        BENCHMARK.measure(model, tiny.tokenizer(), rows, ways)
    with pytest.raises(ValueError, match="norm 1e-09 moves no logit"):
        few = PeersBenchmark(norm=1e-9)
        few.measure(model, tiny.tokenizer(), rows, {"pidlib": WAYS["pidlib"]})


def test_missing_libraries_are_named_with_their_versions(monkeypatch):
    monkeypatch.setattr(peers, "PEERS", {"torch": "0.0.1", "no-such-library": "1.2.3"})
    with pytest.raises(ValueError, match=r"torch \(.* is there\), no-such-library; .*pip install "):
        peers.need_peers()
    with pytest.raises(ValueError, match=r"torch==0\.0\.1 no-such-library==1\.2\.3 "):
        peers.need_peers()
