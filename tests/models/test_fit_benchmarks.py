"""The fit's benchmark: two ways that find the same subspace."""

from __future__ import annotations

from experiments.benchmarks.fit import FitBenchmark
from experiments.experiment import record
from pidbook.evaluation.results import read_result


def test_a_stream_gives_the_subspace_of_the_stored_tensor():
    found = FitBenchmark(n=40, length=6, d=24, rounds=3).measure()
    assert found["gap"] < 1e-6
    assert found["ratio"].low <= found["ratio"].value <= found["ratio"].high


def test_result_file_is_whole(tmp_path):
    said = []
    record(FitBenchmark(50, 16, 64, rounds=2), tmp_path, report=said.append)
    counts = read_result(tmp_path / "bench-fit.json")["counts"]
    assert counts["n"] == 50 and counts["ratio"]["value"] > 0 and len(said) == 1
