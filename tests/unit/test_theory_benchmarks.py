"""The benchmark of the theory verifies what it times, and its file is whole."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.benchmarks import theory as theory_benchmarks
from experiments.benchmarks.theory import TheoryBenchmark
from experiments.experiment import record
from pidbook.evaluation.results import read_result


def test_every_error_is_compared_and_agrees():
    cost = TheoryBenchmark(60, rounds=2).measure(seed=3)
    assert cost.systems == 75  # whole batches
    assert cost.errors >= 2 * 75  # t = 0 and at least one layer
    assert cost.worst < 1e-12
    assert np.isfinite(cost.ratio) and cost.ratio > 0
    assert TheoryBenchmark(60, rounds=1).measure(seed=3).errors == cost.errors


def test_a_wrong_theorem_would_be_seen(monkeypatch):
    right = theory_benchmarks.predicted_error
    monkeypatch.setattr(
        theory_benchmarks, "predicted_error", lambda on, off, T, c: right(on, off, T, 1.1 * c)
    )
    assert TheoryBenchmark(25, rounds=1).measure().worst > 1e-4


def test_file_holds_the_counts(tmp_path):
    said = []
    record(TheoryBenchmark(50, rounds=1), tmp_path, report=said.append)
    counts = read_result(tmp_path / "bench-theory.json")["counts"]
    assert set(counts) == set(theory_benchmarks.VerificationCost._fields)
    assert f"{counts['ratio']:.2f} times" in said[0]


def test_nothing_to_do_is_refused():
    with pytest.raises(ValueError, match="0 systems"):
        TheoryBenchmark(systems=0)
