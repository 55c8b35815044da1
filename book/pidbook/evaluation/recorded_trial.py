"""A recorded trial as the fair trial of one control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pidbook.evaluation.trial_results import ADAPTIVE, answers
from pidlib.evaluation.fair_trial import FairTrial


def recorded_trial(result: Mapping[str, Any], recipe: str, control: str = "P-D 99 %") -> FairTrial:
    """Take one recipe and one control out of a recorded trial, its other recipes beside it."""
    others = [key for key in result["examples"]["none"] if key not in ("clean", recipe)]
    beside = (FairTrial(key, _recorded(result, key, control)) for key in others)
    return FairTrial(recipe, _recorded(result, recipe, control), tuple(beside))


def _recorded(
    result: Mapping[str, Any], recipe: str, control: str
) -> dict[str, dict[str, np.ndarray]]:
    """Right answers of one recipe and one control of a recorded trial, by condition and set."""
    n = len(answers(result, "none", recipe))
    adaptive = ADAPTIVE + recipe
    right = {}
    for condition in result["examples"]:
        name = "control" if condition == control else condition.removeprefix(f"{control}: ")
        if condition not in ("none", "second", control) and name == condition:
            continue
        right[name] = {
            "clean": answers(result, condition, "clean")[:n],
            "transfer": answers(result, condition, recipe),
        }
    if "control" not in right:
        raise ValueError(f"no control {control!r}; there are {sorted(result['examples'])}")
    if adaptive in result["examples"][control]:
        right["control"]["adaptive"] = bits = answers(result, control, adaptive)
        right["none"]["adaptive"] = right["none"]["transfer"][: len(bits)]
    return right
