"""The recorded trial of fairness, at a tiny size: it counts what it met and goes on where it stopped."""

from __future__ import annotations

import json

import torch

from experiments.beyond.augmentation import weights_of
from experiments.beyond.fairness import AVERAGE, Fairness
from experiments.experiment import record
from pidbook.data.groups import GroupSwap
from pidlib.data.nli import VARIABLE, load_nli

TRIAL = Fairness(
    "tiny-test", fitted="tiny-fit", after=50, fit=6, pairs=6, probe=4, others=3, tuned=6
)


def test_it_judges_every_condition_and_is_kept(tmp_path, monkeypatch):
    rows = [dict(row) for row in load_nli("captions", n=3000)]
    persons = [row for row in rows if GroupSwap("gender, adults").holds(row)]
    for name, part in (("tiny-test", rows[:50] + persons[:60]), ("tiny-fit", persons[60:120])):
        text = "".join(json.dumps(row) + "\n" for row in part)
        (tmp_path / f"{name}.jsonl").write_text(text)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    lines: list[str] = []
    first = record(TRIAL, tmp_path, tmp_path / "runs", lines.append)
    assert first["counts"]["none"]["adults"]["n"] == 6 == len(first["answers"]["none"]["adults"])
    assert first["rules"][AVERAGE]["adults, change"] == [0.0] * 6
    assert set(first["chosen"].values()) <= set(first["answers"])
    assert 0 <= first["probe"]["none"]["right"]["mean, linear"] <= first["probe"]["none"]["n"] == 8
    lines.clear()
    again = record(TRIAL, tmp_path, tmp_path / "runs", lines.append)
    assert again["answers"] == first["answers"]
    assert not [line for line in lines if line.endswith(" s")]  # nothing was computed again
    tried = first["tuning"]["tried"]
    assert [of["n"] for of in tried] == [8] * len(tried)
    assert first["tuning"]["rate"] in [of["rate"] for of in tried]


def test_other_weights_are_lent_and_given_back():
    own, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    before, x = own(torch.ones(2)), torch.ones(2)
    with weights_of(own, other):
        assert own(x).equal(other(x))
    assert own(x).equal(before)
