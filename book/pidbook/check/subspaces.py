"""Exercises on hidden states and their subspaces that check themselves."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise
from pidbook.theory.manifolds import bent_curve


@exercise("np.linalg.qr(W)[0] is an orthonormal basis V; then take the length of x - V V'x")
def distance_to_span(answer: Answer) -> Cases:
    """Check a function (x, W) -> distance of x from the span of the columns of W."""
    random = np.random.default_rng(0)
    for d, r in ((3, 1), (3, 2), (6, 4)):
        x, W = random.standard_normal(d), random.standard_normal((d, r))
        near = W @ np.linalg.lstsq(W, x, rcond=None)[0]
        yield np.linalg.norm(x - near), answer(x, W)
    return "I - V V' measures a distance once V is orthonormal"


@exercise("after 2m directions bend^(2m) is lost; at an odd rank half of one pair is there")
def curve_rank(answer: Answer) -> Cases:
    """Check a function (bend, share) -> directions that a bent curve needs."""
    places = np.arange(4096) * 2 * np.pi / 4096
    for bend, share in ((0.3, 0.5), (0.6, 0.9), (0.6, 0.99), (0.85, 0.95), (0.9, 0.99)):
        energy = (bent_curve(places, bend, dims=800) ** 2).sum(axis=0)
        shares = np.cumsum(energy) / energy.sum()
        yield np.argmax(shares >= share) + 1, answer(bend, share)
    return "one dimension of curve, and as many directions as it has bends"


@exercise("put tokens into the columns of a (d, N l) matrix; then U of its SVD has d rows")
def embedding_projection(answer: Answer) -> Cases:
    """Check a function (X, r) -> projection onto the embedding mode's first r directions."""
    random = np.random.default_rng(2)
    for N, length, d, r in ((5, 4, 3, 1), (4, 3, 6, 2), (2, 2, 7, 3)):
        X = random.standard_normal((N, length, d)) * 0.5 ** np.arange(d)
        tokens = X.reshape(-1, d)
        V = np.linalg.eigh(tokens.T @ tokens)[1][:, ::-1][:, :r]
        yield V @ V.T, answer(X, r)
    return "the basis has d rows: U of the unfolding, V of its transpose"


@exercise("np.cumsum(values) / values.sum() is the share of 1, 2, ... directions")
def smallest_rank(answer: Answer) -> Cases:
    """Check a function (eigenvalues, variance) -> rank."""
    random = np.random.default_rng(0)
    for _ in range(5):
        values = np.sort(random.exponential(size=9) ** 2)[::-1]
        shares = np.cumsum(values) / values.sum()
        for variance in (0.5, 0.9, 0.99):
            yield np.argmax(shares >= variance) + 1, answer(values, variance)
    return "the rank is where the running share first reaches the threshold."


@exercise("x - V (V^T x) is off the subspace; states lie in rows, so V^T x is X @ V")
def clean_bias(answer: Answer) -> Cases:
    """Check a function (V, states) -> share of energy off a subspace."""
    random = np.random.default_rng(1)
    for r in (1, 3, 5):
        V, X = np.linalg.qr(random.standard_normal((6, r)))[0], random.standard_normal((20, 6))
        off = X - X @ V @ V.T
        yield (off**2).sum() / (X**2).sum(), answer(V, X)
    return "Pythagoras: what the projection V V^T keeps and what Q takes add up to all."


@exercise("in space (d = 3) two planes share a line; two lines need not meet")
def shared_directions(answer: Answer) -> Cases:
    """Check a function (r, s, d) -> least dimension that two subspaces share."""
    for r, s, d in ((3, 4, 5), (2, 2, 5), (5, 1, 5)):
        yield max(0, r + s - d), answer(r, s, d)
    return "two subspaces of more than d dimensions together must meet."
