"""The labels of natural-language inference and how a model orders them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from numbers import Real
from typing import Any

LABELS = ("entailment", "neutral", "contradiction")


def label_order(config: Any) -> list[int]:
    """Columns of a model's logits in the order of `LABELS`, for `logits[:, order]`.

    The identity where `id2label` has other names; ValueError for placeholders such as LABEL_0.

    Parameters
    ----------
    config : transformers.PretrainedConfig of a sequence classifier

    Returns
    -------
    list of int

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> names = {0: "CONTRADICTION", 1: "neutral", 2: "entailment"}
    >>> label_order(SimpleNamespace(id2label=names))
    [2, 1, 0]
    """
    names = {int(k): str(v).strip().lower() for k, v in dict(config.id2label).items()}
    placeholders = [v for v in names.values() if re.fullmatch(r"label_\d+", v)]
    if placeholders and len(names) == len(LABELS):  # any other number is another task's
        raise ValueError(
            f"the model names its labels {sorted(names.values())}, which does not say which column "
            "is entailment; set model.config.id2label, for example "
            "{0: 'entailment', 1: 'neutral', 2: 'contradiction'}, in the order it was trained with"
        )
    if sorted(names.values()) == sorted(LABELS):
        column = {name: k for k, name in names.items()}
        return [column[name] for name in LABELS]
    return sorted(names)


def label_names(config: Any) -> list[str]:
    """Names of a model's labels in small letters, in the order of `label_order`."""
    return [str(config.id2label[k]).strip().lower() for k in label_order(config)]


def check_labels(
    labels: Iterable[int], count: int = len(LABELS), places: Iterable[int] | None = None
) -> list[int]:
    """Labels as a list, each a whole number from 0 to `count` - 1; else its row's place is named."""
    checked = []
    for place, label in enumerate(labels) if places is None else zip(places, labels, strict=True):
        whole = isinstance(label, Real) and not isinstance(label, bool) and int(label) == label
        if not whole or not 0 <= label < count:
            raise ValueError(
                f"label {label!r} of row {place} is not one of 0..{count - 1}"
                + (" (0 entailment, 1 neutral, 2 contradiction)" if count == 3 else "")
                + ("; -1 marks rows without a label: leave them out" if label == -1 else "")
            )
        checked.append(int(label))
    return checked
