"""Conceptors: the closed form, their AND, the length that is asked for, and a clean model after."""

import pytest
import torch

from pidbook.estimation.conceptors import (
    ConceptorController,
    aperture_of_length,
    conceptor,
    length,
)
from pidlib.pid import PIDController


@pytest.fixture(scope="module")
def moments():
    draw = torch.Generator().manual_seed(0)
    factors = torch.randn(2, 6, 6, generator=draw, dtype=torch.float64)
    return list(factors @ factors.mT)


@pytest.fixture
def fitted(tiny):
    model = tiny.model("bert")
    batches = [tiny.inputs("bert", batch=16, seed=k) for k in range(4)]
    settings = {"scheme": "PD", "terms": "PID", "correct_only": False}
    return model, PIDController.from_batches(model, batches, **settings)


def test_of_one_moment_it_is_the_closed_form(moments):
    R, _ = moments
    eye = torch.eye(6, dtype=torch.float64)
    wanted = R @ torch.linalg.inv(R + eye / 2.0**2)
    assert torch.allclose(conceptor([R], 2.0), wanted, atol=1e-6)


def test_the_and_keeps_no_direction_more_than_either(moments):
    both = conceptor(moments, 2.0)
    for R in moments:
        assert torch.linalg.eigvalsh(conceptor([R], 2.0) - both).min() > -1e-9
    twice = conceptor([moments[0], moments[0]], 2.0)  # of one with itself: the aperture falls
    assert torch.allclose(twice, conceptor([moments[0]], 2.0 / 2**0.5), atol=1e-6)


def test_a_wide_aperture_leaves_all_and_a_narrow_one_nothing(moments):
    eye = torch.eye(6, dtype=torch.float64)
    assert torch.allclose(conceptor(moments, 1e5), eye, atol=1e-4)
    assert conceptor(moments, 1e-5).norm() < 1e-4


@pytest.mark.parametrize("terms", ["P", "PD"])
def test_its_push_has_the_length_that_was_asked_for(fitted, terms):
    _, projections = fitted
    wanted = length(projections, projections.bases)
    aperture = aperture_of_length(projections.bases, terms, wanted)
    found = length(ConceptorController(projections.bases, terms, aperture), projections.bases)
    assert found == pytest.approx(wanted, rel=1e-6)


def test_it_acts_while_it_is_attached_and_leaves_nothing(fitted, tiny):
    model, projections = fitted
    batch = tiny.inputs("bert")
    before = model(**batch).logits
    control = ConceptorController(projections.bases, "PD", 1.0)
    with control.attached(model):
        assert not torch.allclose(model(**batch).logits, before)
        with pytest.raises(RuntimeError, match="attached"), projections.attached(model):
            pass
    assert torch.equal(model(**batch).logits, before)
