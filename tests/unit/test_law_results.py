"""The grid of laws and prices, read as tables."""

import math

import numpy as np
import pytest

from pidbook.evaluation import law_gains, law_separation
from pidbook.evaluation.trial_results import pack

NONE = np.arange(8) < 4  # right answers of no control: the first four of eight rows
ALL = np.ones(8, bool)
NAMES = {"none": NONE, "P-D, c 0.001": ALL, "conceptor P AND D, as long as at c 1": NONE}
NAMES |= {f"P-D, c 0.001: noise {seed}": np.arange(8) < 5 + seed for seed in (0, 1)}


@pytest.fixture
def grid():
    """Two laws on two sets, random pushes of the first on one of them."""
    sets = {name: ["lost", "lost, new biases"] for name in NAMES}
    sets["P-D, c 0.001"] = [*sets["P-D, c 0.001"], "clean"]
    sets["none"] = [*sets["none"], "clean"]
    return {
        "examples": {name: {key: pack(NAMES[name]) for key in keys} for name, keys in sets.items()},
        "counts": {name: {key: {"n": 8} for key in keys} for name, keys in sets.items()},
        "auc": {name: {"before : lost": 0.5 + k / 10} for k, name in enumerate(NAMES)},
    }


def test_gains_of_laws_stand_beside_those_of_random_pushes(grid):
    found = law_gains(grid, ["lost", "clean"])
    assert list(found["law"]) == ["P-D", "conceptor P AND D", "P-D"]
    assert list(found["price"]) == [0.001, 1.0, 0.001]
    assert list(found["gain"]) == [50, 0, 50]
    assert found["push"][0] == 18.75 and math.isnan(found["push"][1])
    assert math.isnan(found["push"][2])  # the pushes have no answers to this set


def test_what_tells_two_sets_apart_stands_beside_the_refit(grid):
    found = law_separation(grid, ["lost"]).set_index("law")
    assert found.loc["none", ["auc", "lost", "lost, new biases"]].tolist() == [0.5, 50, 50]
    assert found.loc["P-D", "push"] == pytest.approx(0.85)
    assert found.loc["conceptor P AND D", "auc"] == 0.7


def test_a_condition_that_names_no_price_is_refused(grid):
    grid["examples"]["P-D"] = grid["examples"]["none"]
    grid["counts"]["P-D"] = grid["counts"]["none"]
    with pytest.raises(ValueError, match="no law and price"):
        law_gains(grid, ["lost"])
