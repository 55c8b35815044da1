"""Tucker's decomposition (HOSVD) of a stream of states, by second moments.

The basis of one mode holds the left singular vectors of that mode's unfolding X_(i). They are the
eigenvectors of the second moment X_(i) X_(i)^T, a sum over examples.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from pidbook.theory.inputs import choice
from pidlib.theory.inputs import number
from pidlib.theory.subspaces import Moments, rank_for, spectrum

MODES = ("embedding", "temporal")


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


class TuckerMoments(Moments):
    """Second moments of a stream of states in both modes, over directions and over time.

    Memory is width^2 + length^2 numbers whatever the number of examples.

    Parameters
    ----------
    width : int
        Size d of one state.
    length : int
        Positions l kept in the temporal mode. Later tokens of a longer example count in
        the embedding mode only. With 0 the temporal mode is not accumulated.

    Attributes
    ----------
    temporal : (l, l) float64 tensor
        Sum over examples of X X^T, X being (l, d). A token's position is its place among
        the real tokens of its example, so padding, left or right, changes nothing.

    Examples
    --------
    >>> states = torch.tensor([[[3.0, 4.0], [0.0, 0.0]]])
    >>> moments = TuckerMoments(width=2, length=2).update(states, mask=torch.tensor([[1, 0]]))
    >>> moments.subspace(variance=0.99).basis.T.round(decimals=3).tolist()
    [[0.6, 0.8]]

    Source: Algorithm 1; equations subspaces-streamed, subspaces-moment.
    """

    def __init__(self, width: int, length: int = 0):
        super().__init__(width)
        self.length = int(number("length", length))
        self.temporal = torch.zeros(length, length, dtype=torch.float64)

    def add(self, states: torch.Tensor, mask: torch.Tensor) -> None:
        """Add some states (B, l, d) of an update; mask (B, l) is true where they count."""
        super().add(states, mask)
        if self.length:
            place = (mask.cumsum(1) - 1).masked_fill(~mask, self.length)
            place = place.clamp_max(self.length)  # one place more takes what does not count
            wide = states.double().masked_fill(~mask[..., None], 0.0)
            products = wide @ wide.mT
            pairs = place[:, :, None] * (self.length + 1) + place[:, None, :]
            sums = products.new_zeros((self.length + 1) ** 2)
            sums.index_add_(0, pairs.flatten(), products.flatten())
            self.temporal += sums.view(self.length + 1, -1)[:-1, :-1]

    def merge(self, other: TuckerMoments) -> TuckerMoments:
        """Add the sums of another accumulator, which is left as it is; return this one."""
        if (self.width, self.length) != (other.width, other.length):
            raise ValueError(
                f"cannot merge width {self.width}, length {self.length} with "
                f"width {other.width}, length {other.length}"
            )
        self.embedding += other.embedding
        self.temporal += other.temporal
        self.tokens += other.tokens
        self.examples += other.examples
        return self

    def subspace(self, variance: float = 0.99, mode: str = "embedding") -> Subspace:
        """Subspace of the "embedding" or "temporal" mode that holds a share of variance."""
        choice("mode", mode, MODES)
        if self.tokens == 0:
            raise ValueError("no states were added; call update first")
        if mode == "temporal" and self.length == 0:
            raise ValueError("the temporal mode was not accumulated; give a length above 0")
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
