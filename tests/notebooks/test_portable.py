"""The run under other processors' arithmetic goes on where it stopped and counts what differs."""

import json
import sys

import pytest

import portable
from portable import SETTINGS, row, run_unit, table
from suite import Count
from tests.conftest import printed


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A project of one file of tests, which notes each time that it runs."""
    (tmp_path / "tests").mkdir()
    file = tmp_path / "tests" / "test_small.py"
    file.write_text(
        "import os, pathlib\n"
        f"with open({str(tmp_path / 'ran')!r}, 'a') as f: f.write('x')\n"
        "def test_good(): pass\n"
        "def test_threads(): assert os.environ['OMP_NUM_THREADS'] == '1'\n"
    )
    monkeypatch.setattr(portable, "ROOT", tmp_path)
    monkeypatch.setattr(portable, "BUILD", tmp_path / "_build")
    monkeypatch.setattr(portable, "content_hash", lambda name, paths: paths[0].read_text())
    monkeypatch.setattr(portable, "NUMERIC", {"small": ()})
    return file


def test_a_unit_runs_once_until_it_changes(small, tmp_path):
    ran = tmp_path / "ran"
    unit = run_unit("plain", "small", [small])
    assert unit.count == Count(2, 0, 0) and unit.differing == []
    assert run_unit("plain", "small", [small]) == unit and ran.read_text() == "x"
    small.write_text(small.read_text() + "def test_more(): pass\n")
    assert run_unit("plain", "small", [small]).count.passed == 3 and ran.read_text() == "xx"
    run_unit("haswell", "small", [small])
    assert ran.read_text() == "xxx"


def test_what_differs_is_named(small):
    unit = run_unit("zen", "small", [small])  # two threads
    assert unit.count == Count(1, 1, 0) and unit.differing == ["test_threads"]
    line = row("zen", [unit])
    assert (line["tests"], line["tests_differ"], line["cells"]) == (2, 1, 0)
    assert "zen: small: test_threads" in table([line])


def test_a_unit_that_broke_off_is_not_kept_as_done(small, tmp_path):
    kept = tmp_path / "_build" / "portable" / "plain" / "small.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps({"of": "another content", "name": "", "count": [9, 0, 0],
                                "differing": [], "seconds": 1}))  # fmt: skip
    assert run_unit("plain", "small", [small]).count.passed == 2


def test_the_plainest_setting_changes_the_arithmetic():
    code = "import numpy, torch; from threadpoolctl import threadpool_info\n"
    code += "blas = [one for one in threadpool_info() if one['user_api'] == 'blas']\n"
    code += "print(torch.backends.cpu.get_cpu_capability(), blas[0]['architecture'])"
    told = printed(code, **portable.environment() | SETTINGS["plain"].environment())
    assert told.split() in (["DEFAULT", "Katmai"], ["DEFAULT", "Prescott"])  # one kernel


BAD_WORDS = [
    (["sparc"], "unknown setting 'sparc'"),
    (["--only", "99_*"], "called '99_*'"),
    (["plain", "--record"], "only a run of everything"),
]


@pytest.mark.parametrize(("words", "says"), BAD_WORDS)
def test_bad_words_are_named(monkeypatch, capsys, words, says):
    monkeypatch.setattr(sys, "argv", ["portable.py", *words])
    with pytest.raises(SystemExit):
        portable.main()
    assert says in capsys.readouterr().err
