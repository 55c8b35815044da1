"""Words as units, and the Wiener law fitted state by state."""

import numpy as np
import pytest
import torch

from pidlib.data.alignment import paired_units
from pidlib.data.edits import Edit
from pidlib.data.perturbations import RandomEdits, perturbed_rows
from pidlib.estimation.layerwise import closed_form, fit_estimates
from pidlib.hooks import find_blocks
from pidlib.laws import StaticLaw
from pidlib.theory.wiener import wiener_map

ROWS = [
    {"premise": "A man in red rides a bicycle.", "hypothesis": "The man is outside."},
    {"premise": "Dogs run.", "hypothesis": "Animals are moving fast here."},
]


def fit(tiny, rows, perturb, layers, rule="regression", rho=0.5, kind="bert", **more):
    """The model, and an estimate for each of the layers."""
    model, law = tiny.model(kind), closed_form(rule, rho)
    blocks = find_blocks(model)
    return model, fit_estimates(blocks, tiny.tokenizer(), rows, perturb, layers, law, **more)


def unchanged(row, random):
    return row


def test_units_are_words_and_the_models_own_tokens(minilm):
    model, tokenizer = minilm
    edits = [(("hypothesis", 3, "outsidde"),), (("premise", 0, "Do gs"), ("hypothesis", 3, ""))]
    (changed, _), (second, _) = (
        perturbed_rows([row], lambda r, g, e=e: list(e))[0]
        for row, e in zip(ROWS, edits, strict=True)
    )
    made = [[Edit(*e) for e in of] for of in edits]
    clean, moved = paired_units(tokenizer, ROWS, made, [changed, second])
    assert len(clean.whole) == len(moved.whole) == 3 + 7 + 4 + 3 + 2 + 5
    assert clean.whole.all() and (~moved.whole).sum() == 1  # the dropped word has no token
    counts = [torch.bincount(u.owner[u.owner >= 0], minlength=len(u.whole)) for u in (clean, moved)]
    assert counts[1].min() == 0 and counts[1].max() > 1
    assert torch.equal(clean.inputs["input_ids"], tokenizer(
        [r["premise"] for r in ROWS], [r["hypothesis"] for r in ROWS],
        padding=True, return_tensors="pt")["input_ids"])  # fmt: skip
    x = torch.randn(*clean.owner.shape, 5)
    means = clean.means(x)
    k = int(clean.owner[1, 2])
    assert torch.allclose(means[k], x[clean.owner == k].double().mean(0))
    unchanged = (clean.owner[0] >= 3) & (clean.owner[0] < 3 + 7)  # the first text's words
    assert (clean.inputs["input_ids"][0][unchanged] == moved.inputs["input_ids"][0][: len(
        unchanged)][unchanged]).all()  # fmt: skip


def test_the_first_state_gets_the_rule_from_its_own_moments(tiny):
    tokenizer, rows = tiny.tokenizer(), tiny.rows(40)
    perturb = RandomEdits({"drop": 1.0, "swap": 1.0}, edits=1)
    model, made = fit(tiny, rows, perturb, [0], "wiener", 0.7, batch_size=8)
    changed = perturbed_rows(rows, perturb)
    clean, moved = paired_units(tokenizer, rows, [e for _, e in changed], [r for r, _ in changed])
    both = clean.whole & moved.whole
    x = clean.means(tiny.states(model, clean.inputs).values[0])[both].numpy()
    z = moved.means(tiny.states(model, moved.inputs).values[0])[both].numpy() - x
    assert len(x) > 300  # so many that shrinkage is small
    expected = wiener_map(np.cov(x.T, bias=True), z.T @ z / len(z), 0.7 / 1.7, x.mean(0))
    # the map matters where states are; the one direction that normalisation empties is free
    gap = (x - x.mean(0)) @ (made[0].A.numpy() - expected.A).T
    assert np.linalg.norm(gap) < 0.05 * np.linalg.norm(x - x.mean(0))
    mean = torch.from_numpy(x.mean(0))
    assert torch.allclose(made[0].A @ mean + made[0].b, mean, atol=1e-5)
    error = ((x + z) @ made[0].A.numpy().T + made[0].b.numpy() - x) ** 2
    told, wanted = made[0].fit, [(z**2).sum(1).mean(), error.sum(1).mean()]
    assert np.allclose([told.before, told.after], wanted, rtol=1e-4) and told.words == len(x)


@pytest.mark.parametrize("kind", ["bert", "gpt2", "opt"])
@pytest.mark.parametrize("rule", ["wiener", "regression"])
def test_each_state_is_fitted_with_those_before_it_controlled(tiny, kind, rule):
    rows, perturb = tiny.rows(30), RandomEdits({"swap": 1.0}, edits=2)
    model, made = fit(tiny, rows, perturb, [0, 1, 2], rule, kind=kind)
    (first, alone) = (fit(tiny, rows, perturb, [t], rule, kind=kind)[1] for t in (0, 1))
    assert torch.equal(made[0].A, first[0].A) and set(made) == {0, 1, 2}
    assert not torch.allclose(made[1].A, alone[1].A, atol=1e-3)
    assert tiny.hooks_left(model) == 0


def test_the_control_is_the_affine_map_and_leaves_padding(tiny):
    _, made = fit(tiny, tiny.rows(30), RandomEdits({"swap": 1.0}), [1])
    x = torch.randn(2, 3, tiny.width)
    mask = torch.tensor([[[1], [1], [1]], [[1], [0], [1]]]).bool()
    new = StaticLaw({1: made[1].gain})(1, x, mask)
    expected = x @ made[1].A.T.float() + made[1].b.float()
    assert torch.allclose(new[mask[..., 0]], expected[mask[..., 0]], atol=1e-5)
    assert torch.equal(new[1, 1], x[1, 1])


def test_a_function_may_change_its_row_in_place():
    def longer(row, random):
        row["text"] = row["text"].replace("a", "xxxx")
        return row

    ((changed, edits),) = perturbed_rows([{"text": "a bb cc"}], longer)
    assert changed["text"] == "xxxx bb cc" and len(edits) == 1 and edits[0].word == 0


def test_where_nothing_changes_nothing_is_moved(tiny):
    _, made = fit(tiny, tiny.rows(20), unchanged, [0, 1])
    for t in (0, 1):
        assert torch.allclose(made[t].A, torch.eye(tiny.width, dtype=torch.float64), atol=1e-9)
        assert made[t].b.abs().max() < 1e-9


def test_padding_on_the_left_makes_no_change(tiny):
    model, tokenizer = tiny.model("gpt2"), tiny.tokenizer()
    tokenizer.padding_side = "left"
    rows = [{"text": "the dog runs"}, {"text": "a man sings in the park"}]

    def second(row, random):
        return {"text": row["text"].replace("park", "park park")} if "park" in row["text"] else row

    (a, _), (b, edits) = perturbed_rows(rows, second)
    clean, moved = paired_units(tokenizer, rows, [(), edits], [a, b])
    x, p = (u.means(tiny.states(model, u.inputs).values[1]) for u in (clean, moved))
    words = slice(0, int((clean.owner[0] >= 0).sum()))
    assert torch.allclose(x[words], p[words], atol=1e-6)


def test_rows_of_different_kinds_are_refused(tiny):
    rows = [{"text": "the dog runs"}, {"premise": "a man", "hypothesis": "a dog"}]
    with pytest.raises(ValueError, match="other columns"):
        fit(tiny, rows, unchanged, [0])
    with pytest.raises(ValueError, match="batch_size is 0"):
        fit(tiny, rows, unchanged, [0], batch_size=0)
