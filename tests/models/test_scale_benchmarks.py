"""The benchmark of scale: memory that is read while a stream is fitted, two processes and one."""

from __future__ import annotations

import pytest

import experiments.benchmarks.scale as scale
from experiments.benchmarks.scale import ScaleBenchmark, stream_memory
from experiments.experiment import record
from pidbook.evaluation.results import read_result


def test_memory_is_read_at_every_mark():
    found = stream_memory(400, marks=4)
    peaks = found["megabytes"]
    assert found["sequences"] == 400 and len(peaks) == 4
    assert peaks == sorted(peaks) and peaks[0] > 100  # a peak never falls
    with pytest.raises(ValueError, match="3 sequences for 4 marks"):
        stream_memory(3, marks=4)


def test_the_record_compares_what_was_found(tmp_path, monkeypatch):
    """With a launcher that writes what the command would."""
    from pidlib.attacks.outcomes import Outcome, OutcomeLog

    def launched(words, count):
        log = OutcomeLog(tmp_path / words[1], {"recipe": "x"})
        for k in range(int(words[3])):
            log.append(Outcome(k, "failed", (), 3, 3 + (count == 2 and k == differs), "row"))
        return {"seconds": 8.0 / count, "processes": count}

    monkeypatch.setattr(scale, "ROUNDS", 1)
    monkeypatch.setattr(scale, "_launched", launched)
    for differs in (-1, 7):
        made = record(ScaleBenchmark(40), tmp_path, report=lambda _: None)
        assert made["counts"]["equal"] == (differs < 0)
        assert made["attack"]["attack"] == {"1": [8.0], "2": [4.0]}
    assert read_result(tmp_path / "bench-scale.json") == made
    with pytest.raises(RuntimeError, match="ended with 2: error"):
        monkeypatch.undo()
        scale._launched(["attack", str(tmp_path / "x.jsonl"), "--n", "0"], 1)
