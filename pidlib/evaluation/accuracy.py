"""Accuracy with its uncertainty: counts, intervals, paired tests, the transfer trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

from pidlib.data.batches import batches, input_device, positions_of
from pidlib.data.labels import label_names, label_order
from pidlib.data.rows import as_rows


def right_answers(
    model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]], batch_size: int = 64
) -> np.ndarray:
    """Whether a model answers each row rightly.

    Parameters
    ----------
    model, tokenizer, rows, batch_size : as for `predict`, each row with its `label`

    Returns
    -------
    (N,) bool array
    """
    rows = as_rows(rows, label_names(model.config))
    return predict(model, tokenizer, rows, batch_size) == np.array([row["label"] for row in rows])


def transfer(
    model: Any,
    tokenizer: Any,
    sets: Mapping[str, Sequence[Mapping[str, Any]]],
    controllers: Mapping[str, Any],
) -> dict[str, dict[str, np.ndarray]]:
    """Judge one model under several controls on rows attacked without one, as the paper does.

    Parameters
    ----------
    model, tokenizer
        As for `predict`.
    sets : mapping of str to rows
    controllers : mapping of str to PIDController, or None for the model as it is

    Returns
    -------
    dict of str to dict of str to (N,) bool array, `right[control][set]`

    Source: Tables 1, 8 and 9.
    """
    answers: dict[str, dict[str, np.ndarray]] = {}
    for name, controller in controllers.items():
        with under(controller, model):
            answers[name] = {
                key: right_answers(model, tokenizer, rows) for key, rows in sets.items()
            }
    return answers


def under(control: Any, model: Any) -> AbstractContextManager:
    """The context in which a model is controlled, or not (None)."""
    return nullcontext() if control is None else control.attached(model)


def predict(
    model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]], batch_size: int = 64
) -> np.ndarray:
    """Labels that a model gives to rows, in their order.

    Parameters
    ----------
    model, tokenizer
        As `load_model` returns them; a controller may be attached.
    rows : sequence of mappings with `premise` and `hypothesis`, or `text`
    batch_size : int

    Returns
    -------
    (N,) int array
        0 entailment, 1 neutral, 2 contradiction (or the model's own, for another task).
    """
    return scores(model, tokenizer, rows, batch_size).argmax(1)


def scores(
    model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]], batch_size: int = 64
) -> np.ndarray:
    """Logits that a model gives to rows, in our order of labels.

    Parameters
    ----------
    model, tokenizer, rows, batch_size
        As for `predict`.

    Returns
    -------
    (N, labels) float array

    Examples
    --------
    >>> from pidlib import load_model
    >>> row = {"premise": "A dog runs.", "hypothesis": "An animal moves."}
    >>> scores(*load_model("minilm-nli"), [row]).shape
    (1, 3)
    """
    if model.training:
        raise ValueError("the model is in training mode; call model.eval() first")
    device, rows = input_device(model), as_rows(rows)
    order = torch.tensor(label_order(model.config), device=device)
    stream = batches(tokenizer, rows, batch_size, device=device, positions=positions_of(model))
    logits = np.empty((len(rows), len(order)), dtype=np.float32)
    with torch.inference_mode():
        for batch in stream:
            logits[batch.indices] = model(**batch.inputs).logits[:, order].float().cpu().numpy()
    return logits
