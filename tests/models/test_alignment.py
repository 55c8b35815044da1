"""States of words before and after an attack stand side by side."""

import numpy as np
import pytest
import torch

from pidbook.analysis.word_states import relative_errors, word_states
from pidlib.attacks.outcomes import Outcome
from pidlib.data.edits import Edit, row_hash

ROW = {"premise": "the dog runs in a park", "hypothesis": "a big dog runs", "label": 0}


def outcome(*edits):
    return Outcome(0, "succeeded", tuple(Edit(*e) for e in edits), 1, 1, row_hash(ROW))


@pytest.fixture(scope="module")
def model(tiny):
    return tiny.model("bert"), tiny.tokenizer()


def test_without_an_edit_nothing_moves(model):
    (found,) = word_states(*model, [ROW], [outcome()])
    assert found.words == tuple((ROW["premise"] + " " + ROW["hypothesis"]).split())
    assert np.array_equal(found.clean, found.attacked) and not found.edited.any()
    assert relative_errors([found], edited=False) == pytest.approx(np.zeros(4))
    with pytest.raises(ValueError, match="no word that was edited"):
        relative_errors([found], edited=True)


def test_states_are_those_of_the_words_tokens(tiny, model):
    net, tokenizer = model
    (found,) = word_states(net, tokenizer, [ROW], [outcome(("hypothesis", 2, "red cat"))])
    inputs = tokenizer([ROW["premise"]], [ROW["hypothesis"]], return_tensors="pt")
    moved = tokenizer([ROW["premise"]], ["a big red cat runs"], return_tensors="pt")
    x, z = (torch.stack(tiny.states(net, i).values, 2)[0].numpy() for i in (inputs, moved))
    # [CLS] the dog runs in a park [SEP] a big dog runs [SEP]
    assert found.edited.tolist() == [False] * 8 + [True, False]
    assert np.allclose(found.clean[8], x[10], atol=1e-5)
    assert np.allclose(found.attacked[8], z[10:12].mean(0), atol=1e-5)
    assert np.allclose(found.attacked[9], z[12], atol=1e-5)
    assert np.allclose(found.attacked[:6], z[1:7], atol=1e-5)
    errors = relative_errors([found], edited=True)
    assert errors[0] == pytest.approx(
        np.linalg.norm(z[10:12, 0].mean(0) - x[10, 0]) / np.linalg.norm(x[10, 0]), rel=1e-4
    )


def test_batches_of_other_lengths_change_nothing(model):
    long = {"premise": "the man sits on the red house in a park", "hypothesis": "a man eats"}
    rows = [ROW, long | {"label": 1}, ROW]
    made = [
        outcome(("premise", 1, "cat")),
        Outcome(1, "failed", (Edit("hypothesis", 1, "child"),), 1, 1, ""),
        outcome(),
    ]
    together = word_states(*model, rows, made)
    alone = [word_states(*model, [r], [o])[0] for r, o in zip(rows, made, strict=True)]
    for a, b in zip(together, alone, strict=True):
        assert np.allclose(a.attacked, b.attacked, atol=1e-4) and a.words == b.words


def test_bad_input(model):
    with pytest.raises(ValueError, match="0 outcomes for 1 rows"):
        word_states(*model, [ROW], [])

    other = outcome()
    with pytest.raises(ValueError, match="outcome 0 .* is not of row 0"):
        word_states(*model, [ROW | {"premise": "the cat sits"}], [other])

    class Slow:
        is_fast = False

    with pytest.raises(ValueError, match="Slow doesn't tell"):
        word_states(model[0], Slow(), [ROW], [outcome()])
