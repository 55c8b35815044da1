"""Properties of the streamed moments for any split, order and padding."""

import torch
from hypothesis import given, settings, strategies as st

from pidbook.theory import TuckerMoments, energy_off
from pidlib.theory.subspaces import principal_angles, rank_for

seeds = st.integers(0, 2**31 - 1)


def stream(seed: int):
    random = torch.Generator().manual_seed(seed)
    N, length, width = (
        int(torch.randint(lo, hi, (), generator=random)) for lo, hi in ((2, 12), (1, 6), (1, 8))
    )
    states = torch.randn(N, length, width, generator=random, dtype=torch.float64)
    mask = torch.rand(N, length, generator=random) < 0.7
    mask[:, 0] = True
    return states, mask, random


def same(a: TuckerMoments, b: TuckerMoments) -> bool:
    moments = zip((a.embedding, a.temporal), (b.embedding, b.temporal), strict=True)
    close = all(torch.allclose(*pair, rtol=1e-12, atol=1e-12) for pair in moments)
    return close and (a.tokens, a.examples) == (b.tokens, b.examples)


@given(seeds)
def test_two_halves_merge_into_the_whole(seed):
    states, mask, random = stream(seed)
    N, length, width = states.shape
    cut = int(torch.randint(0, N + 1, (), generator=random))
    whole = TuckerMoments(width, length).update(states, mask)
    first = TuckerMoments(width, length).update(states[:cut], mask[:cut])
    second = TuckerMoments(width, length).update(states[cut:], mask[cut:])
    kept = second.embedding.clone()
    assert same(first.merge(second), whole)
    assert torch.equal(second.embedding, kept)


@given(seeds)
def test_order_and_extra_padding_change_nothing(seed):
    states, mask, random = stream(seed)
    N, length, width = states.shape
    order = torch.randperm(N, generator=random)
    before, after = (int(k) for k in torch.randint(0, 4, (2,), generator=random))
    wide = torch.full((N, before + length + after, width), float("nan"), dtype=torch.float64)
    seen = torch.zeros(N, before + length + after, dtype=torch.bool)
    wide[:, before : before + length], seen[:, before : before + length] = (
        states[order],
        mask[order],
    )
    plain = TuckerMoments(width, length).update(states, mask)
    assert same(plain, TuckerMoments(width, length).update(wide, seen))


@given(seeds, st.floats(0.05, 1.0))
def test_rank_is_the_smallest_that_reaches_the_share(seed, variance):
    states, mask, _ = stream(seed)
    found = TuckerMoments(states.shape[2], 0).update(states, mask).subspace(variance)
    shares = found.eigenvalues.cumsum(0) / found.eigenvalues.sum()
    assert shares[found.rank - 1] >= variance - 1e-12
    assert found.rank == 1 or shares[found.rank - 2] < variance
    assert rank_for(found.eigenvalues * 7.0, variance) == found.rank
    assert torch.allclose(
        found.basis.T @ found.basis, torch.eye(found.rank, dtype=torch.float64), atol=1e-12
    )


@given(seeds, st.floats(0.05, 0.99))
def test_energy_off_is_what_a_projection_leaves(seed, variance):
    states, mask, _ = stream(seed)
    moments = TuckerMoments(states.shape[2], 0).update(states, mask)
    found = moments.subspace(variance)
    real = states[mask]
    left = ((real @ found.complement) ** 2).sum() / (real**2).sum()
    assert abs(energy_off(found.basis, moments.embedding) - float(left)) < 1e-12


@given(seeds)
@settings(max_examples=50)
def test_angles_ignore_the_choice_of_basis(seed):
    random = torch.Generator().manual_seed(seed)
    V, W = (torch.randn(9, r, generator=random, dtype=torch.float64) for r in (3, 4))
    mix = torch.randn(3, 3, generator=random, dtype=torch.float64) + 4 * torch.eye(3)
    turn, _ = torch.linalg.qr(torch.randn(9, 9, generator=random, dtype=torch.float64))
    angles = principal_angles(V, W)
    assert torch.allclose(angles, principal_angles(V @ mix, W), atol=1e-9)
    assert torch.allclose(angles, principal_angles(turn @ V, turn @ W), atol=1e-9)
    assert torch.allclose(angles, principal_angles(W, V), atol=1e-9)
