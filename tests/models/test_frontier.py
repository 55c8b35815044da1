"""The recorded paths of controls: gates between two answers, swaps counted by hand, kept logits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.experiment import record
from experiments.words.frontier import FrontierTrial
from pidbook.evaluation.trial_results import unpack
from pidlib.attacks import candidates
from pidlib.data.nli import load_nli
from pidlib.evaluation.exact import choices, half_scores
from pidlib.models import load_model

pytestmark = pytest.mark.usefixtures("small_fits")

RESULTS = Path(__file__).parents[2] / "book" / "results"
SIZES = {"ordinary": 3, "one word": 3, "edited": 4, "counterfactual": 3}


def test_gates_choose_between_two_answers_and_every_swap_counts(tmp_path, real_data):
    trial = FrontierTrial(
        n=3, edited=4, counterfactual=3, resources="lexicon", strengths=(0.5,), ranks=(), states=(),
        taught=(), fitted_states=(), rhos=(), encodings=("lexicon 4",), rare=(0, 10**9), doubts=(0.0, 1.1), sure=(),
    )  # fmt: skip
    (tmp_path / "contrast-snli-minilm-nli.json").write_bytes(
        (RESULTS / "contrast-snli-minilm-nli.json").read_bytes()
    )
    result = record(trial, tmp_path, tmp_path / "runs", lambda _: None)
    bits = {
        name: {key: unpack(text, SIZES[key]).tolist() for key, text in of.items()}
        for name, of in result["examples"].items()
    }
    for path in ("rare words", "in doubt"):
        never, always = (of for name, of in bits.items() if name.startswith(path))
        assert never == bits["none "] and always == bits["strength 1"]

    model, tokenizer = load_model("minilm-nli")
    rows = [dict(row) for row in load_nli("snli-test").select(range(3000, 3003))]
    swaps = 0
    for row, held in zip(rows, bits["none "]["one word"], strict=True):
        of = choices(row["hypothesis"], candidates("lexicon"), 5)
        texts = [row["hypothesis"]]
        for (a, b), words in zip(of.spans, of.words, strict=True):
            texts += [of.text[:a] + word + of.text[b:] for word in words[1:]]
        swaps += len(texts) - 1
        answers = half_scores(model, tokenizer, [{**row, "hypothesis": text} for text in texts])
        assert held == bool(np.all(answers.argmax(1) == row["label"]))
    assert result["data"]["swaps"] == swaps > 0
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*.safetensors")}
    again = record(trial, tmp_path, tmp_path / "runs", lambda _: None)
    assert again["examples"] == result["examples"]
    assert all(path.stat().st_mtime_ns == at for path, at in kept.items()) and kept
