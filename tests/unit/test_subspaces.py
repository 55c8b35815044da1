"""Subspaces from streamed moments, against whole-tensor decompositions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorly as tl
import torch
from tensorly.decomposition import partial_tucker

from pidbook.theory import TuckerMoments, energy_off, hosvd
from pidbook.theory.tucker import subspace_of
from pidlib.theory.subspaces import principal_angles, rank_for


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
    moments, ours = TuckerMoments(12, 7).update(X), hosvd(X, 0.95)
    ranks = [moments.subspace(0.95, mode).rank for mode in ("temporal", "embedding")]
    (_, factors), _ = partial_tucker(X.numpy(), ranks, [1, 2], n_iter_max=0, init="svd")
    for axis, mode in ((1, "temporal"), (2, "embedding")):
        basis = moments.subspace(0.95, mode).basis
        assert principal_angles(basis, factors[axis - 1]).max() < 1e-6
        assert principal_angles(basis, ours.bases[axis]).max() < 1e-6


def test_second_moments_are_the_squared_singular_values():
    X = states(2)
    moments, whole = TuckerMoments(12, 7).update(X), hosvd(X)
    assert torch.allclose(moments.subspace().eigenvalues, whole.singular_values[2] ** 2, rtol=1e-9)
    temporal = moments.subspace(mode="temporal").eigenvalues
    assert torch.allclose(temporal, whole.singular_values[1] ** 2, rtol=1e-9)


def rebuilt(parts) -> torch.Tensor:
    return torch.from_numpy(
        tl.tucker_to_tensor((parts.core.numpy(), [basis.numpy() for basis in parts.bases]))
    )


def test_hosvd_reconstructs_and_truncates():
    X = states(3)
    assert torch.allclose(rebuilt(hosvd(X)), X, atol=1e-12)
    short = hosvd(X, 0.9)
    lost = ((rebuilt(short) - X) ** 2).sum() / (X**2).sum()
    assert 0 < lost < 3 * 0.1


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(side):
    X = states(4, N=6)
    lengths = [7, 1, 3, 5, 2, 4]
    alone = TuckerMoments(12, 7)
    padded = torch.full((6, 9, 12), math.nan, dtype=torch.float64)
    mask = torch.zeros(6, 9, dtype=torch.long)
    for n, k in enumerate(lengths):
        alone.update(X[n : n + 1, :k])
        place = slice(0, k) if side == "right" else slice(9 - k, 9)
        padded[n, place], mask[n, place] = X[n, :k], 1
    together = TuckerMoments(12, 7).update(padded, mask)
    assert torch.allclose(alone.embedding, together.embedding, rtol=1e-12)
    assert torch.allclose(alone.temporal, together.temporal, rtol=1e-12)
    assert (alone.tokens, alone.examples) == (together.tokens, together.examples) == (22, 6)


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


def test_sum_does_not_lose_small_directions_to_large_ones():
    X = torch.tensor([[4096.0, 0.5]], dtype=torch.float32).repeat(3000, 1)
    assert TuckerMoments(2).update(X).embedding[1, 1] == 750.0


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


def test_rank_counts_squares():
    sizes = 1 / torch.arange(1, 769, dtype=torch.float64)
    assert rank_for(sizes**2, 0.99) == 56
    assert rank_for(sizes, 0.99) == 715


def test_rank_edges():
    assert rank_for([3.0, 1.0], 0.75) == 1
    assert rank_for([3.0, 1.0], 0.7501) == 2
    assert rank_for([1.0, 3.0], 0.75) == 1
    assert rank_for([1.0, 0.0, 0.0], 1.0) == 1
    assert rank_for([1.0, 1.0, 1.0], 1.0) == 3
    assert rank_for([0.1] * 10, 0.3) == 3
    line = TuckerMoments(5).update(torch.randn(9, 1, 1) * torch.ones(5))
    assert line.subspace(1.0).rank == 1


@pytest.mark.parametrize("variance", [0.0, -0.1, 1.1, math.nan])
def test_variance_out_of_range_is_refused(variance):
    moments = TuckerMoments(2).update(torch.ones(1, 2))
    for call in (
        lambda: moments.subspace(variance),
        lambda: rank_for([1.0], variance),
        lambda: hosvd(torch.ones(2, 2), variance),
    ):
        with pytest.raises(ValueError, match=f"variance is {variance}"):
            call()


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


def test_other_bad_input_is_named():
    moments = TuckerMoments(3, 2)
    with pytest.raises(ValueError, match="no states"):
        moments.subspace()
    with pytest.raises(ValueError, match=r"\(2, 5, 4\)"):
        moments.update(torch.ones(2, 5, 4))
    with pytest.raises(ValueError, match=r"mask has shape \(2, 4\)"):
        moments.update(torch.ones(2, 5, 3), torch.ones(2, 4))
    with pytest.raises(ValueError, match="unknown mode 'sideways'"):
        moments.subspace(mode="sideways")
    with pytest.raises(ValueError, match="not accumulated"):
        TuckerMoments(3).update(torch.ones(1, 3)).subspace(mode="temporal")
    with pytest.raises(ValueError, match="cannot merge width 3"):
        moments.merge(TuckerMoments(4, 2))
    with pytest.raises(ValueError, match="width is 0"):
        TuckerMoments(0)
    with pytest.raises(ValueError, match="eigenvalues are zero"):
        TuckerMoments(3).update(torch.zeros(1, 3)).subspace()
    with pytest.raises(ValueError, match="not finite"):
        rank_for([1.0, math.nan], 0.5)
    with pytest.raises(ValueError, match="NaN"):
        subspace_of(torch.tensor([[math.nan]]), 0.5)
    with pytest.raises(ValueError, match=r"\(3, 1\) and \(2, 1\)"):
        principal_angles(torch.ones(3, 1), torch.ones(2, 1))


@pytest.mark.parametrize("angle", [1e-12, 1e-7, 1e-3, 0.5, math.pi / 2])
def test_small_angles_are_not_lost(angle):
    line = torch.tensor([[1.0], [0.0], [0.0]], dtype=torch.float64)
    turned = torch.tensor([[math.cos(angle)], [math.sin(angle)], [0.0]], dtype=torch.float64)
    assert float(principal_angles(line, turned)) == pytest.approx(angle, rel=1e-9)


def test_projections_split_the_energy():
    X = states(9)
    moments = TuckerMoments(12, 7).update(X)
    found = moments.subspace(0.9)
    off = energy_off(found.basis, moments.embedding)
    assert off == pytest.approx(float(found.eigenvalues[found.rank :].sum() / (X**2).sum()))
    assert 0 < off <= 0.1
    whole = found.projection + found.complement
    assert torch.allclose(whole, torch.eye(12, dtype=torch.float64), atol=1e-12)
    assert energy_off(torch.eye(12), moments.embedding) == 0.0
    with pytest.raises(ValueError, match="no states"):
        energy_off(found.basis, torch.zeros(12, 12))


def test_sign_of_the_basis_is_fixed():
    basis = TuckerMoments(12, 7).update(states(10)).subspace(0.95).basis.numpy()
    largest = basis[np.abs(basis).argmax(0), np.arange(basis.shape[1])]
    assert np.all(largest > 0)
