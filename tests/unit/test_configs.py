"""Every recorded result has its configuration in TOML, which gives exactly what was recorded."""

import pytest

from contents import RESULTS
from experiments.experiment import CONFIGS, frozen, known_names, read_experiment
from pidbook.evaluation.results import read_result

OF_TOOLS = {"bench-portable"}  # what tools/portable.py writes
# Settings of trials that are frozen, as the others recorded them.
NO_LONGER = dict.fromkeys(("after", "restarts", "wide"), 0)
NO_LONGER |= dict.fromkeys(("estimated_on", "words_from", "label"), "")
NO_LONGER |= {"estimators": [], "rivals": [], "kind": "trial"}
RECORDED = sorted({path.stem for path in RESULTS.glob("*.json")} - OF_TOOLS)


def test_every_result_has_a_configuration_or_is_frozen():
    assert sorted([*known_names(), *frozen()]) == RECORDED


@pytest.mark.parametrize("name", known_names())
def test_the_configuration_gives_what_was_recorded(name):
    result, experiment = read_result(RESULTS / f"{name}.json"), read_experiment(name)
    recorded = result["configuration"]
    assert {k: v for k, v in recorded.items() if k not in NO_LONGER} == experiment.configuration
    assert {k: recorded[k] for k in NO_LONGER} == NO_LONGER
    assert experiment.name == result["name"] == name and result["config"] == f"{name}.toml"
    assert result["command"] == f"python -m experiments run {name}"
    assert read_experiment(CONFIGS / f"{name}.toml") == experiment


MISTAKES = [
    ('experiment = "magic"', r"unknown experiment 'magic'; known: 'trial'"),
    ("n = 3", "unknown experiment None"),
    ("experiment = [1]", r"unknown experiment \[1\]"),
    ('experiment = "trial"\nrows = 3', r"unknown 'rows'; known: \['data', 'model', 'n'"),
    ('experiment = "trial"\nn = "3"', "n is '3'; .*integer"),
    ('experiment = "trial"\nn = 3.5', "n is 3.5; .*integer"),
    ('experiment = "trial"\nc = nan', "c is .*finite"),
    ('experiment = "trial"\nn = 0', "few.toml: n = 0 and clean"),
    ('experiment = "trial"\nrecipes = ["x"]', "unknown recipe 'x'"),
    ('experiment = "trial"\nn = 9\nclean = 5', "clean = 5"),
    ('experiment = "trial"\nadaptive = [["PD", 0.5]]', "not among the controls"),
    ("experiment = ", "few.toml is not TOML"),
]


@pytest.mark.parametrize(("text", "told"), MISTAKES)
def test_a_mistake_is_named(tmp_path, text, told):
    path = tmp_path / "few.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=told):
        read_experiment(path)


def test_what_is_left_out_has_its_default(tmp_path):
    path = tmp_path / "few.toml"
    path.write_text('experiment = "trial"\nn = 9\ncontrols = [["PD", 1]]\nplacebos = []')
    trial = read_experiment(str(path))
    assert trial.name == "trial-captions-minilm-nli" and trial.n == 9
    assert trial.controls == (("PD", 1.0),) and trial.second == "minilm-nli-second"
    with pytest.raises(
        FileNotFoundError, match="no configuration 'nowhere'; known: .*trial-captions"
    ):
        read_experiment("nowhere")
