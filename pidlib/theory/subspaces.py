"""Linear subspaces of hidden states, fitted from a stream.

A basis holds the left singular vectors of all states, side by side. They are the eigenvectors
of their second moment X X^T, a sum over states, so it is enough to add up that small matrix.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import torch

from pidlib.theory.inputs import number

_CHUNK = 1 << 20  # numbers cast to float64 at a time: 8 MiB


def rank_for(eigenvalues: torch.Tensor, variance: float) -> int:
    """Smallest rank whose leading eigenvalues hold the asked share of variance.

    Parameters
    ----------
    eigenvalues : (d,) tensor or array
        Eigenvalues of a second moment (squared singular values), in any order. A share
        that falls short by rounding only (d times machine precision) counts as reached.
    variance : float
        Share, above 0 and at most 1.

    Returns
    -------
    int
        Rank, from 1 to d.

    Raises
    ------
    ValueError
        Variance out of range; eigenvalues empty, not finite or all zero.

    Examples
    --------
    >>> rank_for(torch.tensor([90.0, 9.0, 0.9, 0.1]), 0.99)
    2

    Source: section 3.1 ("99 % of total variance"); equation subspaces-rank.
    Departure: the paper accumulates singular values; variance is their squares.
    """
    share = float(number("variance", variance, "above 0 and at most 1"))
    values = torch.as_tensor(eigenvalues, dtype=torch.float64).flatten()
    if values.numel() == 0 or not torch.isfinite(values).all():
        raise ValueError("eigenvalues are empty or not finite; fit on finite states first")
    values = values.clamp(min=0.0).sort(descending=True).values
    sums = values.cumsum(0)
    if sums[-1] == 0:
        raise ValueError("all eigenvalues are zero: no states were seen, or all were zero")
    slack = len(values) * torch.finfo(torch.float64).eps
    return int((sums < (share - slack) * sums[-1]).sum()) + 1


def spectrum(moment: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalues (d,) of a second moment (d, d), falling, none below 0, and its eigenvectors."""
    values, vectors = torch.linalg.eigh((moment + moment.T) / 2)
    return values.flip(0).clamp(min=0.0), vectors.flip(1)


class Moments:
    """Uncentred second moment of a stream of states, in float64.

    Memory is width^2 numbers whatever the number of states.

    Parameters
    ----------
    width : int
        Size d of one state.
    device : torch.device, optional
        Where the sums live; states are moved there.

    Attributes
    ----------
    embedding : (d, d) float64 tensor
        Sum over real tokens of x x^T.
    tokens, examples : int
        How many were added.

    Examples
    --------
    >>> states = torch.tensor([[[3.0, 4.0], [0.0, 0.0]]])
    >>> moments = Moments(width=2).update(states, mask=torch.tensor([[1, 0]]))
    >>> moments.embedding.tolist(), moments.tokens
    ([[9.0, 12.0], [12.0, 16.0]], 1)

    Source: Algorithm 1; equations subspaces-streamed, subspaces-moment.
    Departure: streamed; real tokens only; uncentred as there.
    """

    def __init__(self, width: int, device: torch.device | str | None = None):
        self.width = int(number("width", width, "at least 1"))
        self.embedding = torch.zeros(width, width, dtype=torch.float64, device=device)
        self.tokens = 0
        self.examples = 0

    @torch.no_grad()
    def update(self, states: torch.Tensor, mask: torch.Tensor | None = None) -> Moments:
        """Add states (B, l, d), or (n, d) of one token each, but for padding: `mask` (B, l) is 0 there."""
        states = torch.as_tensor(states).detach()
        if states.ndim == 2:
            states = states[:, None, :]
        if states.ndim != 3 or states.shape[-1] != self.width:
            raise ValueError(
                f"states have shape {tuple(states.shape)}; expected (batch, length, {self.width})"
            )
        if mask is None:
            mask = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
        mask = torch.as_tensor(mask).to(device=states.device, dtype=torch.bool)
        if mask.shape != states.shape[:2]:
            raise ValueError(
                f"mask has shape {tuple(mask.shape)}; expected {tuple(states.shape[:2])}"
            )
        if states.numel() and not all(map(torch.isfinite, states.aminmax())):
            finite = torch.isfinite(states).all(-1) | ~mask
            if not finite.all():
                place = tuple((~finite).nonzero()[0].tolist())
                raise ValueError(
                    f"the state at (example, token) {place} of this batch has a NaN or infinite "
                    "entry; check the model's weights and its number type"
                )
        step = max(1, _CHUNK // max(1, states.shape[1] * self.width))
        for start in range(0, len(states), step):
            self.add(states[start : start + step], mask[start : start + step])
        return self

    def add(self, states: torch.Tensor, mask: torch.Tensor) -> None:
        """Add some states (B, l, d) of an update; mask (B, l) is true where they count."""
        states, mask = (v.to(self.embedding.device) for v in (states, mask))
        real = (states.flatten(0, 1) if bool(mask.all()) else states[mask]).double()
        # The sum is symmetric: three of its four quarters are computed, one is copied.
        half, total = self.width // 2, self.embedding
        total[:half].addmm_(real[:, :half].T, real)
        total[half:, half:].addmm_(real[:, half:].T, real[:, half:])
        total[half:, :half] = total[:half, half:].T
        self.tokens += int(mask.sum())
        self.examples += len(states)


def principal_angles(V: torch.Tensor, W: torch.Tensor) -> torch.Tensor:
    """Principal angles between two column spaces, in radians, largest first.

    Small angles come from their sines, so they are right down to machine precision.

    Parameters
    ----------
    V, W : (d, r), (d, s) tensor or array
        Columns that span the subspaces; they need not be orthonormal.

    Returns
    -------
    (min(r, s),) float64 tensor

    Raises
    ------
    ValueError
        Not matrices, or of different height.

    Examples
    --------
    >>> plane, line = torch.eye(3)[:, :2], torch.tensor([[1.0], [0.0], [1.0]])
    >>> principal_angles(plane, line).rad2deg().round(decimals=3).tolist()
    [45.0]

    Source: equation subspaces-angles. The algorithm is that of
    scipy.linalg.subspace_angles.
    """
    left, right = (np.asarray(torch.as_tensor(m).detach().cpu().double()) for m in (V, W))
    if left.ndim != 2 or right.ndim != 2 or left.shape[0] != right.shape[0]:
        raise ValueError(f"shapes {left.shape} and {right.shape}; expected (d, r) and (d, s)")
    return torch.from_numpy(scipy.linalg.subspace_angles(left, right).copy())
