"""What a control is compared with: mended text and a fine-tuned copy of the model."""

from __future__ import annotations

import sys
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, strategies as st
from torch.nn.functional import cross_entropy

from experiments import fine_tuning
from experiments.fine_tuning import Rate, choose_fine_tuning, fine_tuned
from experiments.training import LoraSettings, with_lora
from pidbook.estimation import NormalisedTokenizer, spelling
from pidbook.estimation.spelling import SpellingNormaliser
from pidlib import load_model, load_nli
from pidlib.attacks.attack import attack
from pidlib.attacks.outcomes import transfer_rows
from pidlib.data.batches import texts
from pidlib.data.edits import word_spans
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.estimation.estimator import Estimator
from pidlib.evaluation.accuracy import predict, right_answers
from pidlib.hooks import find_blocks

EDITS = RandomEdits({"swap": 1.0, "drop": 1.0}, edits=2)


def quiet(_line):
    pass


@pytest.fixture(scope="module")
def mend():
    return SpellingNormaliser(known=["Selfie"])


@pytest.fixture(scope="module")
def victim(mend):
    model, tokenizer = load_model("minilm-nli")
    return model, NormalisedTokenizer(tokenizer, mend)


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("A wmoan plays thhe guitarr.", "A woman plays the guitar."),
        ("Wmoan!  'Chidlren'", "Woman!  'Children'"),
        ("the m\u0430n's d\u043eg", "the man's dog"),
        ("x o 2nd b1ke 4x4 ... ?", "x o 2nd b1ke 4x4 ... ?"),
        ("she isn't, isn\u2019t, is n't; he doessn't", "she isn't, isn\u2019t, is n't; he doesn't"),
        ("a bicylce-riderr's selfie", "a bicycle-rider's selfie"),
        ("MEN ARE HERE qzxvkjqz", "MEN ARE HERE qzxvkjqz"),
    ],
)
def test_words_are_mended(mend, text, mended):
    assert mend(text) == mended
    assert mend(mended) == mended


def test_the_nearest_word_wins_and_then_the_most_frequent(mend):
    frequent = spelling.speller().words
    assert mend("hosue") == "house"  # one swap, though "some" is more frequent
    assert mend("thee") == "thee" and "thee" in frequent  # a word is a word
    assert mend("wter") == "water" and frequent["water"] > frequent["wader"]


@given(st.text(alphabet="abehinorst\u0430\u0435 '-_*@.,2X\u2019", max_size=40))
def test_words_keep_their_number_and_what_is_between_them(text):
    made = SpellingNormaliser()(text)

    def gaps(of):
        spans = [(0, 0), *word_spans(of), (len(of), len(of))]
        return [of[a[1] : b[0]] for a, b in zip(spans, spans[1:], strict=False)]

    assert gaps(made) == gaps(text)


def test_bad_known_words_and_a_missing_library_are_named(monkeypatch):
    with pytest.raises(ValueError, match="the string 'selfie'"):
        SpellingNormaliser(known="selfie")
    monkeypatch.setitem(sys.modules, "symspellpy", None)
    with pytest.raises(ImportError, match="pip install symspellpy"):
        spelling.speller.__wrapped__()


def test_the_tokenizer_reads_every_form_of_text_normalised(victim):
    _, both = victim
    plain = both.tokenizer
    bad, good = ("A wmoan runs.", "Thhe dog"), ("A woman runs.", "The dog")
    one = {"padding": True, "return_tensors": "pt"}
    for given_text, right in [
        (bad[:1], good[:1]),
        (bad, good),
        ([list(bad)], [list(good)]),
        ([[bad, bad[::-1]]], [[good, good[::-1]]]),
        ([list(bad), list(bad)], [list(good), list(good)]),
    ]:
        assert torch.equal(both(*given_text, **one)["input_ids"], plain(*right, **one)["input_ids"])
    assert both.encode(*bad) == plain.encode(*good)
    assert both.tokenize(bad[0]) == plain.tokenize(good[0])
    assert both("a dog", None)["input_ids"] == plain("a dog")["input_ids"]
    assert both.pad_token == plain.pad_token and both.is_fast and len(both) == len(plain)
    assert deepcopy(both)(bad[0])["input_ids"] == plain(good[0])["input_ids"]
    with pytest.raises(ValueError, match="normalise the rows"):
        both("a dog", return_offsets_mapping=True)
    with pytest.raises(AttributeError, match="shout"):
        both.shout  # noqa: B018


@pytest.mark.parametrize("recipe", ["textbugger", "a2t"])
def test_an_attack_sees_what_the_judge_sees(victim, recipe):
    rows = [dict(row) for row in load_nli("captions", split="train", n=3)]
    rows[0]["hypothesis"] = rows[0]["hypothesis"].replace("is", "iss", 1) + " Nnow."
    outcomes = attack(*victim, rows, recipe, "lexicon")
    moved = transfer_rows(rows, outcomes)
    kinds = [row["kind"] for row in moved]
    assert right_answers(*victim, moved).tolist() == [kind == "failed" for kind in kinds]
    assert right_answers(*victim, rows).tolist() == [kind != "skipped" for kind in kinds]
    assert any(outcome.edits for outcome in outcomes)


def told(model):
    """All of a model that a training could change."""
    modules = [(name, type(m), getattr(m, "p", None)) for name, m in model.named_modules()]
    grads = [(name, p.requires_grad, p.grad is None) for name, p in model.named_parameters()]
    return modules, grads, model.training, model.config.to_dict()


@pytest.mark.parametrize("kind", ["bert", "peft"])
def test_the_copy_learns_and_the_original_does_not(tiny, kind, tmp_path):
    model = tiny.model("bert" if kind == "peft" else kind)
    if kind == "peft":
        model = with_lora(model, LoraSettings(rank=2)).eval()
    tokenizer, rows, inputs = tiny.tokenizer(), tiny.rows(40), tiny.inputs("bert")
    with torch.no_grad():
        before, was, drawn = model(**inputs).logits, told(model), torch.get_rng_state()
        settings = {"learning_rate": 0.01, "report": quiet}
        with torch.enable_grad():
            made = fine_tuned(model, tokenizer, rows, EDITS, tmp_path, **settings)
        assert torch.equal(model(**inputs).logits, before) and told(model) == was
        assert torch.equal(torch.get_rng_state(), drawn)
        after = made(**inputs).logits
        assert not torch.allclose(after, before, atol=1e-2) and not made.training
        assert not any("lora" in name for name, _ in made.named_modules())
        if kind != "peft":
            assert type(made) is type(model) and told(made) == was
        # the checkpoint is read again; another model does not get it
        again = fine_tuned(model, tokenizer, rows, EDITS, str(tmp_path), **settings)
        assert torch.equal(again(**inputs).logits, after)
        assert len(list(tmp_path.iterdir())) == 1
    assert len(predict(made, tokenizer, rows)) == 40
    fine_tuned(tiny.model("bert", seed=1), tokenizer, rows[:8], EDITS, tmp_path, report=quiet)
    assert len(list(tmp_path.iterdir())) == 2


def telling_rows():
    """Pairs whose label is told by the hypothesis's verb."""
    return [
        {"premise": "the dog sits", "hypothesis": f"a cat {verb}", "label": k}
        for k, verb in enumerate(("runs", "sleeps", "eats"))
    ] * 200


def test_it_learns_the_labels_of_perturbed_text_in_the_model_s_own_order(tiny, tmp_path):
    rows = telling_rows()
    model = tiny.model("bert", id2label={0: "contradiction", 1: "entailment", 2: "neutral"})
    drop = RandomEdits({"drop": 1.0}, edits=1)
    held = [row for row, _ in perturbed_rows(rows[:60], drop, seed=5)]
    settings = {"learning_rate": 0.02, "report": quiet}
    made = fine_tuned(model, tiny.tokenizer(), rows, drop, tmp_path, **settings)
    assert right_answers(made, tiny.tokenizer(), rows[:3]).all()
    assert right_answers(made, tiny.tokenizer(), held).mean() > 0.7


def test_a_copy_learns_to_work_with_the_control_that_is_in_place(tiny, tmp_path):
    rows = telling_rows()
    model, tokenizer = tiny.model("bert"), tiny.tokenizer()
    control = Estimator.fit(model, tokenizer, rows[:30], EDITS, layers=[1])
    mirror = -torch.eye(control.origin.width).double()  # of a state: the rest has to learn it
    control = replace(control, estimates={1: replace(control.estimates[1], A=mirror)})
    settings = {"learning_rate": 0.02, "seed": 1, "report": quiet}

    def loss(one):
        first, second = texts(rows[:3])
        inputs = tokenizer(first, second, return_tensors="pt", padding=True)
        with torch.no_grad(), control.carried_to(one).attached(one):
            return float(cross_entropy(one(**inputs).logits, torch.arange(3)))

    made = fine_tuned(model, tokenizer, rows, EDITS, tmp_path, control=control, **settings)
    assert not find_blocks(model).is_controlled and not find_blocks(made).is_controlled
    plain = fine_tuned(model, tokenizer, rows, EDITS, tmp_path, **settings)
    assert loss(made) < 0.5 * loss(plain)
    with control.carried_to(plain).attached(plain), pytest.raises(ValueError, match="uncontroll"):
        fine_tuned(plain, tokenizer, rows, EDITS, tmp_path, control=control, **settings)
    assert len(list(tmp_path.iterdir())) == 2  # one folder for each


def test_rates_are_judged_under_the_control_and_the_model_without_it(tiny, monkeypatch, tmp_path):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(12)
    control = Estimator.fit(model, tokenizer, rows, EDITS, layers=[0])
    seen = []

    def right(one, tokenizer, part):
        seen.append(find_blocks(one).is_controlled)
        return right_answers(one, tokenizer, part)

    monkeypatch.setattr(fine_tuning, "right_answers", right)
    choose_fine_tuning(
        model, tokenizer, rows[:8], rows[8:], EDITS, tmp_path, rates=(1e-3,), control=control
    )
    assert seen == [False, False, True, True]


def test_bad_input_to_fine_tuning_is_named(tiny, tmp_path):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(8)
    control = Estimator.fit(model, tokenizer, rows, EDITS)
    with control.attached(model), pytest.raises(ValueError, match="uncontrolled model"):
        fine_tuned(model, tokenizer, rows, EDITS, tmp_path)
    with pytest.raises(ValueError, match="learning_rate is 0"):
        fine_tuned(model, tokenizer, rows, EDITS, tmp_path, learning_rate=0)
    with pytest.raises(ValueError, match="no rows"):
        fine_tuned(model, tokenizer, [], EDITS, tmp_path)


def chosen_with(monkeypatch, tiny, out, shares, **settings):
    """Choose, with given shares of right answers, clean and perturbed in turn."""
    shown, asked = iter(v for pair in shares for v in pair), []

    def judge(one, _tokenizer, part):
        asked.append((one, part))
        return torch.tensor([next(shown)])

    monkeypatch.setattr(fine_tuning, "right_answers", judge)
    rows = tiny.rows(16)
    model = tiny.model("bert")
    found = choose_fine_tuning(model, tiny.tokenizer(), rows[:8], rows[8:], EDITS, out, **settings)
    return model, rows, found, asked


def test_the_best_rate_of_those_that_cost_little(monkeypatch, tiny, tmp_path):
    shares = [(0.80, 0.60), (0.80, 0.62), (0.79, 0.66), (0.78, 0.70)]
    said = []
    model, rows, found, asked = chosen_with(
        monkeypatch, tiny, tmp_path, shares, seed=3, report=said.append
    )
    assert [one.rate for one in found.tried] == [0.0, *fine_tuning.RATES]
    assert found.chosen.rate == 3e-4 and found.chosen.perturbed == pytest.approx(0.66)
    assert sum(line.startswith("rate ") for line in said) == 3
    assert asked[0][0] is model and found.model is asked[4][0]
    other_draws = [row for row, _ in perturbed_rows(rows[8:], EDITS, 4)]
    assert asked[0][1] == rows[8:] and asked[1][1] == other_draws


def test_no_rate_where_all_cost_too_much(monkeypatch, tiny, tmp_path):
    shares = [(0.8, 0.6), (0.78, 0.9), (0.5, 0.9)]
    _, _, found, _ = chosen_with(monkeypatch, tiny, tmp_path, shares, rates=(1e-3, 0.1))
    assert found.model is None and found.chosen is found.tried[0] and len(found.tried) == 3
    assert isinstance(found.chosen, Rate)
