"""The natural rival of a fair control: fine-tuning on rows as written and with all persons swapped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from experiments.beyond.swapped import changes
from experiments.experiment import Report
from experiments.fine_tuning import RATES, fine_tuned
from pidbook.data.groups import GroupSwap
from pidlib.evaluation.accuracy import scores

ALLOWED = 0.01  # of the right answers that a rate may lose on held-out rows


def held_out(
    model: nn.Module, tokenizer: Any, rows: Sequence[Mapping[str, Any]], swap: GroupSwap
) -> dict[str, float]:
    """Right answers of rows as written and swapped, and the mean change of the answer."""
    before, after = (scores(model, tokenizer, part) for part in (rows, list(map(swap.apply, rows))))
    right = sum(
        int((of.argmax(1) == [row["label"] for row in rows]).sum()) for of in (before, after)
    )
    return {"right": right, "n": 2 * len(rows), "change": float(changes(before, after).mean())}


def augmented(
    model: nn.Module,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    held: Sequence[Mapping[str, Any]],
    swap: GroupSwap,
    out: Path,
    seed: int,
    report: Report,
) -> tuple[nn.Module, list[dict[str, float]], float]:
    """Fine-tune at each rate; the steadiest that loses at most a point, what was tried, its rate."""
    tried = [{"rate": 0.0} | held_out(model, tokenizer, held, swap)]
    tune = partial(fine_tuned, model, tokenizer, rows, swap, seed=seed, report=report)
    copies = [model] + [tune(out / f"rate-{rate:g}", learning_rate=rate) for rate in RATES]
    for rate, copy in zip(RATES, copies[1:], strict=True):
        tried.append({"rate": rate} | held_out(copy, tokenizer, held, swap))
        report(f"fine-tuned: {tried[-1]}")
    least = tried[0]["right"] - ALLOWED * tried[0]["n"]
    best = min((of for of in tried[1:] if of["right"] >= least), key=lambda of: of["change"],
               default=tried[0])  # fmt: skip
    return copies[tried.index(best)], tried, best["rate"]


@contextmanager
def weights_of(model: nn.Module, other: nn.Module) -> Iterator[None]:
    """Let a model have another one's weights for a while."""
    own = {key: value.clone() for key, value in model.state_dict().items()}
    model.load_state_dict(other.state_dict())
    try:
        yield
    finally:
        model.load_state_dict(own)
