"""The recorded worst case: what was found against anybody is shown to each contender."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.experiment import record
from experiments.words.worst import SWARM, WorstTrial, full_width, stored_texts
from pidbook.evaluation.trial_results import unpack
from pidlib.attacks import attack
from pidlib.data.edits import rebuild
from pidlib.data.nli import load_nli
from pidlib.evaluation.accuracy import predict
from pidlib.models import load_model

N = 6
LOG = "captions-minilm-nli-textfooler.jsonl"
TRIAL = WorstTrial(
    "captions", n=N, trials=(), contenders=("none", "P-D 99 %"), swarmed=("none",),
    swarmed_n=3, swarm=(3, 2), resources="lexicon",
)  # fmt: skip


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    (folder / "attacks").mkdir()
    rows = [dict(row) for row in load_nli("captions", n=N)]
    model, tokenizer = load_model("minilm-nli")
    outcomes = attack(model, tokenizer, rows, log=folder / "attacks" / LOG, data="captions")
    return folder, rows, outcomes


def test_a_contender_stands_only_where_it_is_right_on_every_text(attacked):
    folder, rows, outcomes = attacked
    result = record(TRIAL, folder, folder / "runs", lambda _: None)
    bits = {
        key: unpack(text, N) for key, text in result["examples"]["none"].items() if key != SWARM
    }
    broken = np.array([o.status != "failed" for o in outcomes])
    assert not (bits["textfooler"] & broken).any() and broken.any()
    assert bits["pso"].sum() >= bits["union"].sum() == (bits["textfooler"] & bits["pso"]).sum()
    assert bits["clean"].sum() == sum(o.status != "skipped" for o in outcomes)
    model, tokenizer = load_model("minilm-nli")
    k = int(np.flatnonzero(bits["clean"])[0])
    text, label = rows[k]["hypothesis"], rows[k]["label"]
    wide = [text[:j] + full_width(c) + text[j + 1 :] for j, c in enumerate(text) if c.isalpha()]
    right = predict(model, tokenizer, [rows[k] | {"hypothesis": other} for other in wide]) == label
    assert bits["unseen letters"][k] == right.all()
    assert result["counts"]["none"][SWARM]["n"] == 3
    assert (folder / "attacks" / "captions-minilm-nli-worst-stock-swarm-none.jsonl").is_file()


def test_texts_are_gathered_once_and_only_of_the_same_rows(attacked):
    folder, rows, outcomes = attacked
    log = folder / "attacks" / LOG
    texts = stored_texts(rows, [log, log])["textfooler"]
    for row, outcome, of in zip(rows, outcomes, texts, strict=True):
        assert of == ([rebuild(row, outcome.edits)] if outcome.edits else [])
    other = [row | {"hypothesis": row["hypothesis"] + " Yes."} for row in rows]
    assert not any(stored_texts(other, [log])["textfooler"])
