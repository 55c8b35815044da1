"""A language model under a terminal control: what it says next after a prompt with slips."""

import json

import pytest
import torch

from pidlib import load_controller
from pidlib.data.batches import continued
from pidlib.data.perturbations import RandomEdits
from pidlib.estimation.estimator import Estimator
from pidlib.estimation.layerwise import changed_rows


@pytest.fixture(scope="module")
def writer(tiny):
    return tiny.writer("llama")


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
    ("row", "said"),
    [
        ({"text": "A man rides."}, "prompts with a continuation: give rows with"),
        ({"premise": "A man", "hypothesis": ""}, "continuation of 'A man' is left"),
    ],
)
def test_a_row_without_a_continuation_is_named(tiny, writer, row, said):
    with pytest.raises(ValueError, match=said):
        Estimator.fit(writer, tiny.tokenizer(), [row], RandomEdits(), [1], rule="terminal")
