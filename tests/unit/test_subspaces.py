"""Subspaces from streamed moments, against whole-tensor decompositions."""

import math

import numpy as np
import pytest
import torch
from tensorly.decomposition import partial_tucker

from pidbook.theory import TuckerMoments, energy_off
from pidbook.theory.tucker import subspace_of
from pidlib.theory.subspaces import principal_angles, rank_for
from tests.conftest import refusals


def states(seed: int, N: int = 40, length: int = 7, width: int = 12) -> torch.Tensor:
    """Low-rank signal plus noise with a falling spectrum in both modes."""
    random = torch.Generator().manual_seed(seed)
    core = torch.randn(N, length, width, generator=random, dtype=torch.float64)
    fall = 0.7 ** torch.arange(width, dtype=torch.float64)
    tail = 0.6 ** torch.arange(length, dtype=torch.float64)
    mix, _ = torch.linalg.qr(torch.randn(width, width, generator=random, dtype=torch.float64))
    turn, _ = torch.linalg.qr(torch.randn(length, length, generator=random, dtype=torch.float64))
    return torch.einsum("nld,l,d,kl,ed->nke", core, tail, fall, turn, mix)


def test_agrees_with_the_tucker_start_of_tensorly():
    X = states(1)
    moments = TuckerMoments(12, 7).update(X)
    found = [moments.subspace(0.95, mode) for mode in ("temporal", "embedding")]
    ranks = [subspace.rank for subspace in found]
    (_, factors), _ = partial_tucker(X.numpy(), ranks, [1, 2], n_iter_max=0, init="svd")
    for axis, subspace in enumerate(found, start=1):
        assert principal_angles(subspace.basis, factors[axis - 1]).max() < 1e-6
        unfolding = X.movedim(axis, 0).flatten(1)
        assert torch.allclose(subspace.eigenvalues, torch.linalg.svdvals(unfolding) ** 2, rtol=1e-9)


def test_longer_examples_are_cut_in_the_temporal_mode_only():
    X = states(5)
    short = TuckerMoments(12, 4).update(X)
    assert torch.allclose(
        short.temporal, TuckerMoments(12, 4).update(X[:, :4]).temporal, rtol=1e-12
    )
    assert torch.allclose(short.embedding, TuckerMoments(12).update(X).embedding, rtol=1e-12)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32])
def test_narrow_types_are_summed_in_double(kind):
    X = states(6).to(kind)
    assert torch.equal(
        TuckerMoments(12, 7).update(X).embedding, TuckerMoments(12, 7).update(X.double()).embedding
    )


def test_no_product_sees_more_than_a_chunk(monkeypatch):
    seen, real = [], torch.Tensor.addmm_

    def watch(self, left, right):
        seen.append(max(left.numel(), right.numel()))
        return real(self, left, right)

    monkeypatch.setattr(torch.Tensor, "addmm_", watch)
    moments = TuckerMoments(128, 16).update(torch.ones(1500, 16, 128))
    assert max(seen) <= 2**20 < 1500 * 16 * 128
    assert moments.tokens == 1500 * 16
    assert float(moments.embedding[3, 4]) == 1500 * 16


def test_works_on_inference_tensors_and_keeps_no_graph():
    with torch.inference_mode():
        X = states(7)
        inside = TuckerMoments(12, 7).update(X)
    assert torch.equal(inside.embedding, TuckerMoments(12, 7).update(X).embedding)
    tracked = TuckerMoments(12, 7).update(states(7).requires_grad_())
    assert not tracked.embedding.requires_grad


def test_rank_edges():
    assert rank_for([3.0, 1.0], 0.75) == 1
    assert rank_for([3.0, 1.0], 0.7501) == 2
    assert rank_for([1.0, 3.0], 0.75) == 1
    assert rank_for([1.0, 0.0, 0.0], 1.0) == 1
    assert rank_for([1.0, 1.0, 1.0], 1.0) == 3
    assert rank_for([0.1] * 10, 0.3) == 3
    line = TuckerMoments(5).update(torch.randn(9, 1, 1) * torch.ones(5))
    assert line.subspace(1.0).rank == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_states_that_are_not_finite_are_refused_and_leave_no_trace(bad):
    X = states(8)
    X[33, 5, 2] = bad
    moments = TuckerMoments(12, 7)
    with pytest.raises(ValueError, match=r"\(33, 5\).*NaN or infinite"):
        moments.update(X)
    assert moments.tokens == 0
    assert not moments.embedding.any()
    assert not moments.temporal.any()


@pytest.mark.parametrize("angle", [1e-12, 1e-7, 1e-3, 0.5, math.pi / 2])
def test_small_angles_are_not_lost(angle):
    line = torch.tensor([[1.0], [0.0], [0.0]], dtype=torch.float64)
    turned = torch.tensor([[math.cos(angle)], [math.sin(angle)], [0.0]], dtype=torch.float64)
    assert float(principal_angles(line, turned)) == pytest.approx(angle, rel=1e-9)


def test_sign_of_the_basis_is_fixed():
    basis = TuckerMoments(12, 7).update(states(10)).subspace(0.95).basis.numpy()
    largest = basis[np.abs(basis).argmax(0), np.arange(basis.shape[1])]
    assert np.all(largest > 0)


EMPTY, ZERO = TuckerMoments(3, 2), TuckerMoments(3).update(torch.zeros(1, 3))


BAD_INPUT = [
    *((lambda v=v: rank_for([1.0], v), f"variance is {v}") for v in (0, -0.1, 1.1, math.nan)),
    (lambda: ZERO.subspace(0.0), "variance is 0"),
    (lambda: EMPTY.subspace(), "no states"),
    (lambda: energy_off(torch.eye(3), torch.zeros(3, 3)), "no states"),
    (lambda: EMPTY.update(torch.ones(2, 5, 4)), r"\(2, 5, 4\)"),
    (lambda: EMPTY.update(torch.ones(2, 5, 3), torch.ones(2, 4)), r"mask has shape \(2, 4\)"),
    (lambda: EMPTY.subspace(mode="sideways"), "unknown mode 'sideways'"),
    (lambda: ZERO.subspace(mode="temporal"), "not accumulated"),
    (lambda: EMPTY.merge(TuckerMoments(4, 2)), "cannot merge width 3"),
    (lambda: TuckerMoments(0), "width is 0"),
    (lambda: ZERO.subspace(), "eigenvalues are zero"),
    (lambda: rank_for([1.0, math.nan], 0.5), "not finite"),
    (lambda: subspace_of(torch.tensor([[math.nan]]), 0.5), "NaN"),
    (lambda: principal_angles(torch.ones(3, 1), torch.ones(2, 1)), r"\(3, 1\) and \(2, 1\)"),
]


test_bad_input_is_named = refusals(BAD_INPUT)
