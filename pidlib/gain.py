"""A feedback matrix in the cheaper of two forms, dense or low rank, and its product with states."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

TOLERANCE = 1e-5  # bases are kept in single precision


@dataclass(frozen=True, eq=False)
class Gain:
    """A feedback u = b - K x, K dense, or thin: K = shift I + W diag(k) W^T with m columns.

    Attributes
    ----------
    left, right : (d, m) W and (m, d) -diag(k) W^T, float64; in the dense form -K^T and None
    shift : float, part of K that is a multiple of the identity; 0 in the dense form
    offset : (d,) float64 tensor b, or None for 0
    cache : dict, the factors by number type and device, until `release`
    """

    left: Tensor
    right: Tensor | None
    shift: float
    offset: Tensor | None = None
    cache: dict = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_spectrum(cls, vectors: Tensor, values: Tensor) -> Gain:
        """Choose the cheapest form of K, given its eigenvectors (d, d) and eigenvalues (d,), at least 0.

        >>> eye, values = torch.eye(4, dtype=torch.float64), torch.tensor([0.0, 0, 0, 1]).double()
        >>> Gain.from_spectrum(eye, values).form, Gain.from_spectrum(eye, 1 - values).form
        ('thin 1', 'thin 1')
        """
        small = TOLERANCE * float(values.max())
        options = []
        for shift in (0.0, float(values.max())):
            away = (values - shift).abs() > small
            options.append((int(away.sum()), shift, away))
        columns, shift, away = min(options, key=lambda option: option[0])
        if 2 * columns >= len(values):
            return cls(-(vectors * values) @ vectors.T, None, 0.0)
        frame = vectors[:, away]
        return cls(frame.contiguous(), -((values[away] - shift) * frame).T.contiguous(), shift)

    @classmethod
    def of_projection(cls, projection: Tensor, scale: float) -> Gain:
        """K = scale times a projection (d, d)."""
        values, vectors = torch.linalg.eigh(projection)
        return cls.from_spectrum(vectors, scale * values.round())

    @property
    def form(self) -> str:
        """`dense`, or `thin` with the number of columns."""
        return "dense" if self.right is None else f"thin {self.left.shape[1]}"

    @property
    def is_zero(self) -> bool:
        """Whether the control is nil for every state."""
        still = self.left.numel() == 0 or not bool(self.left.any())
        return self.shift == 0.0 and still and (self.offset is None or not bool(self.offset.any()))

    def matrix(self) -> Tensor:
        """K as a (d, d) float64 tensor."""
        if self.right is None:
            return -self.left.T
        eye = torch.eye(len(self.left), dtype=torch.float64)
        return self.shift * eye - self.left @ self.right

    def factors(self, dtype: torch.dtype, device: torch.device) -> tuple[Tensor | None, ...]:
        """Left factor, right factor, offset in a number type on a device; kept until `release`."""
        kept = self.cache.get((dtype, device))
        if kept is None:
            # Tensors made in inference mode could never take part in a gradient.
            with torch.inference_mode(False), torch.no_grad():
                parts = (self.left, self.right, self.offset)
                kept = tuple(p if p is None else p.to(device, dtype) for p in parts)
                self.cache[dtype, device] = kept
        return kept

    def release(self) -> None:
        """Free the kept factors, but for the last if they are in main memory: to attach again is quick."""
        last = [item for item in self.cache.items() if item[0][1].type == "cpu"][-1:]
        self.cache.clear()
        self.cache.update(last)

    def add_to(
        self, base: Tensor, x: Tensor, mask: Tensor | None = None, padding: Tensor | None = None
    ) -> Tensor:
        """Return base + b - K x (B, l, d) where `mask` (B, l, 1) is true, else base.

        `padding` (k,) holds the other places, if known. Under autocast the state keeps its precision.
        """
        left, right, offset = self.factors(x.dtype, x.device)
        flat, rows = x.reshape(-1, x.shape[-1]), base.reshape(-1, x.shape[-1])
        real = None if mask is None else mask.reshape(-1, 1)
        first, second = flat, left
        if right is not None:
            first, second = flat @ left, right
            if real is not None and self.shift == 0.0 and offset is None:
                first, real = first * real, None  # fewer numbers to mask than after
        if torch.is_autocast_enabled(x.device.type):
            new = rows + first @ second
        else:
            new = torch.addmm(rows, first, second)
        if self.shift != 0.0:
            new = new - self.shift * flat
        if offset is not None:
            new = new + offset
        if real is not None and padding is not None:
            new.index_copy_(0, padding, rows.index_select(0, padding))
        elif real is not None:
            new = torch.where(real, new, rows)
        return new.reshape(base.shape)


def padding_places(mask: Tensor | None) -> Tensor | None:
    """Places (k,) of padding in a mask (B, l, 1), where finding them costs little: on the CPU."""
    if mask is None or mask.device.type != "cpu" or torch.compiler.is_compiling():
        return None
    return (~mask).reshape(-1).nonzero().squeeze(1)
