"""Gain plots, small radar plots, and tables in the paper's layout."""

import json

import numpy as np
import pytest

from contents import ROOT
from pidbook.evaluation.paper import ATTACKS, OURS, recorded_trials, scheme_rows
from pidbook.evaluation.trial_results import pack


def result(shares):
    """A made result: share of 10 right answers by condition, the same for every set."""
    bits = {name: np.arange(10) < right for name, right in shares.items()}
    sets = list(ATTACKS.values())
    return {
        "counts": {n: {k: {"right": int(b.sum()), "n": 10} for k in sets} for n, b in bits.items()},
        "examples": {n: {k: pack(b) for k in sets} for n, b in bits.items()},
    }


def test_our_rows_stand_beneath_the_papers():
    made = result({"none": 3, "P 99 %": 4, "P-I 99 %": 4, "P-D 99 %": 6, "P-I-D 99 %": 5})
    schemes = scheme_rows({"standard": made})
    assert len(schemes) == 52
    ours = [row for row in schemes if row["model"] == OURS]
    assert {row["highest"] for row in ours} == {"P-D"} and ours[0]["P-D"] == 60.0


def test_recorded_trials_are_read_and_stale_ones_refused(tmp_path):
    found = recorded_trials(ROOT / "book" / "results")
    assert ("snli-test", "standard") in found
    for (data, _), made in found.items():
        assert made["data"]["name"] == data
        assert {"none", "P 99 %", "P-D 99 %", "P-D 95 %"} <= set(made["counts"])
        assert set(ATTACKS.values()) <= set(made["counts"]["none"])
    assert recorded_trials(tmp_path) == {}
    path = ROOT / "book" / "results" / "trial-snli-test-minilm-nli.json"
    old = json.loads(path.read_text(encoding="utf-8"))
    old["model"]["sha256"] = "0" * 64
    (tmp_path / path.name).write_text(json.dumps(old))
    with pytest.raises(ValueError, match="is stale: the model changed"):
        recorded_trials(tmp_path)
