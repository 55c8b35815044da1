"""The trial of estimating controls, from their choice to the result file, on a few captions."""

from __future__ import annotations

from dataclasses import replace

import pytest

import experiments.conditions as conditions
import experiments.fine_tuning as fine_tuning
import experiments.run_trial as running_trial
import pidlib.attacks.components as parts
from experiments.experiment import read_experiment, record
from experiments.rows import held_rows
from experiments.run_trial import RunningTrial, TrialRun
from experiments.trial import RIVALS, Cell, Trial
from pidbook.estimation.selection import choose
from pidbook.evaluation.results import read_result
from pidbook.evaluation.trial_results import ADAPTIVE, control_name
from pidlib.attacks.outcomes import read_outcomes
from pidlib.attacks.synonyms import LexiconCandidates
from pidlib.data.nli import load_nli
from pidlib.data.perturbations import MIXES
from pidlib.estimation.estimator import Estimator

pytestmark = pytest.mark.usefixtures("small_fits")

# The same words under the names that have a wide form.
MADE = {"ppdb": LexiconCandidates(), "ppdb-wide": LexiconCandidates()}
MADE["ppdb-wide"].width = 2
TRIAL = TrialRun(
    n=3,
    clean=12,
    recipes=("textbugger",),
    controls=(("PD", 0.99),),
    placebos=(("wiener", "typos"),),
    adaptive=(("PD", 0.99), ("wiener", "typos")),
    adaptive_n=2,
    estimators=(("wiener", "typos"),),
    rivals=("spelling", "spelling + Wiener typos"),
    restarts=True,
    wide=True,
    resources="ppdb",
    kind="wiener",
    second=None,
    fitted_on=60,
)
BARE = replace(TRIAL, adaptive=(), placebos=(), wide=False, restarts=False)


@pytest.fixture(autouse=True, scope="module")
def made_words_and_few_held_rows():
    """Detectors are scaled on few rows: what they find is tested elsewhere."""
    held = held_rows("captions").select(range(24))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "candidates", lambda name, recipe="": MADE[name])
        patch.setattr(conditions, "words_for", lambda mix, name: MADE[name])
        patch.setattr(running_trial, "held_rows", lambda data: held)
        yield


def few(model, tokenizer, rows, held, perturbed, **settings):
    rows, held = rows.select(range(24)), held.select(range(8))
    settings |= {"rhos": [0.5], "loss": 1.0}
    return choose(model, tokenizer, rows, held, perturbed, **settings)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wiener")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditions, "choose", few)
        result = record(TRIAL, folder / "results", folder / "runs", lambda _: None)
    return folder, result


def test_the_result_holds_the_choice_and_the_adaptive_attack(run):
    folder, result = run
    assert read_result(folder / "results" / "wiener-captions-minilm-nli.json") == result
    sizes = {k: v["n"] for k, v in result["counts"]["Wiener typos"].items()}
    again = {"restarted textbugger": 2, "widened textbugger": 2}
    assert sizes == {"clean": 12, "textbugger": 3, "adaptive textbugger": 2} | again
    assert "Wiener typos: noise 0" in result["counts"]
    assert {"adaptive textbugger", "adaptive textbugger, Wiener typos"} < set(result["attacks"])
    assert [one["last"] for one in result["selection"]["Wiener typos"]] == [-1, 0, 1, 2, 3, 4, 5]
    assert result["counts"]["spelling"].keys() == sizes.keys()
    assert result["counts"]["none"].keys() == sizes.keys() - {"adaptive textbugger"}
    for name in ("Wiener typos", *TRIAL.rivals):  # a second chance takes rows, it gives none back
        held = {k: v["right"] for k, v in result["counts"][name].items()}
        assert held["restarted textbugger"] <= held["adaptive textbugger"]
        assert held["widened textbugger"] <= held["adaptive textbugger"]
    for kind in ("widened textbugger, none", "restarted textbugger, none"):
        assert kind in result["attacks"]
    assert "adaptive textbugger, spelling" in result["attacks"]
    wrong = 3 - result["counts"]["none"]["textbugger"]["right"]
    for area, low, high, n in result["detection"]["textbugger"].values():
        assert 0 <= low <= area <= high <= 1 and n == wrong
    assert set(result["detection"]["textbugger"]) == {"doubt", "P-D 99 %", "Wiener typos"}
    name = "captions-minilm-nli-adaptive-textbugger-Wiener-typos.jsonl"
    log = folder / "results" / "attacks" / name
    alone = read_outcomes(log).header["configuration"]["about"]["control"]
    both = read_outcomes(log.with_stem(log.stem.replace("Wiener", "spelling-Wiener"))).header
    told = both["configuration"]["about"]["control"]
    assert told.startswith("spelling normalised") and told.endswith(alone)


def test_the_choice_is_made_once_for_a_seed(run, monkeypatch):
    places = run[0] / "results", run[0] / "runs"
    monkeypatch.setattr(conditions, "choose", None)  # would fail when called
    found = RunningTrial(TRIAL, *places).conditions.controls["Wiener typos"]
    assert isinstance(found, Estimator) and "random edits a row (typos)" in found.summary()
    with pytest.raises(TypeError):
        _ = RunningTrial(replace(TRIAL, seed=1), *places).conditions.controls


def test_fresh_rows_are_judged_with_the_choice_that_was_made(run, monkeypatch):
    folder, _ = run
    monkeypatch.setattr(conditions, "choose", None)  # would fail when called
    fresh = replace(BARE, after=12, n=2, clean=4)
    result = record(fresh, folder / "results", folder / "runs", lambda _: None)
    path = folder / "results" / "wiener-captions-after-12-minilm-nli.json"
    assert read_result(path) == result and result["data"]["name"] == "captions-after-12"
    premises = [row["premise"] for row in RunningTrial(fresh, folder, folder).rows]
    assert premises == load_nli("captions", split="test", n=16)["premise"][12:]
    assert {"after": 12}.items() <= result["configuration"].items()
    assert result["selection"] == run[1]["selection"]
    stored = {path.name for path in (folder / "results" / "attacks").glob("*-after-12-*")}
    assert any(name.endswith("adaptive-textbugger-spelling-Wiener-typos.jsonl") for name in stored)
    with pytest.raises(ValueError, match="after = -1; it must be"):
        replace(TRIAL, after=-1)


def test_too_few_rows_after_those_passed_over_is_said(tmp_path, monkeypatch):
    lines = '{"premise": "A dog.", "hypothesis": "A cat.", "label": 2}\n' * 5
    (tmp_path / "made.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.setenv("PIDLIB_DATA_DIR", str(tmp_path))
    short = Trial("made", n=3, clean=3, after=3)
    with pytest.raises(ValueError, match="made has 5 rows; after = 3 and n = 3 need 6"):
        _ = RunningTrial(short, tmp_path, tmp_path).rows


def test_without_a_useful_setting_the_trial_says_so(tmp_path, monkeypatch):

    def never(model, tokenizer, rows, held, perturbed, **settings):
        rows, held = rows.select(range(8)), held.select(range(4))
        settings |= {"rhos": [0.5], "loss": -1.0}
        return choose(model, tokenizer, rows, held, perturbed, **settings)

    monkeypatch.setattr(conditions, "choose", never)
    said = []
    running = RunningTrial(TRIAL, tmp_path, tmp_path, said.append)
    assert list(running.conditions.controls) == ["P-D 99 %"]
    assert "no setting of 'Wiener typos'" in said[-1]
    assert not any(name.startswith("Wiener") for name in running.conditions.judged())
    again = RunningTrial(TRIAL, tmp_path, tmp_path, said.append)
    monkeypatch.setattr(conditions, "choose", None)  # the search is not repeated
    assert list(again.conditions.controls) == ["P-D 99 %"]


def test_a_fine_tuned_model_gets_a_control_of_its_own_or_learns_with_one(run, monkeypatch):
    folder, _ = run

    def tuned(model, tokenizer, rows, held, *rest, **settings):
        few = rows.select(range(32)), held.select(range(8))
        return fine_tuning.choose_fine_tuning(model, tokenizer, *few, *rest, (1e-3,), **settings)

    monkeypatch.setattr(fine_tuning, "best_affordable", lambda tried: tried[1])
    monkeypatch.setattr(conditions, "choose", few)
    monkeypatch.setattr(conditions, "choose_fine_tuning", tuned)
    names = ("fine-tuned", "fine-tuned + Wiener typos", "fine-tuned-in-loop + Wiener typos")
    trial = replace(BARE, adaptive_n=1, rivals=names, label="in-loop")
    assert trial.name == "wiener-captions-minilm-nli-in-loop" and trial.choice == TRIAL.choice
    result = record(trial, folder / "results", folder / "runs", lambda _: None)
    assert set(names) < set(result["counts"])
    assert "adaptive textbugger, fine-tuned-in-loop + Wiener typos" in result["attacks"]
    found = RunningTrial(trial, folder / "results", folder / "runs")
    bare, own, looped = (found.conditions.rivals[name] for name in names)
    assert bare.control is None and bare.model is own.model is not looped.model
    base = found.conditions.controls["Wiener typos"]
    assert looped.control.sha256 == base.sha256
    assert own.control.origin.blocks != base.origin.blocks  # fitted to what was tuned
    assert own.summary.startswith(bare.summary) and own.summary.endswith(own.control.summary())
    again = RunningTrial(replace(trial, rivals=names[1:2]), folder / "results", folder / "runs")
    assert again.conditions.rivals[names[1]].summary == own.summary  # asked for alone
    with pytest.raises(ValueError, match="unknown rival 'fine-tuned-in-loop'"):
        replace(trial, rivals=("fine-tuned-in-loop",))


def test_words_of_another_source_are_another_choice(run, monkeypatch):
    folder, _ = run
    asked = []

    def words(mix, name):
        asked.append(name)
        return MADE[name]

    monkeypatch.setattr(conditions, "words_for", words)
    monkeypatch.setattr(conditions, "choose", few)
    monkeypatch.setitem(MADE, "lexicon", MADE["ppdb"])
    trial = replace(TRIAL, words_from="lexicon", estimated_on="captions", rivals=("spelling",))
    assert trial.name == "wiener-captions-minilm-nli-on-captions-with-lexicon"
    running = RunningTrial(trial, folder / "results", folder / "runs")
    assert "Wiener typos" in running.conditions.controls and asked == ["lexicon"]
    assert (folder / "runs" / trial.choice / "wiener typos").is_dir()
    assert trial.choice == trial.name != TRIAL.choice
    name = "captions-minilm-nli-adaptive-a2t-Wiener-typos-on-captions-with-lexicon.jsonl"
    assert running.log(Cell(ADAPTIVE, "a2t"), "Wiener typos") == name
    assert running.log(Cell("", "a2t")) == "captions-minilm-nli-a2t.jsonl"
    for wrong, said in (({"words_from": "luck"}, "words_from 'luck'"), ({"label": "a b"}, "label")):
        with pytest.raises(ValueError, match=said):
            replace(trial, **wrong)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"estimators": ()}, "not among the controls"),
        ({"estimators": (("wiener", "slang"),)}, "unknown estimating control"),
        ({"wide": True, "resources": "lexicon"}, "have no wide form"),
        ({"rivals": ("luck",)}, "unknown rival 'luck'"),
        ({"data": "snli-validation"}, "another file"),
    ],
)
def test_what_no_trial_can_do_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        replace(read_experiment("wiener-snli-test-minilm-nli"), **{"rivals": ()} | change)


def test_the_recorded_trial_is_of_all_mixes():
    trial = read_experiment("wiener-snli-test-minilm-nli")
    assert trial.rivals == (*RIVALS[:2], "spelling + Wiener words", "spelling + Terminal both")
    assert trial.estimators == (*(("wiener", mix) for mix in MIXES), ("terminal", "both"))
    assert control_name(*trial.adaptive[-1]) == "Terminal both"
