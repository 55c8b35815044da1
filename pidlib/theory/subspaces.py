"""Linear subspaces of hidden states, fitted from a stream.

The basis of one mode of a Tucker decomposition (HOSVD) holds the left singular vectors
of that mode's unfolding X_(i). They are the eigenvectors of the second moment
X_(i) X_(i)^T, a sum over examples, so it is enough to add up that small matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import torch

from pidlib.theory.inputs import choice, number

MODES = ("embedding", "temporal")
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


@dataclass(frozen=True)
class Subspace:
    """A fitted subspace of one mode.

    Attributes
    ----------
    basis : (d, r) float64 tensor
        Orthonormal columns, by falling eigenvalue, each with its largest entry positive.
    eigenvalues : (d,) float64 tensor
        All eigenvalues of the second moment, falling.
    rank : int
        Number of columns r.
    variance : float
        Share of variance asked for.

    Source: Algorithm 1; equations subspaces-projection, subspaces-svd.
    """

    basis: torch.Tensor
    eigenvalues: torch.Tensor
    rank: int
    variance: float

    @property
    def projection(self) -> torch.Tensor:
        """Projection V V^T onto the subspace, (d, d)."""
        return self.basis @ self.basis.T

    @property
    def complement(self) -> torch.Tensor:
        """Projection Q = I - V V^T off the subspace, (d, d)."""
        return torch.eye(len(self.basis), dtype=self.basis.dtype) - self.projection


def spectrum(moment: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalues (d,) of a second moment (d, d), falling, none below 0, and its eigenvectors."""
    values, vectors = torch.linalg.eigh((moment + moment.T) / 2)
    return values.flip(0).clamp(min=0.0), vectors.flip(1)


def subspace_of(moment: torch.Tensor, variance: float) -> Subspace:
    """Leading eigenvectors of a second moment (d, d) that hold a share of variance."""
    matrix = moment.detach().to("cpu", torch.float64)
    if not torch.isfinite(matrix).all():
        raise ValueError("the second moment has NaN or infinite entries")
    values, vectors = spectrum(matrix)
    rank = rank_for(values, variance)
    basis = vectors[:, :rank]
    largest = basis.gather(0, basis.abs().argmax(0, keepdim=True))
    return Subspace((basis * largest.sign()).contiguous(), values, rank, float(variance))


class Moments:
    """Uncentred second moments of a stream of states, per mode, in float64.

    Memory is width^2 + length^2 numbers whatever the number of examples.

    Parameters
    ----------
    width : int
        Size d of one state.
    length : int
        Positions l kept in the temporal mode. Later tokens of a longer example count in
        the embedding mode only. With 0 the temporal mode is not accumulated.
    device : torch.device, optional
        Where the sums live; states are moved there.

    Attributes
    ----------
    embedding : (d, d) float64 tensor
        Sum over real tokens of x x^T.
    temporal : (l, l) float64 tensor
        Sum over examples of X X^T, X being (l, d). A token's position is its place among
        the real tokens of its example, so padding, left or right, changes nothing.
    tokens, examples : int
        How many were added.

    Examples
    --------
    >>> states = torch.tensor([[[3.0, 4.0], [0.0, 0.0]]])
    >>> moments = Moments(width=2, length=2).update(states, mask=torch.tensor([[1, 0]]))
    >>> moments.embedding.tolist(), moments.tokens
    ([[9.0, 12.0], [12.0, 16.0]], 1)
    >>> moments.subspace(variance=0.99).basis.T.round(decimals=3).tolist()
    [[0.6, 0.8]]

    Source: Algorithm 1; equations subspaces-streamed, subspaces-moment.
    Departure: streamed; real tokens only; uncentred as there.
    """

    def __init__(self, width: int, length: int = 0, device: torch.device | str | None = None):
        self.width = int(number("width", width, "at least 1"))
        self.length = int(number("length", length))
        self.embedding = torch.zeros(width, width, dtype=torch.float64, device=device)
        self.temporal = torch.zeros(length, length, dtype=torch.float64, device=device)
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
            self._add(states[start : start + step], mask[start : start + step])
        return self

    def _add(self, states: torch.Tensor, mask: torch.Tensor) -> None:
        states, mask = (v.to(self.embedding.device) for v in (states, mask))
        whole = bool(mask.all())
        real = states.flatten(0, 1).double() if whole else states[mask].double()
        # The sum is symmetric: three of its four quarters are computed, one is copied.
        half, total = self.width // 2, self.embedding
        total[:half].addmm_(real[:, :half].T, real)
        total[half:, half:].addmm_(real[:, half:].T, real[:, half:])
        total[half:, :half] = total[:half, half:].T
        if self.length:
            place = (mask.cumsum(1) - 1).masked_fill(~mask, self.length)
            place = place.clamp_max(self.length)  # one place more takes what does not count
            if whole:
                wide = real.view(states.shape)
            else:
                wide = real.new_zeros(states.shape)
                wide[mask] = real
            products = wide @ wide.mT
            pairs = place[:, :, None] * (self.length + 1) + place[:, None, :]
            sums = products.new_zeros((self.length + 1) ** 2)
            sums.index_add_(0, pairs.flatten(), products.flatten())
            self.temporal += sums.view(self.length + 1, -1)[:-1, :-1]
        self.tokens += int(mask.sum())
        self.examples += len(states)

    def merge(self, other: Moments) -> Moments:
        """Add the sums of another accumulator, which is left as it is; return this one."""
        if (self.width, self.length) != (other.width, other.length):
            raise ValueError(
                f"cannot merge width {self.width}, length {self.length} with "
                f"width {other.width}, length {other.length}"
            )
        self.embedding += other.embedding.to(self.embedding.device)
        self.temporal += other.temporal.to(self.temporal.device)
        self.tokens += other.tokens
        self.examples += other.examples
        return self

    def subspace(self, variance: float = 0.99, mode: str = "embedding") -> Subspace:
        """Subspace of the "embedding" or "temporal" mode that holds a share of variance."""
        choice("mode", mode, MODES)
        if self.tokens == 0:
            raise ValueError("no states were added; call update first")
        if mode == "temporal" and self.length == 0:
            raise ValueError("the temporal mode was not accumulated; give Moments a length above 0")
        return subspace_of(self.embedding if mode == "embedding" else self.temporal, variance)


def energy_off(basis: torch.Tensor, moment: torch.Tensor) -> float:
    """Share of a second moment's energy that lies off a subspace.

    Parameters
    ----------
    basis : (d, r) tensor
        Orthonormal columns V.
    moment : (d, d) tensor
        Second moment M of the states looked at.

    Returns
    -------
    float
        tr(Q M) / tr(M) with Q = I - V V^T, from 0 to 1.

    Raises
    ------
    ValueError
        A moment of zero energy.

    Examples
    --------
    >>> energy_off(torch.eye(2)[:, :1], torch.diag(torch.tensor([3.0, 1.0])))
    0.25

    Source: equation subspaces-bias.
    """
    frame, matrix = basis.to(torch.float64), moment.to(torch.float64)
    total = float(matrix.trace())
    if total <= 0:
        raise ValueError(f"the second moment has trace {total}; no states were seen")
    left = matrix - frame @ (frame.T @ matrix)
    return min(1.0, max(0.0, float((left - (left @ frame) @ frame.T).trace()) / total))


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
