"""What a model answers: its label for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from pidlib.batches import MAX_LENGTH, batches
from pidlib.devices import input_device
from pidlib.labels import label_order


def predict(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    batch_size: int = 64,
    max_length: int = MAX_LENGTH,
) -> np.ndarray:
    """Labels that a model gives to rows, in their order.

    Works the same with and without a controller attached.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Sequence classifier in evaluation mode.
    tokenizer : transformers.PreTrainedTokenizerBase
    rows : sequence of mappings
        Keys `premise` and `hypothesis`, or `text`.
    batch_size, max_length : int

    Returns
    -------
    (N,) int array
        Our labels: 0 entailment, 1 neutral, 2 contradiction (or the model's own, for
        another task).

    Raises
    ------
    ValueError
        No rows, or a model in training mode (dropout would enter the answers).

    Source: ours.
    """
    if model.training:
        raise ValueError("the model is in training mode; call model.eval() first")
    order = torch.tensor(label_order(model.config), device=input_device(model))
    answers = np.empty(len(rows), dtype=np.int64)
    with torch.inference_mode():
        for batch in batches(tokenizer, rows, batch_size, max_length, input_device(model)):
            logits = model(**batch.inputs).logits[:, order]
            answers[batch.indices] = logits.argmax(-1).cpu().numpy()
    return answers
