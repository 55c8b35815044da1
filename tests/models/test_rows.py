"""What a user hands over: rows and settings, the same at every door, refused before the model runs."""

import inspect
from dataclasses import fields

import pytest
import torch
from datasets import Dataset

from pidlib import PIDController, RandomEdits, attack, fair_trial, load_controller
from pidlib.data.batches import batches, positions_of
from pidlib.estimation import Estimator
from pidlib.evaluation import right_answers

EDITS = RandomEdits("typos", edits=1)


@pytest.fixture(scope="module")
def model(tiny):
    return tiny.model("bert")


@pytest.fixture(scope="module")
def tokenizer(tiny):
    return tiny.tokenizer()


@pytest.fixture(scope="module")
def rows(tiny):
    return tiny.rows(40)


@pytest.fixture(scope="module")
def control(model, tokenizer, rows):
    return PIDController.fit(model, tokenizer, rows)


@pytest.fixture
def forwards(model):
    """Calls of the model, counted."""
    calls = []
    with model.register_forward_pre_hook(lambda *_: calls.append(1)):
        yield calls


@pytest.fixture
def doors(model, tokenizer, control):
    """Everything that takes rows; of rows it gives what can be compared."""
    trial = {"seeds": (), "recipe": "textfooler"}
    return {
        "fit": lambda rows: PIDController.fit(model, tokenizer, rows).origin,
        "estimator": lambda rows: Estimator.fit(model, tokenizer, rows, EDITS, [0]).sha256,
        "right_answers": lambda rows: right_answers(model, tokenizer, rows).tolist(),
        "attack": lambda rows: attack(model, tokenizer, rows),
        "fair_trial": lambda rows: str(fair_trial(model, tokenizer, control, rows, **trial)),
    }


DOORS = ("fit", "estimator", "right_answers", "attack", "fair_trial")


@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_a_slice_and_labels_of_any_kind(doors, rows, door):
    few = rows[:24]
    expected = doors[door](few)
    names = ("entailment", "Neutral", "contradiction")
    assert doors[door](Dataset.from_list(few)[:]) == expected
    assert doors[door](Dataset.from_list(few).with_format("torch")) == expected
    assert doors[door]([row | {"label": names[row["label"]]} for row in few]) == expected


@pytest.mark.parametrize("door", DOORS)
def test_every_door_names_a_kind_that_it_cannot_read(doors, door, forwards):
    with pytest.raises(ValueError, match="row 0 is a tuple.*give mappings"):
        doors[door]([("a dog", "a cat", 0)])
    with pytest.raises(ValueError, match=r"the rows are one mapping.*give a list: \[row\]"):
        doors[door]({"premise": "a dog", "hypothesis": "a cat", "label": 0})
    assert not forwards


@pytest.mark.parametrize("door", [door for door in DOORS if door != "estimator"])
def test_every_door_names_the_row_of_a_wrong_label(doors, rows, door, forwards):
    for label, message in ((7, "label 7 of row 3 "), (None, "row 3 has no label")):
        wrong = [*rows[:3], rows[3] | {"label": label}, *rows[4:]]
        with pytest.raises(ValueError, match=message):
            doors[door](wrong)
    assert not forwards


def test_a_wrong_label_in_a_stream_is_named_by_its_row(model, tokenizer, rows):
    wrong = [*rows[:3], rows[3] | {"label": 7}, *rows[4:]]
    with pytest.raises(ValueError, match="label 7 of row 3 "):
        PIDController.fit(model, tokenizer, iter(wrong))
    for size in (4, 40):  # sorted by length, and batch by batch
        with pytest.raises(ValueError, match="label 7 of row 3 "):
            PIDController.from_batches(model, batches(tokenizer, wrong, size))


def test_an_attack_leaves_a_row_without_a_word_as_it_is(model, tokenizer, rows):
    given = [rows[0], rows[1] | {"hypothesis": "..."}, rows[2]]
    with pytest.warns(UserWarning, match=r"no word could change in the rows \[1\]"):
        outcomes = attack(model, tokenizer, given)
    right = right_answers(model, tokenizer, given)
    assert [outcome.id for outcome in outcomes] == [0, 1, 2]
    assert outcomes[1].edits == () and outcomes[1].status == ("failed" if right[1] else "skipped")
    alone = attack(model, tokenizer, [rows[0], rows[2]], ids=[0, 2])
    assert [outcomes[0], outcomes[2]] == alone


def test_settings_stand_in_the_signature_as_in_the_class():
    shown = inspect.signature(PIDController.fit).parameters
    for field in fields(PIDController):
        if field.name != "bases":
            assert shown[field.name].default == field.default, field.name
            assert shown[field.name].kind is inspect.Parameter.KEYWORD_ONLY


def test_controllers_with_the_same_settings_are_not_the_same(control):
    assert control == control and control != control.retune()
    assert len({control, control.retune()}) == 2


def test_a_misspelt_setting_is_refused_before_the_model_runs(model, tokenizer, rows, forwards):
    for fit in (
        lambda **of: PIDController.fit(model, tokenizer, rows, **of),
        lambda **of: PIDController.from_batches(model, batches(tokenizer, rows), **of),
    ):
        with pytest.raises(TypeError, match="varianz"):
            fit(varianz=0.9)
        with pytest.raises(ValueError, match="variance"):
            fit(variance=1.5)
    assert not forwards


def test_a_fit_learns_and_keeps_the_terms_of_its_scheme(model, tokenizer, rows, tmp_path):
    sizes = {}
    for scheme, terms, learnt in (
        ("P", None, "P"), ("PD", None, "PD"), ("D", None, "PD"), ("PD", "PID", "PID"),
    ):  # fmt: skip
        fitted = PIDController.fit(model, tokenizer, rows, scheme=scheme, terms=terms)
        assert "".join(fitted.bases.values) == learnt
        fitted.save_pretrained(tmp_path / f"{scheme}{terms}")
        (file,) = (tmp_path / f"{scheme}{terms}").glob("*.safetensors")
        sizes[learnt] = file.stat().st_size
        assert load_controller(tmp_path / f"{scheme}{terms}").sha256 == fitted.sha256
    assert sizes["P"] < sizes["PD"] < sizes["PID"]
    assert fitted.retune(scheme="PID").scheme == "P-I-D"


def test_a_fit_on_too_little_text_says_so(model, tokenizer, rows, recwarn):
    PIDController.fit(model, tokenizer, rows)
    assert not [str(of.message) for of in recwarn]
    with pytest.warns(UserWarning, match="5 tokens for 16 directions"):
        PIDController.fit(model, tokenizer, ["a dog runs"], correct_only=False)


@pytest.mark.parametrize(
    ("kind", "most"),
    [("bert", 40), ("distilbert", 40), ("roberta", 39), ("opt", 40), ("gpt2", 40), ("llama", None)],
)
def test_a_text_longer_than_the_model_has_positions_is_named(tiny, tokenizer, kind, most):
    model, calls = tiny.model(kind), []
    assert positions_of(model) == most
    model.register_forward_pre_hook(lambda *_: calls.append(1))
    rows = [{"text": "a dog"}, {"text": "dog " * 60}]
    if most is None:
        PIDController.fit(model, tokenizer, rows, correct_only=False)
        return
    for door in (
        lambda **of: PIDController.fit(model, tokenizer, rows, correct_only=False, **of),
        lambda **of: Estimator.fit(model, tokenizer, rows, EDITS, [0], **of),
    ):
        with pytest.raises(ValueError, match=f"row 1 has 62 tokens.*max_length={most}"):
            door()
        assert not calls
        door(max_length=most)  # as many as there are
        calls.clear()


def test_a_bar_shows_where_it_is_asked_for(model, tokenizer, rows, capsys):
    PIDController.fit(model, tokenizer, rows, batch_size=8)
    assert capsys.readouterr().err == ""  # no terminal
    PIDController.fit(model, tokenizer, rows, batch_size=8, progress=True)
    assert "fit: " in (told := capsys.readouterr().err) and "/5" in told


def test_what_is_fitted_or_pushed_is_shown_on_one_line(model, tokenizer, rows, control):
    estimator = Estimator.fit(model, tokenizer, rows, EDITS, [0])
    for of in (control, estimator):
        assert repr(of) == f"<{type(of).__name__}: {of.summary()}>"
    told = repr(control.bases)
    assert told.startswith(f"<{type(control.bases).__name__}: ") and len(told) < 100


def test_batches_of_a_data_loader_are_fitted_as_ours_are(model, tokenizer, rows):
    ours = list(batches(tokenizer, rows, 8))
    loaded = [{**batch.inputs, "labels": batch.labels} for batch in ours]
    one, other = (PIDController.from_batches(model, of) for of in (ours, loaded))
    assert one.summary() == other.summary() and one.bases.origin == other.bases.origin
    assert all(torch.equal(v, other.bases.vectors[i]) for i, v in one.bases.vectors.items())
    with pytest.raises(TypeError, match="a batch is a Tensor: give mappings"):
        PIDController.from_batches(model, [loaded[0]["input_ids"]])
    with pytest.raises(ValueError, match="the rows carry no label"):
        PIDController.from_batches(model, [ours[0].inputs])


def test_a_size_that_is_none_is_named_before_the_model_runs(model, tokenizer, rows, forwards):
    for settings, message in (
        ({"batch_size": 0}, "batch_size is 0; give a whole number, 1 or more"),
        ({"batch_size": "8"}, "batch_size is '8'"),
        ({"max_length": 2.5}, "max_length is 2.5"),
        ({"max_length": 3}, "max_length is 3; give a whole number, 4 or more"),  # [CLS], two [SEP]
    ):
        with pytest.raises(ValueError, match=message):
            PIDController.fit(model, tokenizer, rows, **settings)
    assert not forwards


def test_padding_without_a_mask_is_told_of(model, tokenizer, rows):
    inputs = dict(next(batches(tokenizer, [*rows[:4], rows[0] | {"hypothesis": "a"}], 8)).inputs)
    assert (inputs["input_ids"] == model.config.pad_token_id).any()
    del inputs["attention_mask"]
    with pytest.warns(
        UserWarning, match="no attention_mask, so padding is fitted as if it were text"
    ):
        PIDController.from_batches(model, [inputs], correct_only=False)


def test_labels_that_do_not_fit_a_batch_are_counted(model, tokenizer, rows):
    inputs, labels = (batch := next(batches(tokenizer, rows, 8))).inputs, batch.labels
    listed = PIDController.from_batches(model, [{**inputs, "labels": labels.tolist()}])
    assert listed.bases.origin.rows == 8
    with pytest.raises(ValueError, match="a batch has 6 labels for 8 rows"):
        PIDController.from_batches(model, [{**inputs, "labels": labels[:6]}])


def test_what_is_no_model_is_named(model, tokenizer, rows, control):
    for wrong in ("minilm-nli", tokenizer, model.state_dict()):
        kind = type(wrong).__name__
        with pytest.raises(TypeError, match=f"the model is a {kind}; give the torch module itself"):
            PIDController.fit(wrong, tokenizer, rows)
        with pytest.raises(TypeError, match=f"the model is a {kind}"), control.attached(wrong):
            pass
