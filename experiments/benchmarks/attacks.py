"""Benchmarks of attacks: the wrapper of the model against TextAttack's own."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from pidlib.attacks.attack import attack
from pidlib.attacks.attacker import Engine, seeded
from pidlib.data.edits import COLUMNS


class WrapperTrial(NamedTuple):
    """The same attacks through both wrappers."""

    examples: int
    queries: int
    same: bool
    stock_seconds: float
    our_seconds: float
    stock_whole: float
    our_whole: float

    @property
    def throughput(self) -> float:
        """Examples a second with our wrapper over those with the stock one."""
        return self.stock_whole / self.our_whole

    @property
    def ratio(self) -> float:
        """Time inside the stock wrapper over that inside ours."""
        return self.stock_seconds / self.our_seconds


def compare_wrappers(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    recipe: str = "textfooler",
) -> WrapperTrial:
    """Run the same attacks through TextAttack's wrapper and through ours."""
    from pidlib.attacks import components as parts, recipes

    victim = recipes.Victim(model, tokenizer)
    stock = recipes.ta.models.wrappers.HuggingFaceModelWrapper(model, tokenizer)
    answers, seconds, whole = [], [], []
    for wrapper in (stock, victim):
        clock = _Clock(wrapper)
        search = recipes.RECIPES[recipe](clock, parts.parts_of("lexicon", recipe))
        results, started = [], time.perf_counter()
        for key, row in enumerate(rows):
            with seeded(0, key):
                example = OrderedDict((c, row[c]) for c in COLUMNS if c in row)
                result = search.attack(example, int(row["label"]))
            text = result.perturbed_result.attacked_text.text
            results.append((type(result).__name__, text, int(result.num_queries)))
        answers.append(results)
        seconds.append(clock.seconds)
        whole.append(time.perf_counter() - started)
    queries = sum(result[2] for result in answers[1])
    return WrapperTrial(len(rows), queries, answers[0] == answers[1], *seconds, *whole)


class _Clock:
    """A wrapper that counts the seconds spent in another."""

    def __init__(self, wrapper: Any) -> None:
        self._wrapper, self.seconds = wrapper, 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._timed(self._wrapper, *args, **kwargs)

    def get_grad(self, text: Any) -> Any:
        """Gradient by the word embeddings, timed as well."""
        return self._timed(self._wrapper.get_grad, text)

    def _timed(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return call(*args, **kwargs)
        finally:
            self.seconds += time.perf_counter() - start

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapper, name)


class Pace(NamedTuple):
    """How fast an attack goes."""

    seconds: float
    examples: float
    queries: float
    forwards: float
    networks: float


def attack_pace(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    recipe: str = "textfooler",
) -> Pace:
    """Time an attack, its construction left out."""
    from pidlib.attacks.components import SameMeaning

    attack(model, tokenizer, [rows[0]], recipe)  # imports and caches
    engine = Engine(model, tokenizer, recipe, "lexicon", seed=0, max_length=256)
    encoders = [c.model for c in engine.search.constraints if isinstance(c, SameMeaning)]
    with ExitStack() as watches:
        inside = [watches.enter_context(_watched(network)) for network in (model, *encoders)]
        start = time.perf_counter()
        outcomes = [engine.attack(row, k) for k, row in enumerate(rows)]
        seconds = time.perf_counter() - start
    queries, forwards = sum(o.queries for o in outcomes), sum(o.forwards for o in outcomes)
    share = sum(clock[0] for clock in inside) / seconds
    return Pace(seconds, len(rows) / seconds, queries / seconds, forwards / seconds, share)


@contextmanager
def _watched(network: Any) -> Iterator[list[float]]:
    """Count the seconds between the start and the end of a network's forward calls."""
    spent, began = [0.0], []

    def before(*_: Any) -> None:
        began.append(time.perf_counter())

    def after(*_: Any) -> None:
        spent[0] += time.perf_counter() - began.pop()

    with network.register_forward_pre_hook(before), network.register_forward_hook(after):
        yield spent
