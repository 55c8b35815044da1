"""The mathematics of the control: gains, schemes, laws and the two forms of a product."""

from itertools import permutations

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

from pidlib.gain import Gain, padding_places
from pidlib.laws import ResidualLaw, static_gain, strengths
from pidlib.settings import parse_gains, parse_scheme
from pidlib.theory.gains import alphas

SCHEMES = ["P", "I", "D", "P-I", "P-D", "I-D", "P-I-D"]
seeds = st.integers(0, 10_000)
costs = st.floats(1e-4, 1e3)


def random_frame(d, seed):
    draw = torch.Generator().manual_seed(seed)
    return torch.linalg.qr(torch.randn(d, d, dtype=torch.float64, generator=draw)).Q


def random_projection(d, rank, seed):
    basis = random_frame(d, seed)[:, :rank]
    return torch.eye(d, dtype=torch.float64) - basis @ basis.T


def random_states(shape, seed):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=draw)


@given(st.sampled_from(SCHEMES), st.data())
def test_scheme_names_in_any_order_and_case(scheme, data):
    letters = data.draw(st.sampled_from(list(permutations(scheme.replace("-", "")))))
    joint = data.draw(st.sampled_from(["", "-"]))
    text = joint.join(letters)
    assert parse_scheme(data.draw(st.sampled_from([text, text.lower()]))) == scheme


@pytest.mark.parametrize("scheme", ["", "PP", "X", "P+D", "P-W", None])
def test_other_schemes_are_refused(scheme):
    with pytest.raises(ValueError, match="unknown scheme"):
        parse_scheme(scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_normalised_gains_sum_to_one_and_papers_are_halves(scheme):
    assert sum(parse_gains(scheme, "normalised").values()) == pytest.approx(1.0)
    assert set(parse_gains(scheme, "paper").values()) == {0.5}
    assert list(parse_gains(scheme, "paper")) == scheme.split("-")


@pytest.mark.parametrize(
    "gains", ["half", {"I": 1.0}, {"P": -1.0}, {"D": float("nan")}, {"P": float("inf")}]
)
def test_wrong_gains_are_refused(gains):
    with pytest.raises(ValueError, match="gains"):
        parse_gains("PD", gains)


@given(st.integers(1, 30), costs)
def test_strengths_are_one_minus_alpha_and_vanish_at_infinite_cost(T, c):
    assert torch.allclose(strengths(T, c), 1.0 - torch.from_numpy(alphas(T, c)))
    assert not strengths(T, float("inf")).any()
    assert torch.equal(strengths(T, 0.0), torch.ones(T, dtype=torch.float64))


@settings(deadline=None)
@given(seeds, st.integers(2, 12), st.data())
def test_a_gain_is_the_same_matrix_in_every_form(seed, d, data):
    """Thin about zero, thin about the largest eigenvalue, dense: one result, with padding kept."""
    low = data.draw(st.integers(0, d))
    full = data.draw(st.integers(0, d - low))
    values = torch.linspace(0.2, 0.8, d, dtype=torch.float64)
    values[:low], values[low : low + full] = 0.0, 1.0
    vectors = random_frame(d, seed)
    matrix = (vectors * values) @ vectors.T
    gain = Gain.from_spectrum(vectors, values)
    assert torch.allclose(gain.matrix(), matrix, atol=1e-12)
    cheaper = 2 * min(d - low, int((values < values.max()).sum())) < d
    assert gain.form.startswith("thin") == cheaper
    x = random_states((3, 5, d), seed)
    mask = random_states((3, 5, 1), seed + 1) > 0
    expected = torch.where(mask, x - x @ matrix, x)
    assert torch.allclose(gain.add_to(x, x, mask), expected, atol=1e-12)
    assert torch.equal(gain.add_to(x, x, mask, padding_places(mask)), gain.add_to(x, x, mask))
    assert torch.allclose(gain.add_to(x, x), x - x @ matrix, atol=1e-12)
    base = random_states((3, 5, d), seed + 2)
    assert torch.allclose(
        gain.add_to(base, x, mask), torch.where(mask, base - x @ matrix, base), atol=1e-12
    )


@settings(deadline=None)
@given(seeds, st.integers(1, 9), costs, st.integers(1, 8), st.data())
def test_exact_gain_is_the_riccati_gain_when_layers_are_orthogonal(seed, r, c, T, data):
    """With theta = I the matrix Riccati recursion keeps Q's eigenvectors: compare the gains."""
    t = data.draw(st.integers(0, T - 1))
    offs = {"P": random_projection(9, r, seed), "D": random_projection(9, r, seed + 1)}
    weighted = 0.5 * (offs["P"] + offs["D"])
    eye, value = torch.eye(9, dtype=torch.float64), torch.zeros(9, 9, dtype=torch.float64)
    for _ in range(T - t):
        step = weighted + value
        value = c * step @ torch.linalg.inv(step + c * eye)
    expected = torch.linalg.solve(step + c * eye, step)
    gain = static_gain(offs, {"P": 0.5, "D": 0.5}, "exact-gain", t, T, c).matrix()
    assert torch.allclose(gain, expected, atol=1e-4)


@settings(deadline=None)
@given(seeds, st.integers(1, 9), costs)
def test_laws_agree_when_the_subspaces_are_one(seed, r, c):
    """Assumption 2 in its honest form: equal projections and gains of sum one."""
    off = random_projection(9, r, seed)
    offs, gains = dict.fromkeys("PID", off), dict.fromkeys("PID", 1 / 3)
    laws = [static_gain(offs, gains, law, 1, 4, c).matrix() for law in ("averaged", "exact-gain")]
    single = (1 - alphas(4, c)[1]) * off
    for matrix in laws:
        assert torch.allclose(matrix, single, atol=3e-5)


@settings(deadline=None)
@given(seeds, costs, st.sampled_from(["averaged", "exact-gain"]))
def test_normalised_control_never_makes_a_state_longer(seed, c, law):
    offs = {i: random_projection(9, 3, seed + k) for k, i in enumerate("PID")}
    gain = static_gain(offs, dict.fromkeys("PID", 1 / 3), law, 0, 3, c)
    x = random_states((4, 3, 9), seed)
    assert (gain.add_to(x, x).norm(dim=-1) <= x.norm(dim=-1) * (1 + 1e-5)).all()


def test_residual_law_refuses_blocks_out_of_order():
    law = ResidualLaw({1: {"P": Gain.of_projection(random_projection(7, 3, 0), 0.1)}}, "P")
    law(0, random_states((1, 2, 7), 0), None)
    with pytest.raises(RuntimeError, match="block 2 ran where block 1 was due"):
        law(2, random_states((1, 2, 7), 0), None)
