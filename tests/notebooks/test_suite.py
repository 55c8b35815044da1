"""The runner of all checks counts truly and lets no stage hide the next ones."""

import re

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
    assert all(any(re.match(rf"{name} +2 +[01] +1 +\d+ +\d+$", x) for x in lines) for name in names)


def test_the_slowest_and_the_skipped_are_named(tmp_path, monkeypatch):
    file = tmp_path / "test_it.py"
    file.write_text(FILE)
    monkeypatch.setattr(suite, "REPORTS", tmp_path)
    counted(["-q", str(file)], tmp_path / "it.xml")
    text = suite.remarks(["it"], most=2)
    assert len(re.findall(r"^ +\d+\.\d s  .*::test_", text, re.M)) == 2
    assert re.search(r"skipped: \S*test_it::test_left: left out", text)
