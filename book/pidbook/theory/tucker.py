"""Tucker's decomposition of a whole tensor (HOSVD)."""

from __future__ import annotations

from typing import NamedTuple

import torch

from pidlib.theory.subspaces import rank_for


class Hosvd(NamedTuple):
    """Core (r_1, ..., r_I), bases (n_i, r_i) and all singular values of a Tucker decomposition."""

    core: torch.Tensor
    bases: tuple[torch.Tensor, ...]
    singular_values: tuple[torch.Tensor, ...]


def hosvd(tensor: torch.Tensor, variance: float = 1.0) -> Hosvd:
    """Tucker decomposition of a whole tensor, one unfolding after another.

    For teaching and for tests: it holds the tensor in memory. `Moments` gives the same
    bases from a stream.

    Parameters
    ----------
    tensor : tensor of two or more axes
        For hidden states (N, l, d).
    variance : float
        Share of variance kept in each mode, above 0 and at most 1.

    Returns
    -------
    Hosvd
        `core` (r_1, ..., r_I), `bases` of (n_i, r_i), all `singular_values` of each unfolding.

    Raises
    ------
    ValueError
        Variance out of range, fewer than two axes, or entries that are not finite.

    Examples
    --------
    >>> parts = hosvd(torch.arange(24.0).reshape(4, 3, 2), variance=0.99)
    >>> tuple(parts.core.shape), [tuple(basis.shape) for basis in parts.bases]
    ((1, 1, 1), [(4, 1), (3, 1), (2, 1)])

    Source: Algorithm 1; equations subspaces-svd, subspaces-core, subspaces-truncation.
    Departure: the basis is U and the core is X times U^T; the printed V does not fit the
    mode product.
    """
    values = torch.as_tensor(tensor).detach().double()
    if values.ndim < 2:
        raise ValueError(f"the tensor has {values.ndim} axes; at least two are needed")
    if not torch.isfinite(values).all():
        raise ValueError("the tensor has NaN or infinite entries")
    core, bases, spectra = values, [], []
    for mode in range(values.ndim):
        unfolding = values.movedim(mode, 0).flatten(1)  # rows: slices along this mode
        left, sizes, _ = torch.linalg.svd(unfolding, full_matrices=False)
        basis = left[:, : rank_for(sizes**2, variance)]
        core = torch.tensordot(core, basis, dims=([0], [0]))  # each mode in turn goes to the end
        bases.append(basis)
        spectra.append(sizes)
    return Hosvd(core, tuple(bases), tuple(spectra))
