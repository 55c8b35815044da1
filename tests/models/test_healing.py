"""A language model under a terminal control, and the trial of what follows a prompt with slips."""

from __future__ import annotations

import json

import pytest
import torch
import transformers as tf

from experiments.writers import healing
from experiments.writers.healing import FOREIGN, Heal, Healing, RunningHealing
from experiments.writers.slips import FITTED, FUNCTION_WORDS, SLIPS, Slips
from pidbook.estimation.spelling import SpellingNormaliser
from pidlib import load_controller
from pidlib.data.batches import continued
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.estimation.estimator import Estimator
from pidlib.estimation.layerwise import changed_rows
from pidlib.evaluation.placebos import Placebo

PROMPT = {"premise": "The old man is riding a horse on the beach with", "hypothesis": " his dog ."}


@pytest.fixture(scope="module")
def writer(tiny):
    config = tiny.model("llama").config
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return tf.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def rows(tiny):
    return [{key: row[key] for key in ("premise", "hypothesis")} for row in tiny.rows(24)]


@pytest.fixture(scope="module")
def fitted(tiny, writer, rows):
    how = {"rule": "terminal", "layers": [1, 2], "skip_first": 1, "epochs": 8, "rate": 1e-2}
    return Estimator.fit(writer, tiny.tokenizer(), rows, RandomEdits(), rank=2, **how)


def divergence(tiny, writer, rows, changed):
    """KL of what is said of the continuations from what the bare model says after clean prompts."""
    said = []
    for of in (rows, changed):
        inputs, follows = continued(tiny.tokenizer(), of)
        with torch.no_grad():
            said.append(writer(**inputs).logits[:, :-1][follows[:, 1:]].log_softmax(-1))
    return said


def test_a_terminal_control_heals_what_a_writer_says_next(tiny, writer, rows, fitted):
    changed = [row for row, _ in changed_rows(writer, rows, RandomEdits(), seed=3)]
    assert all(a["hypothesis"] == b["hypothesis"] for a, b in zip(rows, changed, strict=True))
    wanted, bare = divergence(tiny, writer, rows, changed)
    with fitted.attached(writer):
        clean, held = divergence(tiny, writer, rows, changed)
    gap, left, price = (
        float((wanted.exp() * (wanted - seen)).sum()) for seen in (bare, held, clean)
    )
    assert left < 0.9 * gap and price < 0.5 * gap
    assert torch.equal(divergence(tiny, writer, rows, changed)[0], wanted)


def test_a_control_of_a_rank_is_thin_kept_and_loaded_the_same(fitted, tmp_path):
    assert [kinds["estimate"].form for kinds in fitted.feedback.values()] == ["thin 2", "thin 2"]
    assert all(int(torch.linalg.matrix_rank(of.step)) <= 2 for of in fitted.estimates.values())
    fitted.save_pretrained(tmp_path)
    again = load_controller(tmp_path)
    assert (again.sha256, again.rank, again.skip_first) == (fitted.sha256, 2, 1)
    assert "of rank 2" in again.summary() and "without the first 1" in again.summary()
    assert again.summary() == fitted.summary()
    card = json.loads((tmp_path / "controller.json").read_text())
    card["settings"]["rank"] = 3
    (tmp_path / "controller.json").write_text(json.dumps(card))
    with pytest.raises(ValueError, match="left"):
        load_controller(tmp_path)


def test_the_first_position_is_neither_fitted_nor_controlled(tiny, writer, rows, fitted):
    ids = torch.arange(4, 12)[None]
    with torch.no_grad():
        bare = writer(ids).logits
        with fitted.attached(writer):
            held = writer(ids).logits
    assert torch.equal(held[:, 0], bare[:, 0]) and not torch.allclose(held[:, 1], bare[:, 1])
    words = [
        Estimator.fit(writer, tiny.tokenizer(), rows, RandomEdits(), layers=[1], skip_first=skip)
        for skip in (0, 2)
    ]
    assert words[0].origin.tokens > words[1].origin.tokens


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"skip_first": -1}, "skip_first is -1; give a number of positions"),
        ({"skip_first": 1.5}, r"skip_first is 1.5"),
        ({"rank": 0}, "rank is 0; give a number from 1 to 16, or None"),
        ({"rank": 17}, "rank is 17"),
        ({"rank": 2, "rule": "regression"}, "'regression' has maps of full rank"),
        ({"rows": [{"text": "A man rides."}]}, "prompts with a continuation: give rows with"),
        ({"rows": [{"premise": "A man", "hypothesis": ""}]}, "continuation of 'A man' is left"),
    ],
)
def test_bad_settings_are_named(tiny, writer, rows, settings, said):
    given = {"rule": "terminal", "layers": [1], "rows": rows} | settings
    with pytest.raises(ValueError, match=said):
        Estimator.fit(writer, tiny.tokenizer(), given.pop("rows"), RandomEdits(), **given)


@pytest.mark.parametrize("kind", SLIPS)
def test_slips_change_the_prompt_alone(kind):
    changed, edits = perturbed_rows([PROMPT] * 40, Slips(kind), 0)[7]
    assert changed["hypothesis"] == PROMPT["hypothesis"] and 0 < len(edits) <= 3
    old, new = (row["premise"].split() for row in (PROMPT, changed))
    if kind == "swapped words":
        assert sorted(old) == sorted(new) and old != new
    elif kind == "missing words":
        assert all(old[edit.word].lower() in FUNCTION_WORDS for edit in edits)
        assert len(new) == len(old) - len(edits)
    elif kind == "other words":
        assert SpellingNormaliser()(changed["premise"]) == changed["premise"] != PROMPT["premise"]


def test_a_mixed_slip_is_one_of_those_fitted():
    texts = {row["premise"] for row, _ in perturbed_rows([PROMPT] * 60, Slips("mixed"), 0)}
    assert len(texts) > 30 and FITTED == SLIPS[:3]
    with pytest.raises(ValueError, match="unknown slip 'typo'"):
        Slips("typo")


@pytest.fixture(scope="module")
def running(tiny, writer, rows, tmp_path_factory):
    """The trial on a tiny writer and the words that it knows."""
    patch = pytest.MonkeyPatch()
    patch.setattr(healing, "load_model", lambda _: (writer, tiny.tokenizer()))
    patch.setattr(healing, "prompts", lambda names, n: rows[:n])
    patch.setattr(healing, "BATCH", 4)
    trial = Healing(n=6, fitted_on=24, closed_on=24, epochs=1, rank=2, states=(1, 2))
    yield RunningHealing(trial, tmp_path_factory.mktemp("runs"), lambda _: None)
    patch.undo()


def test_scores_are_sums_over_the_continuation(tiny, writer, rows, running):
    bare = running._scores(Heal(), running.sets["clean"])
    assert max(bare["divergence"]) < 1e-3  # clean prompts, no control
    inputs, follows = continued(tiny.tokenizer(), rows[:1])
    with torch.no_grad():
        said = writer(**inputs).logits[0].log_softmax(-1)
    places = follows[0].nonzero()[:, 0].tolist()
    loss = -sum(float(said[k - 1, inputs["input_ids"][0, k]]) for k in places)
    assert bare["loss"][0] == pytest.approx(loss, abs=2e-3)
    assert len(places) == running.tokens[0] == len(rows[0]["hypothesis"].split())


def test_another_texts_push_is_its_own_control(writer, rows, fitted, running):
    """Of a batch of equal texts it is the control itself; else it differs from it."""
    same = [rows[0]] * 4
    own, foreign = (running._predicted(same, Heal(fitted, foreign=flag)) for flag in (False, True))
    assert all(torch.allclose(a, b, atol=1e-5) for (a, _), (b, _) in zip(own, foreign, strict=True))
    own, foreign = (
        running._predicted(rows[:4], Heal(fitted, foreign=flag)) for flag in (False, True)
    )
    assert not all(
        torch.allclose(a, b, atol=1e-3) for (a, _), (b, _) in zip(own, foreign, strict=True)
    )


def test_scores_are_computed_once(running, fitted, monkeypatch):
    heal = Heal(Placebo(fitted, "negative"))
    first = running.scored(f"x: {FOREIGN}", heal)
    monkeypatch.setattr(RunningHealing, "_scores", None)
    assert running.scored(f"x: {FOREIGN}", heal) == first
    assert set(first["scores"]) == {"clean", *SLIPS}


def test_what_is_judged_is_not_fitted_on():
    with pytest.raises(ValueError, match="'snli-test' is judged"):
        Healing(sources=("snli-test",))
