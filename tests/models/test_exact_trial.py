"""The recorded trial of every choice of words: it goes on row by row and counts what it met."""

from __future__ import annotations

import json

import pytest

from experiments.experiment import record
from experiments.words.exact import ExactTrial
from pidbook.evaluation.trial_results import unpack
from pidlib.attacks import candidates
from pidlib.data.nli import load_nli
from pidlib.evaluation.exact import exact_letters, exact_robustness
from pidlib.models import load_model

pytestmark = pytest.mark.usefixtures("small_fits")

TRIAL = ExactTrial(
    "captions", after=29, sizes={"none": 3, "spelling": 2}, most=2, cap=20, letters=1,
    resources="lexicon",
)  # fmt: skip


def test_it_goes_on_row_by_row_and_counts_its_verdicts(tmp_path):
    lines, folder = [], tmp_path / "runs" / TRIAL.name
    assert TRIAL.run(tmp_path, tmp_path / "runs", lines.append, only="none") is None
    log = folder / "none.jsonl"
    whole = log.read_text()
    log.write_text("".join(whole.splitlines(keepends=True)[:2]))  # as if it had been cut off
    result = record(TRIAL, tmp_path, tmp_path / "runs", lambda _: None)
    assert log.read_text() == whole
    model, tokenizer = load_model("minilm-nli")
    rows, source = load_nli("captions"), candidates("lexicon")
    fresh = [
        exact_robustness(model, tokenizer, rows[k], source, most=2, cap=20) for k in range(29, 32)
    ]
    bits = {key: unpack(text, 3) for key, text in result["examples"]["none"].items()}
    assert bits["clean"].tolist() == [v.clean for v in fresh]
    assert bits["exact, all words"].tolist() == [v.exact[2] is True for v in fresh]
    assert bits["open"].tolist() == [v.exact[2] is None for v in fresh]
    assert result["counts"]["spelling"]["clean"]["n"] == 2
    slips = unpack(result["examples"]["none"]["letters"], 1).tolist()
    assert slips == [exact_letters(model, tokenizer, rows[29])]
    assert result["forwards"]["none"]["exact"] == sum(v.forwards[0] for v in fresh)

    header = json.loads(whole.splitlines()[0]) | {"cap": 21}
    log.write_text("\n".join([json.dumps(header), *whole.splitlines()[1:]]) + "\n")
    with pytest.raises(ValueError, match="other settings"):
        record(TRIAL, tmp_path, tmp_path / "runs", lambda _: None)


def test_unknown_contenders_and_too_few_rows_are_named(tmp_path):
    for sizes, text in (({"nobody": 1}, "nobody"), ({"none": 10**6}, "1000020")):
        with pytest.raises(ValueError, match=text):
            record(
                ExactTrial("captions", after=20, sizes=sizes, resources="lexicon"),
                tmp_path,
                tmp_path,
                lambda _: None,
            )
