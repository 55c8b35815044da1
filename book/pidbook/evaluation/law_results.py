"""The recorded grid of control laws and prices as tidy tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pidbook.evaluation.trial_results import answers
from pidlib.evaluation.statistics import compare, conclude

if TYPE_CHECKING:
    import pandas as pd

_NAME = re.compile(r"(.+), (?:as long as at )?c ([\d.e-]+)")
PUSH = ": noise "  # between the name of a law and the seed of a random push of its length


def law_gains(result: Mapping[str, Any], sets: Sequence[str]) -> pd.DataFrame:
    """Return the gain of each law over no control, and that of a random push of its length.

    Parameters
    ----------
    result : mapping, the grid; a law is named such as "P-D, c 0.1"
    sets : sequence of str; a law that has no answers to one is left out there

    Returns
    -------
    DataFrame
        law, price, set, n; in points gain, low and high (95 %, unadjusted); won, lost (rows);
        answer, the word of `conclude` over all laws on one set; push, the mean gain of the random
        pushes, NaN where there are none.
    """
    import pandas as pd

    rows = []
    for key in sets:
        none = answers(result, "none", key)
        pairs = {
            name: compare(none, answers(result, name, key))
            for name in _laws(result)
            if key in result["examples"][name]
        }
        words = conclude(pairs)
        for name, pair in pairs.items():
            law, price = _split(name)
            low, high = pair.interval()
            pushes = (push for push in _pushes(result, name) if key in result["examples"][push])
            right = [answers(result, push, key).mean() for push in pushes]
            rows.append(
                {
                    "law": law,
                    "price": price,
                    "set": key,
                    "n": pair.n,
                    "gain": 100 * pair.gain,
                    "low": 100 * low,
                    "high": 100 * high,
                    "won": pair.won,
                    "lost": pair.lost,
                    "answer": words[name],
                    "push": 100 * (sum(right) / len(right) - none.mean()) if right else None,
                }
            )
    return pd.DataFrame(rows).astype({"push": float})


def law_separation(
    result: Mapping[str, Any], sets: Sequence[str], pair: str = "before : lost"
) -> pd.DataFrame:
    """Return how well each law tells two sets apart, and its accuracy before and after a refit.

    A row for no control and for each law. Columns law ("none" for no control) and price; auc, area
    under the curve of the log odds of entailment; push, that of random pushes of the law's length;
    for each of `sets` the accuracy in %, as the model answers, and under "SET, new biases" with
    biases and a temperature fitted anew on other clean pairs.
    """
    import pandas as pd

    kinds = [kind for key in sets for kind in (key, f"{key}, new biases")]
    rows = []
    for name in ("none", *_laws(result)):
        law, price = ("none", None) if name == "none" else _split(name)
        areas = [result["auc"][push][pair] for push in _pushes(result, name)]
        row = {"law": law, "price": price, "auc": result["auc"][name][pair]}
        row["push"] = sum(areas) / len(areas) if areas else None
        rows.append(row | {kind: 100 * answers(result, name, kind).mean() for kind in kinds})
    return pd.DataFrame(rows).astype({"price": float, "push": float})


def _laws(result: Mapping[str, Any]) -> list[str]:
    return [name for name in result["examples"] if name != "none" and PUSH not in name]


def _pushes(result: Mapping[str, Any], law: str) -> list[str]:
    """Random pushes of a law's length."""
    return [name for name in result["examples"] if name.startswith(law + PUSH)]


def _split(name: str) -> tuple[str, float]:
    """Law and price of a condition's name."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} names no law and price")
    return match[1], float(match[2])
