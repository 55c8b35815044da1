"""The Riccati recursion: closed forms, residuals, and solvers that agree."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pidbook.theory import cost, dense_solution, orthogonal_system, riccati, rollout

GOLDEN = (1 + math.sqrt(5)) / 2


def problem(seed: int, d: int = 5, T: int = 6):
    """Any layers, non-commuting projections as weights, a cost for each layer."""
    random = np.random.default_rng(seed)
    thetas = random.standard_normal((T, d, d)) / math.sqrt(d)
    frames = np.linalg.qr(random.standard_normal((3, T, d, d)))[0][..., :2]
    Q = (np.eye(d) - frames @ frames.swapaxes(-1, -2)).sum(0)
    return thetas, Q, np.exp(random.uniform(-3, 3, T)), random.standard_normal(d)


def paper_form(thetas, Q, c):
    """Proposition 1 as printed, in P."""
    T, d, _ = thetas.shape
    P, gains = np.zeros((T + 1, d, d)), []
    for t in range(T - 1, -1, -1):
        N = Q[t] + 2 * thetas[t].T @ P[t + 1] @ thetas[t]
        inverse = np.linalg.inv(N + c[t] * np.eye(d))
        P[t] = Q[t] / 2 + thetas[t].T @ P[t + 1] @ thetas[t] - N.T @ inverse @ N / 2
        gains.append(inverse @ N)
    return P, np.array(gains[::-1])


@pytest.mark.parametrize("seed", range(10))
def test_short_form_is_the_printed_form(seed):
    thetas, Q, c, _ = problem(seed)
    solution, (P, K) = riccati(thetas, Q, c), paper_form(thetas, Q, c)
    assert np.allclose(solution.P, P, atol=1e-12)
    assert np.allclose(solution.K, K, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_short_form_keeps_its_digits_where_the_printed_form_loses_them(seed):
    thetas, Q, c, _ = problem(seed)
    S, (P, _) = riccati(1000 * thetas, Q, c).S, paper_form(1000 * thetas, Q, c)
    for t in range(len(thetas)):
        N = Q[t] + 1e6 * thetas[t].T @ S[t + 1] @ thetas[t]
        wanted = c[t] * (np.eye(5) - c[t] * np.linalg.inv(N + c[t] * np.eye(5)))
        assert np.allclose(S[t], wanted, rtol=0, atol=1e-8 * c[t])
    assert np.abs(2 * P - S).max() > c.max()  # its rounding errors are larger than itself


@pytest.mark.parametrize("seed", range(10))
def test_recursion_and_dense_program_agree(seed):
    thetas, Q, c, x0 = problem(seed)
    solution, dense = riccati(thetas, Q, c), dense_solution(thetas, Q, c, x0)
    path = rollout(thetas, solution.K, x0)
    assert np.allclose(path.controls, dense.controls, atol=1e-11)
    assert dense.value == pytest.approx(float(solution.value(x0)), rel=1e-11)
    assert dense.value == pytest.approx(cost(thetas, Q, c, x0, path.controls), rel=1e-11)


def test_hessian_is_the_second_derivative_of_the_cost():
    thetas, Q, c, x0 = problem(3, d=3, T=2)
    dense = dense_solution(thetas, Q, c, x0)
    step = np.random.default_rng(0).standard_normal((2, 3))
    change = cost(thetas, Q, c, x0, dense.controls + step) - dense.value
    assert change == pytest.approx(0.5 * step.ravel() @ dense.hessian @ step.ravel(), rel=1e-10)


def test_one_layer_by_hand():
    # minimise 1/2 (3 + u)^2 + 1/2 u^2: u = -3/2, cost 9/4
    one = np.ones((1, 1, 1))
    solution = riccati(one, one, 1.0)
    assert rollout(one, solution.K, [3.0]).controls.item() == -1.5
    assert solution.value([3.0]) == 2.25


def test_two_layers_by_hand():
    # last layer: S_1 = 2 * 1/(1 + 2) = 2/3; first: M = 1 + 9 * 2/3 = 7, S_0 = 2 * 7/9
    theta = np.array([[[3.0]], [[5.0]]])
    solution = riccati(theta, np.ones((2, 1, 1)), 2.0)
    assert np.allclose(solution.S.ravel(), [14 / 9, 2 / 3, 0])
    assert np.allclose(solution.K.ravel(), [7 / 9, 1 / 3])
    assert np.allclose(solution.A + solution.K, 1.0)


def test_golden_ratio():
    solution = riccati(np.ones((60, 1, 1)), np.ones((60, 1, 1)), 1.0)
    assert solution.S[0].item() == pytest.approx(1 / GOLDEN, rel=1e-12)
    assert solution.A[0].item() == pytest.approx(GOLDEN**-2, rel=1e-12)


def test_python_control_agrees():
    import control

    thetas, Q, _, _ = problem(2)
    theta, weight, c = thetas[0] / np.linalg.norm(thetas[0], 2), Q[0], 0.7
    K, S, _ = control.dlqr(theta, theta, weight, weight + c * np.eye(5), weight)
    deep = riccati(np.tile(theta, (80, 1, 1)), np.tile(weight, (80, 1, 1)), c)
    assert np.allclose(deep.S[0], S, atol=1e-9)
    assert np.allclose(deep.K[0], K, atol=1e-9)


def test_free_control_projects():
    system = orthogonal_system(d=5, r=2, T=3, seed=4)
    solution = riccati(system.thetas, system.complements[:-1], 0.0)
    assert np.allclose(solution.A, np.eye(5) - system.complements[:-1], atol=1e-13)
    assert not solution.S.any()


def test_a_subspace_that_is_everything_needs_no_control():
    frames = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 3, 3)))[0]
    noise = np.eye(3) - frames @ frames.swapaxes(1, 2)  # 0, but for rounding of either sign
    noise = (noise + noise.swapaxes(1, 2)) / 2
    assert np.linalg.eigvalsh(noise).min() < 0
    assert np.abs(riccati(frames, noise, 0.1).K).max() < 1e-13


def test_a_batch_is_its_systems():
    system = orthogonal_system(d=4, r=1, T=5, seed=6, batch=(2, 3))
    Q = system.complements[..., :-1, :, :]
    many = riccati(system.thetas, Q, 0.3)
    alone = riccati(system.thetas[1, 2], Q[1, 2], 0.3)
    assert np.allclose(many.S[1, 2], alone.S, atol=1e-13)
    x0 = np.random.default_rng(0).standard_normal((2, 3, 4))
    paths = rollout(system.thetas, many.K, x0)
    assert paths.states.shape == (6, 2, 3, 4)
    path = rollout(system.thetas[1, 2], alone.K, x0[1, 2])
    assert np.allclose(paths.states[:, 1, 2], path.states, atol=1e-13)
    assert np.allclose(many.value(x0)[1, 2], alone.value(x0[1, 2]))


def test_every_system_of_a_batch_can_have_its_own_cost():
    system = orthogonal_system(d=4, r=1, T=5, seed=6, batch=(3,))
    Q = system.complements[:, :-1]
    prices = np.array([0.01, 1.0, 50.0])
    many = riccati(system.thetas, Q, prices[:, None])
    by_layer = np.linspace(0.1, 2.0, 5)
    layered = riccati(system.thetas, Q, by_layer)
    for k, price in enumerate(prices):
        alone = riccati(system.thetas[k], Q[k], price)
        assert np.allclose(many.K[k], alone.K, atol=1e-13)
        assert np.allclose(many.S[k], alone.S, atol=1e-13 * price)
        assert np.allclose(layered.K[k], riccati(system.thetas[k], Q[k], by_layer).K, atol=1e-13)
    with pytest.raises(ValueError, match="broadcasts to"):
        riccati(system.thetas, Q, np.ones((2, 1)))


def test_the_parts_of_a_solution_fit_together():
    thetas, Q, c = problem(3)[:3]
    solution, eye = riccati(thetas, Q, c), np.eye(thetas.shape[-1])
    assert np.allclose(solution.A + solution.K, eye, atol=1e-13)
    prices = c[:, None, None]
    assert np.allclose(solution.S[:-1], prices * solution.K, atol=1e-13)
    assert np.allclose((solution.M + prices * eye) @ solution.K, solution.M, atol=1e-12)


def test_bad_input_is_named():
    thetas, Q, c, x0 = problem(0)
    lopsided = Q.copy()
    lopsided[0, 0, 1] += 1
    cases = [
        ((thetas[0], Q, 1.0), "thetas have shape"),
        ((thetas[:, :, :3], Q, 1.0), "thetas have shape"),
        ((thetas, Q[:2], 1.0), "Q_state has shape"),
        ((thetas, lopsided, 1.0), "not symmetric"),
        ((thetas, -Q, 1.0), "layer 5 has the eigenvalue"),
        ((thetas * np.nan, Q, 1.0), "NaN"),
        ((thetas, Q, -1.0), "cost c is -1.0"),
        ((thetas, Q, math.nan), "cost c is nan"),
        ((thetas, Q, [1.0, 2.0]), r"shape \(2,\)"),
    ]
    for arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            riccati(*arguments)
    with pytest.raises(ValueError, match="needs it positive"):
        dense_solution(thetas, Q, 0.0, x0)
    with pytest.raises(ValueError, match="expected one system"):
        dense_solution(thetas, Q, c, x0[:2])
    with pytest.raises(ValueError, match="controls"):
        cost(thetas, Q, c, x0, np.zeros((2, 5)))
    with pytest.raises(ValueError, match="must agree"):
        rollout(thetas, thetas[:2], x0)
    with pytest.raises(ValueError, match="x0 has shape"):
        rollout(thetas, thetas, x0[:2])


@pytest.mark.parametrize("seed", range(5))
def test_a_terminal_weight_agrees_with_the_dense_program(seed):
    thetas, Q, c, x0 = problem(seed)
    root = np.random.default_rng(seed).standard_normal((2, 5))
    for weights in (Q, 0 * Q):
        solution = riccati(thetas, weights, c, terminal=root.T @ root)
        dense = dense_solution(thetas, weights, c, x0, terminal=root.T @ root)
        path = rollout(thetas, solution.K, x0)
        assert np.allclose(path.controls, dense.controls, atol=1e-8)
        assert solution.value(x0) == pytest.approx(dense.value, rel=1e-8)
        end = root @ path.states[-1]
        paid = cost(thetas, weights, c, x0, path.controls) + 0.5 * float(end @ end)
        assert paid == pytest.approx(dense.value, rel=1e-8)


def test_a_terminal_cost_alone_needs_an_inverse_as_large_as_its_rank():
    thetas, Q, _, _ = problem(3)
    C = np.random.default_rng(0).standard_normal((2, 5))
    solution = riccati(thetas, 0 * Q, 0.5, terminal=C.T @ C)
    G, rows = C, []
    for theta in thetas[::-1]:
        G = G @ theta
        rows.append(G)
        K = G.T @ np.linalg.solve(0.5 * np.eye(2) + sum(g @ g.T for g in rows), G)
        assert np.allclose(solution.K[len(thetas) - len(rows)], K, atol=1e-10)


@pytest.mark.parametrize(
    ("end", "text"),
    [(np.eye(3), "shape"), (np.tri(5), "symmetric"), (-np.eye(5), "negative"), (np.nan, "shape")],
)
def test_a_terminal_weight_that_is_none_is_refused(end, text):
    thetas, Q, c, _ = problem(0)
    with pytest.raises(ValueError, match=text):
        riccati(thetas, Q, c, terminal=end)
