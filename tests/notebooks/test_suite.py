"""The runner of all checks counts truly and lets no stage hide the next ones."""

import pytest

import suite
from suite import Count, counted, read_report, run

FILE = """
import unittest
import pytest

def test_good(): pass
def test_bad(): assert False
def test_left(): raise unittest.SkipTest("left out")
@pytest.fixture
def broken(): raise OSError
def test_broken(broken): pass
"""


def test_a_run_of_pytest_is_counted(tmp_path):
    file, report = tmp_path / "test_it.py", tmp_path / "it.xml"
    file.write_text(FILE)
    assert counted(["-q", str(file)], report) == Count(1, 2, 1)
    for text, count in (("def test_good(): pass", Count(1, 0, 0)), ("", Count(0, 1, 0))):
        file.write_text(text)
        assert counted(["-q", str(file)], report) == count


def test_a_run_that_was_stopped_has_failed(tmp_path):
    report = tmp_path / "it.xml"
    report.write_text('<testsuites><testsuite tests="3" failures="0" errors="0" skipped="1"/>'
                      "</testsuites>")  # fmt: skip
    assert read_report(report, 0) == Count(2, 0, 1)
    assert read_report(report, 137) == Count(2, 1, 1)
    assert read_report(tmp_path / "none.xml", 5) == Count(0, 1, 0)


@pytest.mark.parametrize("fails", ["first", None])
def test_a_failing_stage_does_not_hide_the_next(monkeypatch, capsys, fails):
    ran = []

    def stage(name):
        def check(workers):
            """Check."""
            ran.append((name, workers))
            return Count(2, int(name == fails), 1)

        return check

    names = ("first", "middle", "last")
    monkeypatch.setattr(suite, "ALL", {name: stage(name) for name in names})
    assert run(names, 3) == int(fails is not None)
    assert ran == [(name, 3) for name in names]
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"6 passed, {int(fails is not None)} failed, 3 skipped"
