"""A recorded trial from end to end on a few captions, and the command line around it."""

import json

import pytest

from experiments import __main__ as door
from experiments.conditions import PLACEBOS
from experiments.run_trial import RunningTrial, record
from experiments.trial import Cell, Trial
from pidbook.evaluation.recorded_trial import recorded_trial
from pidbook.evaluation.results import read_result
from pidbook.evaluation.trial_results import ADAPTIVE, answers, proportions, stored_rows
from pidlib.attacks import attack_table
from pidlib.attacks.outcomes import read_outcomes
from pidlib.data.nli import load_nli
from tests.conftest import typed

pytestmark = pytest.mark.usefixtures("small_fits")

TRIAL = Trial(
    n=5,
    swarm=3,
    clean=24,
    recipes=("a2t", "pso", "textfooler"),
    controls=(("PD", 0.99), ("P", 0.9)),
    placebos=(("PD", 0.99),),
    adaptive=(("PD", 0.99),),
    adaptive_n=4,
    second=None,
    fitted_on=60,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trial")
    said = []
    result = record(TRIAL, folder / "results", folder / "runs", said.append)
    return folder, result, said


def test_the_result_is_whole_and_counts_agree_with_the_examples(run):
    folder, result, _ = run
    assert read_result(folder / "results" / "trial-captions-minilm-nli.json") == result
    placebos = [f"P-D 99 %: {k}" for k in ("negative", "noise 0", "rotation 1")]
    assert {"none", "P-D 99 %", "P 90 %", *placebos} <= set(result["counts"])
    assert len(result["counts"]) == 3 + len(PLACEBOS)
    for name, sets in result["counts"].items():
        sizes = {"clean": 24, "a2t": 5, "pso": 3, "textfooler": 5}
        if name == "P-D 99 %":
            sizes |= {"adaptive a2t": 4, "adaptive pso": 3, "adaptive textfooler": 4}
        assert {key: c["n"] for key, c in sets.items()} == sizes
        for key, count in sets.items():
            assert answers(result, name, key).sum() == count["right"]
            assert proportions(result)[name][key].right == count["right"]
    assert result["seconds"] > 0


def test_the_attacked_model_is_wrong_where_the_attack_succeeded(run):
    folder, result, _ = run
    rows = load_nli("captions", split="test", n=TRIAL.clean)
    place = folder / "results"
    for recipe in TRIAL.recipes:
        found = stored_rows(rows, "captions", recipe, place, TRIAL.model)
        right = answers(result, "none", recipe)
        assert right.tolist() == [row["kind"] == "failed" for row in found]
        told = {k: v for k, v in result["attacks"][recipe].items() if k != "seconds"}
        log = place / "attacks" / f"captions-minilm-nli-{recipe}.jsonl"
        assert told == attack_table(read_outcomes(log).outcomes)._asdict()
    for recipe in TRIAL.recipes:  # the same holds of the control that was attacked
        name = f"captions-minilm-nli-adaptive-{recipe}-P-D-99.jsonl"
        log = read_outcomes(place / "attacks" / name)
        right = answers(result, "P-D 99 %", f"adaptive {recipe}")
        assert right.tolist() == [o.status == "failed" for o in log.outcomes]
        assert "P-D control" in log.header["configuration"]["about"]["control"]
        assert log.header["configuration"]["hooked"]


def test_a_fair_trial_out_of_a_result(run):
    _, result, _ = run
    trial = recorded_trial(result, "a2t")
    assert set(trial.right) == {
        "none",
        "control",
        *(f"{a} {b}" for a, b in PLACEBOS[:-1]),
        "negative",
    }
    assert "adaptive" in trial.right["control"] and trial.gain("adaptive").n == 4
    assert trial.accuracy("none", "transfer") == proportions(result)["none"]["a2t"].value
    assert "if the attacker sees it?" in str(trial)
    bare = recorded_trial(result, "a2t", "P 90 %")
    assert "adaptive" not in bare.right["control"] and bare.kinds == []
    with pytest.raises(ValueError, match="no control 'P 50 %'"):
        recorded_trial(result, "a2t", "P 50 %")


def test_a_second_run_takes_up_all_that_is_done(run):
    folder, result, _ = run
    kept = {p: p.read_bytes() for p in (folder / "runs").rglob("*.json*")}
    again = record(TRIAL, folder / "results", folder / "runs", lambda _: None)
    assert again["counts"] == result["counts"] and again["examples"] == result["examples"]
    assert {p: p.read_bytes() for p in (folder / "runs").rglob("*.json*")} == kept


@pytest.fixture
def a2t(run, tmp_path):
    """Lines of a whole log, and where another in its place is read."""
    log = "captions-minilm-nli-a2t.jsonl"
    (tmp_path / "attacks").mkdir()
    lines = (run[0] / "results" / "attacks" / log).read_bytes().splitlines(keepends=True)
    return lines, tmp_path / "attacks" / log


def test_judging_refuses_attacks_of_another_model_and_asks_for_whole_ones(a2t, tmp_path):
    lines, log = a2t
    header = json.loads(lines[0])
    header["configuration"]["weights_sha256"] = "0" * 64
    foreign = [json.dumps(header).encode() + b"\n", *lines[1:]]
    for wrong, message in (
        (foreign, "holds another attack.*weights_sha256"),
        (lines[:3], "holds 2 of 5 outcomes"),
    ):
        log.write_bytes(b"".join(wrong))
        with pytest.raises(ValueError, match=message):
            RunningTrial(TRIAL, tmp_path, tmp_path, lambda _: None).judge()
        assert not list(tmp_path.glob("*.json"))


def test_stored_rows_want_a_whole_log(a2t, tmp_path):
    lines, log = a2t
    rows = load_nli("captions", split="test", n=TRIAL.clean)
    log.write_bytes(lines[0] + b"".join(reversed(lines[1:])))
    found = stored_rows(rows, "captions", "a2t", tmp_path, TRIAL.model)
    assert [row["id"] for row in found] == list(range(TRIAL.n))
    log.write_bytes(b"".join(lines[:2] + lines[3:]))
    with pytest.raises(ValueError, match="is not whole"):
        stored_rows(rows, "captions", "a2t", tmp_path, TRIAL.model)


def test_a_judged_set_of_another_configuration_is_not_taken(run):
    folder, result, _ = run
    place = next((folder / "runs" / "judged").rglob("P-D 99 % clean.json"))
    kept = place.read_bytes()
    stored = json.loads(kept)
    stored["of"]["weights"], stored["right"] = "other", "000000"
    place.write_text(json.dumps(stored))
    try:
        again = RunningTrial(TRIAL, folder / "results", folder / "runs", lambda _: None).judge()
        assert again["examples"] == result["examples"]
    finally:
        place.write_bytes(kept)


def test_the_parts_of_a_trial_are_its_attacks_and_the_verdict():
    assert Trial(recipes=()).cells == () and Trial(recipes=()).parts == ("judge",)
    assert Cell(ADAPTIVE, "pso") in Trial(adaptive=(("PD", 0.99),)).cells
    assert "adaptive pso" in Trial(adaptive=(("PD", 0.99),)).parts


def test_parts_run_one_by_one_end_the_same(run):
    folder, result, _ = run
    places = folder / "results", folder / "runs", lambda _: None
    assert record(TRIAL, *places, only="adaptive a2t, P-D 99 %") == {}
    with pytest.raises(ValueError, match="unknown condition 'P-D 1 %'"):
        record(TRIAL, *places, only="adaptive a2t, P-D 1 %")
    judged = record(TRIAL, *places, config="mine/few.toml", only="judge")
    assert judged["counts"] == result["counts"] and judged["config"] == "few.toml"
    assert judged["command"] == "python -m experiments run mine/few.toml"


@pytest.mark.parametrize(
    ("cell", "of"), [(Cell("", "textfooler"), ""), (Cell(ADAPTIVE, "textbugger"), "P-D 99 %")]
)
def test_a_log_of_the_recorded_trial_broken_off_goes_on(cell, of, tmp_path, request):
    """The header tells weights, words and control by what they were called when it was written."""
    book = request.config.rootpath / "book" / "results"
    settings = read_result(book / "trial-captions-minilm-nli.json")["configuration"]
    trial = Trial(n=4, adaptive=(("PD", 0.99),), fitted_on=settings["fitted_on"])
    running = RunningTrial(trial, tmp_path / "results", tmp_path, lambda _: None)
    name = running.log(cell, of)
    recorded = (book / "attacks" / name).read_bytes()
    lines = recorded.splitlines(keepends=True)
    (tmp_path / name).write_bytes(b"".join(lines[:3]) + lines[3][:20])
    running.attack(cell)
    assert (tmp_path / "results" / "attacks" / name).read_bytes() == b"".join(lines[:5])
    foreign = lines[0].replace(b"textattack", b"textfight")
    (tmp_path / name).write_bytes(foreign + lines[1])
    with pytest.raises(ValueError, match="another configuration.*textfight"):
        running.attack(cell)


def test_mistakes_on_the_command_line_end_with_2_and_one_line(monkeypatch, tmp_path):
    monkeypatch.delenv("PIDLIB_DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    cases = {
        "run trial-snli-test-minilm-nli": "PIDLIB_DATA_DIR",
        "run magic": "no configuration 'magic'; known: ['trial-anli-r1-dev-minilm-nli', ",
        "run trial-captions-minilm-nli --only deepfool": "no part 'deepfool'",
        "run vision-cnn": "vision-cnn was measured once and has left the tree; to run it again",
    }
    for words, message in cases.items():
        code, _, told = typed(door, *words.split())
        assert code == 2 and message in told
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
