"""Theorem 1 beside real errors, and blocks as matrices."""

import numpy as np
import pytest
import torch

from pidbook.analysis.jacobians import block_functions, block_geometry
from pidbook.analysis.theorem import error_profiles
from pidlib.pid import PIDController


def fitted(tiny, **settings):
    model, tokenizer = tiny.model("bert"), tiny.tokenizer()
    settings = {"scheme": "P", "variance": 0.8, "c": 0.5} | settings
    return model, tokenizer, PIDController.from_batches(model, tiny.answered(model), **settings)


def pairs(tiny):
    rows = tiny.rows(20)
    moved = [dict(row, hypothesis=row["hypothesis"].replace("dog", "cat")) for row in rows]
    moved[0]["hypothesis"] += " the dog"  # one token more
    return rows, moved


def test_first_state_is_predicted_exactly_and_the_first_token_never(tiny):
    model, tokenizer, controller = fitted(tiny)
    found = error_profiles(model, tokenizer, controller, *pairs(tiny), batch_size=6)
    assert found.left_out == 1 and found.pairs + found.unchanged == 19 and found.unchanged > 0
    assert (found.controlled[:, 0] > 0).all()
    np.testing.assert_allclose(found.theorem[:, 0], found.controlled[:, 0], atol=1e-6)
    np.testing.assert_allclose(found.general[:, 0], found.controlled[:, 0], atol=1e-6)
    assert found.controlled.shape == found.first.shape == (found.pairs, 4)
    again = error_profiles(model, tokenizer, controller, *pairs(tiny), batch_size=32)
    np.testing.assert_allclose(again.controlled, found.controlled, atol=1e-5)


def test_without_control_the_two_true_errors_are_one(tiny):
    model, tokenizer, controller = fitted(tiny, c=1e12)
    found = error_profiles(model, tokenizer, controller, *pairs(tiny))
    np.testing.assert_allclose(found.controlled, found.free, atol=1e-5)


def test_what_the_theorem_is_not_about_is_refused(tiny):
    model, tokenizer, controller = fitted(tiny)
    rows, moved = pairs(tiny)
    longer = [dict(row, hypothesis=row["hypothesis"] + " dog") for row in rows]
    for control, attacked, message in (
        (controller.retune(scheme="P", layers=[0]), moved, "P control of all states"),
        (controller, moved[1:], "19 attacked rows for 20"),
        (controller, longer, "as many tokens"),
    ):
        with pytest.raises(ValueError, match=message):
            error_profiles(model, tokenizer, control, rows, attacked)


def test_blocks_by_themselves_give_the_states(tiny, kind):
    model, inputs = tiny.model(kind), tiny.inputs(kind)
    states, functions, mask = block_functions(model, inputs)
    with torch.no_grad():
        for t, function in enumerate(functions):
            moved = function(states[t])
            torch.testing.assert_close(moved[mask], states[t + 1][mask], rtol=0, atol=1e-5)
    assert tiny.hooks_left(model) == 0
    with pytest.raises(ValueError, match="training mode"):
        block_functions(model.train(), inputs)


def test_geometry_of_a_matrix_is_that_of_its_singular_values():
    draw = torch.Generator().manual_seed(0)
    J = torch.randn(12, 12, generator=draw, dtype=torch.float64)
    x = torch.zeros(400, 1, 12, dtype=torch.float64)
    mask = torch.ones(400, 1, dtype=torch.bool)
    here = torch.linalg.qr(torch.randn(12, 4, generator=draw, dtype=torch.float64)).Q
    there = torch.linalg.qr(J @ here).Q
    found = block_geometry(lambda v: v @ J.T, x, mask, here, there, draws=20)
    squares = torch.linalg.svdvals(J) ** 2
    assert found.growth == pytest.approx(float(squares.mean() ** 0.5), rel=0.03)
    assert found.spread == pytest.approx(float(squares.std(correction=0) / squares.mean()), rel=0.1)
    assert found.largest * found.growth == pytest.approx(float(squares.max() ** 0.5), rel=0.02)
    assert found.leaves < 1e-12 < found.enters < 1
    with pytest.raises(ValueError, match="draws is 0"):
        block_geometry(lambda v: v, x, mask, here, there, draws=0)


def test_geometry_of_a_real_block_leaves_padding_out(tiny):
    model, inputs = tiny.model("bert"), tiny.inputs("bert")
    states, functions, mask = block_functions(model, inputs)
    basis = torch.linalg.qr(torch.randn(tiny.width, 5)).Q
    found = block_geometry(functions[0], states[0], mask, basis, basis, draws=3)
    noisy = torch.where(mask[..., None], states[0], 100 * torch.ones_like(states[0]))
    again = block_geometry(functions[0], noisy, mask, basis, basis, draws=3)
    np.testing.assert_allclose(found, again, rtol=1e-4)
