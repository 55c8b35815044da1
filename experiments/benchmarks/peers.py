"""What a push costs by other libraries and here: to attach, in a forward call, for a token written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from experiments.experiment import Experiment, Report
from pidbook.evaluation.timing import measure, ratio, seconds_of
from pidlib.data.batches import encode
from pidlib.data.nli import fingerprint, load_nli
from pidlib.hooks import find_blocks
from pidlib.io import weights
from pidlib.models import load_model
from pidlib.pid import PIDController

PEERS = {"repeng": "0.4.0", "steering-vectors": "0.12.2", "nnsight": "0.8.1", "pyvene": "0.1.8"}
CONTROL, FORWARD, TOKEN = "P-D control", "forward", "token"
CLOSE, FAR = 1e-4, 1e-2  # logits of two pushes; logits with and without
CPU = torch.device("cpu")


class Calls(NamedTuple):
    """How a pushed model is called: logits of inputs, and texts that go on from them."""

    logits: Callable[[Mapping[str, Tensor]], Tensor]
    write: Callable[..., Tensor]


@dataclass(frozen=True)
class PeersBenchmark(Experiment):
    """One constant push before all blocks but the first, by every library, and P-D control beside."""

    models: tuple[str, ...] = ("minilm-nli", "smollm2")
    rows: int = 200
    batch: int = 16
    tokens: int = 16
    rounds: int = 15
    attaches: int = 50
    norm: float = 1.0

    name = "bench-peers"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Compare on each model, then time what attaching again saves."""
        need_peers()
        rows = load_nli("captions", split="train", n=self.rows)
        texts = load_nli("captions", split="test", n=self.batch)
        found, again = {}, {}
        for name in self.models:
            model, tokenizer = load_model(name)
            controller = fit_on(model, tokenizer, rows)
            ways = WAYS | {CONTROL: partial(by_controller, controller=controller)}
            found[name] = self.measure(model, tokenizer, texts, ways)
            for way, cost in found[name]["ways"].items():
                report(f"{name}, {way}: {cost}")
            if not model.can_generate():
                again[name] = self.again(model, controller)
        again["BERT-base"] = self.again(*random_base())
        report(f"attach again: {again}")
        return {
            "data": {"name": "captions", "n": len(texts), "sha256": fingerprint(texts)},
            "model": {"name": ", ".join(self.models)},
            "counts": {
                "models": found,
                "again": again,
                "peers": {peer: version(peer) for peer in PEERS},
            },
        }

    def measure(
        self, model: nn.Module, tokenizer: Any, texts: Any, ways: Mapping[str, Callable]
    ) -> dict[str, Any]:
        """Costs of each way on a model; all that push have to give the same logits."""
        inputs, start = peer_inputs(model, tokenizer, texts)
        how = {"max_new_tokens": self.tokens, "do_sample": False, "eos_token_id": None}
        how |= {"pad_token_id": tokenizer.pad_token_id}
        draw = torch.Generator().manual_seed(self.seed)
        push = torch.randn(find_blocks(model).width, generator=draw)
        push = self.norm * push / push.norm()
        attach, costs = {}, {}
        for name, way in ways.items():
            # nnsight leaves its forwards on a model, a fit its checksums
            own = deepcopy(model) if name in ("nnsight", CONTROL) else model
            attach[name] = partial(way, own, tokenizer, push)
            costs[name] = self.attach(attach[name])
            if "cannot" in costs[name]:
                del attach[name]
        attach["base"] = partial(nullcontext, plain(model))
        logits = {name: real_logits(context, inputs) for name, context in attach.items()}
        pushed = logits["pidlib"]
        for name in set(attach) & set(WAYS):
            costs[name]["gap"] = float((logits[name] - pushed).abs().max())
            if not costs[name]["gap"] < CLOSE:
                raise RuntimeError(f"{name} pushes otherwise than pidlib: {costs[name]['gap']}")
        moved = float((logits["base"] - pushed).abs().max())
        if moved < FAR:
            raise ValueError(
                f"a push of norm {self.norm} moves no logit by {FAR}; give a larger one"
            )
        seconds = {FORWARD: self.time(attach, lambda calls: calls.logits(inputs))}
        if model.can_generate():
            seconds[TOKEN] = self.time(attach, lambda calls: calls.write(start, **how))
        for name in attach.keys() - {"base"}:
            for what, taken in seconds.items():
                costs[name][what] = ratio(taken[name], taken["base"])._asdict()
        base = {what: float(np.median(taken["base"])) for what, taken in seconds.items()}
        if TOKEN in base:
            base[TOKEN] /= self.tokens
        return {"ways": costs, "base_seconds": base, "moved": moved}

    def attach(self, context: Callable) -> dict[str, Any]:
        """Seconds to attach and detach, the first time and later; or why it cannot be done."""

        def once() -> None:
            with context():
                pass

        try:
            first = seconds_of(once)
        except ValueError as error:
            return {"cannot": str(error)}
        later = [seconds_of(once) for _ in range(self.attaches)]
        return {"first": first, "again": float(np.median(later))}

    def time(self, attach: Mapping[str, Callable], call: Callable) -> dict[str, np.ndarray]:
        """Seconds (rounds,) of a call in every way; to attach is not timed."""
        now: list[Calls] = []

        @contextmanager
        def within(context: Callable) -> Iterator[None]:
            with context() as calls, torch.inference_mode():
                now[:] = [calls]
                yield

        contexts = {name: partial(within, context) for name, context in attach.items()}
        return measure(lambda: call(now[0]), contexts, CPU, self.rounds)

    def again(self, model: nn.Module, controller: PIDController) -> dict[str, Any]:
        """Seconds to attach a controller again, and to hash all weights that it acts on."""
        blocks = find_blocks(model).modules
        attach = partial(self.attach, partial(controller.attached, model))
        hashed = [
            sum(seconds_of(partial(weights._digest, block, torch.float32)) for block in blocks)
            for _ in range(5)
        ]
        again, whole = attach()["again"], float(np.median(hashed))
        return {"again": again, "hash": whole, "hash_over_again": whole / again}


def need_peers() -> None:
    """Refuse to go on without the other libraries, in the versions that were compared."""
    missing = []
    for peer, wanted in PEERS.items():
        try:
            import_module(peer.replace("-", "_"))  # not when it is timed
            missing += [] if version(peer) == wanted else [f"{peer} ({version(peer)} is there)"]
        except (ImportError, PackageNotFoundError):
            missing.append(peer)
    if missing:
        pins = " ".join(f"{peer}=={wanted}" for peer, wanted in PEERS.items())
        raise ValueError(
            f"the comparison needs {', '.join(missing)}; in an environment beside .venv, for repeng "
            f"takes no numpy 2: pip install {pins} 'numpy<2' 'pyarrow<26'"
        )


def fit_on(model: nn.Module, tokenizer: Any, rows: Any) -> PIDController:
    """P-D control, of a language model without the first position."""
    if not model.can_generate():
        return PIDController.fit(model, tokenizer, rows)
    texts = [{"text": row["premise"]} for row in rows]
    return PIDController.fit(model, tokenizer, texts, correct_only=False, skip_first=1)


def random_base() -> tuple[nn.Module, PIDController]:
    """BERT-base with random weights, and a P controller fitted on random tokens."""
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig()).eval()
    ids = torch.randint(1000, 30000, (16, 64))
    batch = SimpleNamespace(inputs={"input_ids": ids}, labels=torch.zeros(16, dtype=torch.long))
    how = {"correct_only": False, "scheme": "P"}
    return model, PIDController.from_batches(model, [batch], **how)


def peer_inputs(model: nn.Module, tokenizer: Any, rows: Any) -> tuple[dict, dict]:
    """Inputs of a forward call, and a prompt to go on from: of a writer one row, padded on the left."""
    if not model.can_generate():
        return dict(encode(tokenizer, rows)), {}
    tokenizer.padding_side = "left"
    texts = [row["premise"] for row in rows]
    inputs = dict(tokenizer(texts, padding=True, return_tensors="pt"))
    mask = inputs["attention_mask"]
    places = (mask.cumsum(1) - 1).masked_fill(mask == 0, 1)  # repeng wants them, as in generate
    return inputs | {"position_ids": places}, dict(tokenizer(texts[0], return_tensors="pt"))


def real_logits(context: Callable, inputs: Mapping[str, Tensor]) -> Tensor:
    """Logits of a batch; of a language model those of real tokens."""
    with context() as calls, torch.inference_mode():
        logits = calls.logits(inputs)
    return logits[inputs["attention_mask"].bool()] if logits.dim() == 3 else logits


def plain(model: Any) -> Calls:
    """A model that is called as ever."""
    return Calls(
        lambda inputs: model(**inputs).logits,
        lambda inputs, **how: model.generate(**inputs, **how),
    )


@contextmanager
def by_controller(
    model: nn.Module, tokenizer: Any, push: Tensor, controller: PIDController
) -> Iterator[Calls]:
    """Control by a fitted controller, in place of the push."""
    with controller.attached(model):
        yield plain(model)


@contextmanager
def by_pidlib(model: nn.Module, tokenizer: Any, push: Tensor) -> Iterator[Calls]:
    """Push before blocks 1, ..., T - 1; the others push after blocks 0, ..., T - 2."""
    blocks = find_blocks(model)
    with blocks.control(lambda t, x, mask: x + push, layers=range(1, blocks.depth)):
        yield plain(model)


@contextmanager
def by_repeng(model: nn.Module, tokenizer: Any, push: Tensor) -> Iterator[Calls]:
    """Push by modules that take the place of the blocks."""
    from repeng import ControlModel

    layers = range(model.config.num_hidden_layers - 1)
    controlled = ControlModel(model, list(layers))
    controlled.set_raw_control(dict.fromkeys(layers, push))
    try:
        yield plain(controlled)
    finally:
        controlled.unwrap()


@contextmanager
def by_steering_vectors(model: nn.Module, tokenizer: Any, push: Tensor) -> Iterator[Calls]:
    """Push by hooks after blocks."""
    from steering_vectors import SteeringVector

    layers = range(model.config.num_hidden_layers - 1)
    with SteeringVector(dict.fromkeys(layers, push)).apply(model):
        yield plain(model)


@contextmanager
def by_nnsight(model: nn.Module, tokenizer: Any, push: Tensor) -> Iterator[Calls]:
    """Push in a trace of each call; to attach is to wrap the model, which nothing takes back."""
    from nnsight import NNsight, TransformersModel

    if model.can_generate():
        wrapped = TransformersModel(model, task="text-generation", tokenizer=tokenizer)
    else:
        wrapped = NNsight(model)
    blocks = attrgetter(BLOCKS[model.config.model_type])(wrapped)[:-1]

    def pushed(output: Any) -> Any:
        return (output[0] + push, *output[1:]) if isinstance(output, tuple) else output + push

    def logits(inputs: Mapping[str, Tensor]) -> Tensor:
        given, named = ((dict(inputs),), {}) if model.can_generate() else ((), inputs)
        with wrapped.trace(*given, **named):
            for block in blocks:
                block.output = pushed(block.output)
            out = wrapped.output.save()
        return out.logits

    def write(inputs: Mapping[str, Tensor], **how: Any) -> Tensor:
        with wrapped.generate(dict(inputs), **how) as tracer:
            for _ in tracer.iter[: how["max_new_tokens"]]:
                for block in blocks:
                    block.output = pushed(block.output)
            out = tracer.result.save()
        return out

    yield Calls(logits, write)


@contextmanager
def by_pyvene(model: nn.Module, tokenizer: Any, push: Tensor) -> Iterator[Calls]:
    """Push by interventions at the blocks' outputs; hooks are hung in each call."""
    from pyvene import IntervenableModel

    name = BLOCKS[model.config.model_type]
    parts = [
        {"component": f"{name}[{k}].output", "intervention": lambda base, _source: base + push}
        for k in range(model.config.num_hidden_layers - 1)
    ]
    wrapped = IntervenableModel(parts, model=model)
    yield Calls(
        lambda inputs: wrapped(base=inputs)[1].logits,
        lambda inputs, **how: wrapped.generate(inputs, intervene_on_prompt=True, **how)[1],
    )


BLOCKS = {"bert": "bert.encoder.layer", "llama": "model.layers"}
WAYS = {
    "pidlib": by_pidlib,
    "repeng": by_repeng,
    "steering-vectors": by_steering_vectors,
    "nnsight": by_nnsight,
    "pyvene": by_pyvene,
}
