"""What the canary reads and tells: ranges, pins, versions, outcomes of tests, the table."""

from packaging.requirements import Requirement

import canary
import chapter_pages
from contents import ROOT


def row(**changes):
    start = {
        "package": "torch", "range": ">=2.6", "pinned": "2.13.0",
        "tried": "2.14.1", "held_back_from": None,
    }  # fmt: skip
    return start | changes


def run(python="3.11.7", failed=(), **changes):
    return {
        "date": "2026-01-02",
        "python": python,
        "minutes": 20.4,
        "passed": 1200,
        "failed": dict.fromkeys(failed, "boom"),
        "left_out": {"attacks": 40, "book": 1},
        "skipped": 9,
        "packages": [row(**changes)],
    }


def test_pins_are_read_by_normalised_name():
    text = "# comment\nnumpy==2.4.6\nHugging_Face.hub==0.36.2  # why\n\npytest>=9\n"
    assert canary.pins(text) == {"numpy": "2.4.6", "hugging-face-hub": "0.36.2"}


def test_every_range_of_the_library_has_a_pin_within_it():
    pinned = canary.pins((ROOT / "requirements.txt").read_text())
    needs = [Requirement(need) for need in canary.needs(canary.project(), canary.EXTRAS)]
    assert len(needs) > 20
    for need in needs:
        assert need.specifier.contains(pinned[canary.canonicalize_name(need.name)]), need


def test_versions_are_compared_as_versions():
    tried = {"torch": "2.14.1+cpu", "numpy": "2.10.0", "typer": "0.9"}
    latest = {"numpy": "2.11.0", "torch": "2.14.1", "typer": "0.12"}
    needs = ["torch>=2.6", "numpy>=2", "typer>=0.9"]
    torch, numpy, typer = canary.rows(needs, {"torch": "2.9.0"}, tried, latest)
    assert torch == row(pinned="2.9.0")  # no local suffix, and 2.14.1 is not beyond itself
    assert (numpy["pinned"], numpy["held_back_from"]) == (None, "2.11.0")
    assert typer["held_back_from"] == "0.12"  # as text it would come before 0.9


REPORT = f"""<testsuites><testsuite>
<testcase classname="tests.unit.test_a" name="test_good"/>
<testcase classname="tests.unit.test_a" name="test_away"><skipped message="no data"/></testcase>
<testcase classname="tests.unit.test_a" name="test_bad">
  <failure message="AssertionError: {canary.ROOT}/a is not b&#10;more">E assert 1 == 2</failure></testcase>
<testcase classname="tests.unit.test_a" name="test_attack">
  <failure message="attacks need TextAttack">E  ModuleNotFoundError: No module named 'nltk'
E  ModuleNotFoundError: attacks need TextAttack</failure></testcase>
<testcase classname="" name="tests.unit.test_b">
  <error message="collection failure">No module named 'textattack.shared'</error></testcase>
<testcase classname="tests.unit.test_a" name="test_command">
  <failure message="assert 2 == 0">error: install it with: pip install ".[attacks]" (where</failure>
</testcase>
<testcase classname="tests.unit.test_a" name="test_lost">
  <error message="ModuleNotFoundError">No module named 'transformers.gone'</error></testcase>
</testsuite></testsuites>"""


def test_what_needs_an_absent_extra_is_left_out_and_nothing_else(tmp_path):
    path = tmp_path / "tests.xml"
    path.write_text(REPORT)  # and addresses of the checkout are told from its root
    seen = canary.outcomes(path)
    assert (seen["passed"], seen["skipped"], seen["left_out"]) == (1, 1, {"attacks": 3})
    assert seen["failed"] == {
        "tests.unit.test_a.test_bad": "AssertionError: a is not b",
        "tests.unit.test_a.test_lost": "ModuleNotFoundError",
    }


def test_a_python_that_is_not_there_or_does_not_run_is_none(tmp_path, monkeypatch):
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\necho not installed >&2\nexit 127\n")
    shim.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert canary.version_of("python3.99") is None
    assert canary.version_of("python3.98") is None


def test_a_python_recorded_today_is_not_tried_again(tmp_path, monkeypatch, capsys):
    calls = []

    def attempt(python, version):
        calls.append(python)
        same = {"date": canary.today(), "sources": canary.fingerprint(canary.SOURCES)}
        return run(version, ["tests.a.test_b"] if version == "3.12.1" else []) | same

    versions = {"python3.11": "3.11.7", "python3.12": "3.12.1"}
    monkeypatch.setattr(canary, "RECORD", tmp_path / "canary.json")
    monkeypatch.setattr(canary, "PLACE", tmp_path)
    monkeypatch.setattr(canary, "attempt", attempt)
    monkeypatch.setattr(canary, "version_of", versions.get)
    monkeypatch.setattr(canary.os, "nice", lambda more: 0)
    monkeypatch.setattr(canary.sys, "argv", ["canary.py", "python3.11", "python3.13"])
    assert canary.main() == 0 and calls == ["python3.11"]
    assert "python3.13: not found" in capsys.readouterr().out
    monkeypatch.setattr(canary.sys, "argv", ["canary.py"])
    assert canary.main() == 1 and calls == ["python3.11", "python3.12"]
    assert "failed: tests.a.test_b: boom" in capsys.readouterr().out


def test_the_table_tells_which_pythons_a_version_passed_on():
    runs = {"3.11": run(), "3.12": run("3.12.1", ["tests.unit.test_a.test_bad"])}
    text = chapter_pages.canary(runs)
    assert "| 3.11.7 | 2026-01-02 | 1,200 | 0 | attacks 40, book 1 | 9 | 20 |" in text
    assert "- Python 3.12.1: `tests.unit.test_a.test_bad`" in text
    assert "| torch | `>=2.6` | 2.13.0 | 2.14.1 | 3.11; failed on 3.12 |" in text
    assert "| failed on 3.12 |" in chapter_pages.canary({"3.12": runs["3.12"]})


def test_modules_left_out_are_of_no_extra_that_is_installed():
    needs = map(Requirement, canary.needs(canary.project(), canary.EXTRAS))
    here = {canary.canonicalize_name(need.name) for need in needs}
    assert not here & {name.replace("_", "-") for name in canary.ABSENT}
