"""Imports run one way, and what is measured of the house counts truly."""

from graphlib import CycleError, TopologicalSorter

import pytest

import house


@pytest.mark.parametrize(
    "measure", [m for m in house.measures() if m.held], ids=lambda measure: measure.what
)
def test_imports_run_one_way(measure):
    assert (measure.number, measure.where) == (0, "")


def test_imports_that_go_round_or_the_wrong_way_are_found(tmp_path):
    texts = {
        "pidlib/gain.py": "def f():\n    from pidlib.theory.gains import alphas\n",
        "pidlib/theory/gains.py": "from pidlib.gain import f\nfrom experiments.trial import run\n",
        "experiments/trial.py": "from pidlib import gain\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    graph = house.arrows(tmp_path)
    with pytest.raises(CycleError):
        list(TopologicalSorter(graph).static_order())
    assert house.wrong_way(graph) == [
        "pidlib.theory.gains > experiments.trial",
        "pidlib.theory.gains > pidlib.gain",
    ]
