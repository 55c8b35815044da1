"""Placebos keep the size of the control and lose its direction; the trial counts rightly."""

import re
from itertools import product

import numpy as np
import pytest
import torch
from datasets import Dataset

from contents import ROOT
from pidbook.estimation import SynonymEncoding
from pidbook.evaluation.recorded_trial import recorded_trial
from pidbook.evaluation.results import read_result
from pidlib.data.batches import encode
from pidlib.evaluation.accuracy import predict
from pidlib.evaluation.exact import choices
from pidlib.evaluation.fair_trial import FairTrial, fair_trial
from pidlib.evaluation.placebos import PLACEBO_KINDS, Placebo
from pidlib.evaluation.statistics import bootstrap, compare, conclude
from pidlib.hooks import find_blocks
from pidlib.pid import PIDController
from tests.conftest import WORDS


class Swap:
    name, sha256 = "swap", "1"

    def synonyms(self, word):
        return tuple(w for w in WORDS if w != word)[:4]


@pytest.fixture(scope="module")
def fitted(tiny):
    """Return a tiny BERT, its tokenizer, rows it answers rightly, and a control."""
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(24)
    answers = predict(model, tokenizer, rows)
    rows = [row | {"label": int(k)} for row, k in zip(rows, answers, strict=True)]
    return model, tokenizer, rows, PIDController.fit(model, tokenizer, rows, variance=0.8)


@pytest.fixture(scope="module")
def batch(fitted):
    _, tokenizer, rows, _ = fitted
    return dict(encode(tokenizer, rows[:5]))


@pytest.mark.parametrize("kind", PLACEBO_KINDS)
def test_a_placebo_has_the_controls_norm_and_another_direction(tiny, fitted, batch, kind):
    model, _, _, controller = fitted
    base, seen, real = tiny.answer(model, batch), [], Placebo(controller, kind, seed=3).stand_in()

    def watched(t, u, mask):
        new = real(t, u, mask)
        seen.append((u.clone(), new.clone()))
        return new

    with controller.attached(model, instead=watched):
        assert not torch.allclose(tiny.answer(model, batch), base)
    assert torch.equal(tiny.answer(model, batch), base)
    assert len(seen) == find_blocks(model).depth
    for u, new in seen:
        assert torch.allclose(u.norm(dim=-1), new.norm(dim=-1), rtol=1e-4, atol=1e-6)
        real_tokens = u.norm(dim=-1) > 0
        agree = torch.cosine_similarity(u, new, dim=-1)[real_tokens].mean()
        assert agree == pytest.approx(-1.0, abs=1e-5) if kind == "negative" else abs(agree) < 0.5


def test_the_same_seed_gives_the_same_answers_and_another_does_not(tiny, fitted, batch):
    model, _, _, controller = fitted
    for kind in ("noise", "rotation"):
        one, again, other = (Placebo(controller, kind, seed) for seed in (1, 1, 2))
        found = [tiny.answer(model, batch, of) for of in (one, one, again, other)]
        assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])
        assert not torch.allclose(found[0], found[3])


def test_instead_of_the_control_the_control_itself_changes_nothing(tiny, fitted, batch):
    model, _, _, controller = fitted
    one = tiny.answer(model, batch, controller)
    with controller.attached(model, instead=lambda t, u, mask: u):
        assert torch.allclose(tiny.answer(model, batch), one, atol=1e-5)
    with controller.attached(model, instead=lambda t, u, mask: 0 * u):
        zero = tiny.answer(model, batch)
    assert torch.allclose(zero, tiny.answer(model, batch), atol=1e-6)


def test_a_trial_end_to_end_and_its_resume(fitted, tmp_path):
    model, tokenizer, rows, controller = fitted

    settings = dict(recipe="textfooler", resources=Swap(), seeds=(0, 1), folder=tmp_path)
    other = (model, tokenizer)
    trial = fair_trial(model, tokenizer, controller, rows[:8], second=other, **settings)
    assert trial.accuracy("none", "clean") == 1.0
    assert set(trial.right) == {
        "none", "control", "noise 0", "noise 1", "rotation 0", "rotation 1", "negative", "second",
    }  # fmt: skip
    assert np.array_equal(trial.right["second"]["transfer"], trial.right["none"]["transfer"])
    loaded = Dataset.from_list(rows[:8])  # as `load_nli` returns rows
    again = fair_trial(model, tokenizer, controller, loaded, second=other, **settings)
    assert str(again) == str(trial)
    logs = {f"textfooler-{kind}.jsonl" for kind in ("adaptive", "transfer")}
    assert {path.name for path in tmp_path.iterdir()} == logs


def test_of_several_attacks_the_worst_counts(fitted):
    model, tokenizer, rows, controller = fitted
    settings = dict(resources=Swap(), seeds=(0,))
    recipes = ("textfooler", "textbugger")
    alone = [fair_trial(model, tokenizer, controller, rows[:6], r, **settings) for r in recipes]
    both = fair_trial(model, tokenizer, controller, rows[:6], recipes, **settings)
    for name in both.right:
        for key in set(both.right[name]) & {"transfer", "adaptive"}:
            worst = np.all([trial.right[name][key] for trial in alone], axis=0)
            assert np.array_equal(both.right[name][key], worst)
    assert "textfooler, textbugger, n = 6" in str(both)
    with pytest.raises(ValueError, match="at least one attack"):
        fair_trial(model, tokenizer, controller, rows[:6], (), **settings)


def test_an_encoding_is_put_on_trial_as_a_control_is(fitted, tmp_path):
    model, tokenizer, rows, _ = fitted
    encoding = SynonymEncoding(dict.fromkeys(WORDS, 1), Swap(), 4)
    encoded = encoding.before(tokenizer)
    trial = fair_trial(
        model, encoded, encoding, rows[:6], resources=Swap(), exact=6, seeds=(), folder=tmp_path
    )
    assert set(trial.right) == {"none", "control"}  # what pushes no state has no placebo
    for name in ("none", "control"):
        texts = rows[:6]
        if name == "control":
            texts = [r | {c: encoding(r[c]) for c in ("premise", "hypothesis")} for r in texts]
        right = predict(model, tokenizer, texts) == [row["label"] for row in texts]
        assert np.array_equal(trial.right[name]["clean"], right)
    header = (tmp_path / "textfooler-adaptive.jsonl").read_text().splitlines()[0]
    assert encoding.summary() in header
    with encoding.attached(model), pytest.raises(RuntimeError, match="attached already"):
        encoding.attached(model).__enter__()
    assert encoded("red dog")["input_ids"] == tokenizer("red dog")["input_ids"]


def test_contrast_and_exact_are_what_a_count_by_hand_gives(fitted):
    model, tokenizer, rows, controller = fitted
    pairs = [{k: row[k] for k in ("premise", "hypothesis")} for row in rows[8:14]]
    answers = predict(model, tokenizer, pairs)
    contrast = [pair | ({"label": 0} if k < 3 else {"was": 0}) for k, pair in enumerate(pairs)]
    settings = {"contrast": contrast, "exact": 4}
    trial = fair_trial(model, tokenizer, controller, rows[:6], "textfooler", Swap(), **settings)
    right = [*(answers[:3] == 0), *(answers[3:] != 0)]
    assert np.array_equal(trial.right["none"]["contrast"], right)
    for row, held in zip(rows, trial.right["none"]["exact"], strict=False):
        of = choices(row["hypothesis"], Swap())
        every = product(*map(range, of.sizes))
        texts = [of.written(choice) for choice in every if np.count_nonzero(choice) <= 2]
        right = predict(model, tokenizer, [row | {"hypothesis": text} for text in texts])
        assert held == (right == row["label"]).all()
    assert [len(trial.right[c]["exact"]) for c in ("none", "control")] == [4, 4]
    assert "noise 0" in trial.right and "contrast" in trial.right["noise 0"]
    questions = [question for question, _, _ in trial.answers()]
    assert questions[-2] == "Does it miss changes of meaning?"
    assert max(map(len, str(trial).splitlines())) <= 80  # of a terminal
    assert trial.card("a title").count("Does it miss") == 1
    assert " ".join(trial.table()[0]) == "condition clean transfer adaptive contrast exact"
    assert trial.table()[2]["exact"] == "-"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"exact": -1}, "exact = -1"),
        ({"contrast": [{"premise": "a", "hypothesis": "a"}]}, "contrast row 0"),
        ({"contrast": [{"premise": "a", "hypothesis": "a", "label": 1, "was": 0}]}, "either"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_an_attack(fitted, settings, said, tmp_path):
    model, tokenizer, rows, controller = fitted
    with pytest.raises(ValueError, match=said):
        fair_trial(model, tokenizer, controller, rows[:2], folder=tmp_path, **settings)
    assert not any(tmp_path.iterdir())


def made(n=400, p=(0.2, 0.5, 0.5, 0.2)):
    random = np.random.default_rng(1)
    draw = lambda share: random.random(n) < share  # noqa: E731
    right = {
        "none": {"clean": draw(0.9), "transfer": draw(p[0])},
        "control": {"clean": draw(0.9), "transfer": draw(p[1])},
        "noise 0": {"clean": draw(0.9), "transfer": draw(p[2])},
        "noise 1": {"clean": draw(0.9), "transfer": draw(p[2])},
        "negative": {"clean": draw(0.9), "transfer": draw(p[3])},
    }
    right["none"]["adaptive"] = right["none"]["transfer"]
    right["control"]["adaptive"] = draw(p[0])
    return FairTrial("made", right)


def test_the_answers_follow_the_exact_test():
    trial = made()
    told = {question: answer for question, answer, _ in trial.answers()}
    assert told["Does it help against transfer?"] == "gain"
    assert told["More than the placebo noise?"] == "open"
    assert told["More than the placebo negative?"] == "gain"
    assert told["Does it help if the attacker sees it?"] == "open"
    lines = str(trial).splitlines()
    assert max(map(len, lines)) <= 79
    counts = [line.strip() for line in lines if line.lstrip().startswith("(")]
    more = compare(*(trial.right["control"][key] for key in ("transfer", "adaptive")))
    gains = [*map(trial.gain, trial.right["control"]), more]
    assert counts == ["(" + str(gain).split(" (")[1] for gain in gains]
    assert told["Do texts made for it break it more?"] == "loss"
    worse = made(p=(0.5, 0.2, 0.5, 0.1))
    told = {question: answer for question, answer, _ in worse.answers()}
    assert told["Does it help against transfer?"] == "loss"
    assert told["More than the placebo noise?"] == "loss"
    # texts that never saw it break more than those made for it: the trial is unreliable
    assert told["Do texts made for it break it more?"] == "gain"
    mean, low, high = trial.beyond("noise")
    noise = [trial.right[f"noise {k}"]["transfer"] for k in (0, 1)]
    by_hand = trial.right["control"]["transfer"] - np.mean(noise, axis=0)
    assert mean == pytest.approx(by_hand.mean()) and low < mean < high
    with pytest.raises(ValueError, match="no condition 'second'"):
        trial.beyond("second")


def test_a_recorded_trial_knows_its_other_recipes():
    result = read_result(ROOT / "book/results/trial-snli-test-minilm-nli.json")
    trial = recorded_trial(result, "pso")
    assert [of.recipe for of in trial.beside] == ["a2t", "textbugger", "textfooler"]
    adaptive = {of.recipe: of.gain("adaptive") for of in (trial, *trial.beside)}
    told = {question: answer for question, answer, _ in trial.answers()}
    assert told["Does it help if the attacker sees it?"] == conclude(adaptive)["pso"]
    alone = {"clean": trial.gain("clean")}  # asked once, whatever the recipes
    assert told["Does it cost clean accuracy?"] == conclude(alone)["clean"]


def test_the_card_says_which_answers_are_good():
    helps, harms = made(), made(p=(0.5, 0.2, 0.5, 0.1))
    for question, sides in (
        ("Does it help against transfer?", ("gain | good", "loss | bad")),
        ("More than the placebo noise?", ("open | open", "loss | bad")),
        ("Do texts made for it break it more?", ("loss | good", "gain | bad")),
    ):
        for trial, side in zip((helps, harms), sides, strict=True):
            assert f"| {question} | {side} |" in trial.card("a title")
    none, control = (helps.right[name] for name in ("none", "control"))
    control["clean"] = np.zeros(400, dtype=bool)  # it costs all of clean accuracy
    assert "| loss | bad |" in helps.card("a title")
    none["clean"], control["clean"] = control["clean"], ~control["clean"]
    assert "| Does it cost clean accuracy? | gain | good |" in helps.card("a title")


def test_the_defence_of_the_page_on_defences_goes_through_a_trial(tiny, fitted, batch):
    model, tokenizer, rows, _ = fitted
    page = (ROOT / "book/test-your-defence.md").read_text(encoding="utf-8")
    names, seen = {}, []
    exec(re.search(r"```python\n(from contextlib.+?)```", page, re.S)[1], names)
    defence = names["Shrink"]()

    def instead(t, u, mask):
        seen.append(u)
        return 0 * u

    bare = tiny.answer(model, batch)
    assert not torch.equal(tiny.answer(model, batch, defence), bare)
    with defence.attached(model, instead):
        assert torch.equal(tiny.answer(model, batch), bare)
    assert torch.equal(tiny.answer(model, batch), bare)  # and leaves nothing behind
    assert len(seen) == find_blocks(model).depth
    trial = fair_trial(model, tokenizer, defence, rows[:6], "textfooler", Swap())
    assert trial.right["control"]["adaptive"].shape == (6,)


def test_bootstrap_covers_as_it_says():
    random = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        sample = random.choice([1.0, 0.0, -1.0], size=300, p=[0.3, 0.5, 0.2])
        low, high = bootstrap(sample)
        inside += low <= 0.1 <= high
    assert 0.90 <= inside / 300 <= 0.99
    with pytest.raises(ValueError, match="no differences"):
        bootstrap(np.array([]))
