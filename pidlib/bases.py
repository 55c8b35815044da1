"""What a fit learns: the spectra and bases of the states' second moments, and its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from pydantic import BaseModel, NonNegativeInt, PositiveInt
from torch import Tensor

from pidlib.hooks import Blocks
from pidlib.io.pretrained import Layout, TensorFile
from pidlib.io.records import Hash
from pidlib.io.strict_json import shorten
from pidlib.io.weights import first_weight, weights_sha256
from pidlib.settings import TERMS
from pidlib.theory.subspaces import rank_for

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
ORTHONORMAL = 1e-4  # Frobenius norm of V^T V - I; single precision leaves about 1e-7 sqrt(k)


@dataclass(frozen=True)
class FitRecord:
    """The model and the text of a fit: sha256 of each block's weights by number type; counts of rows."""

    __pydantic_config__ = {"extra": "forbid"}

    model_type: str
    architecture: str
    depth: PositiveInt
    width: PositiveInt
    block_list: str | None
    blocks: tuple[dict[str, Hash], ...]
    rows: NonNegativeInt
    correct: NonNegativeInt
    tokens: NonNegativeInt
    truncated: NonNegativeInt

    @classmethod
    def of(cls, blocks: Blocks, named: bool, /, **more: Any) -> FitRecord:
        """Origin of a fit on these blocks, whose list the user named or pidlib found."""
        return cls(
            model_type=getattr(getattr(blocks.model, "config", None), "model_type", None) or "",
            architecture=type(blocks.model).__name__,
            depth=blocks.depth,
            block_list=blocks.names[0].rpartition(".")[0] if named else None,
            **more,
        )

    def changed(self, blocks: Blocks) -> list[str]:
        """Names of the blocks whose weights differ, each in its own number type (double as single)."""
        changed = []
        for name, module, known in zip(blocks.names, blocks.modules, self.blocks, strict=True):
            first = first_weight(module)
            own = "" if first is None else str(first.dtype).removeprefix("torch.")
            own = own if own in DTYPES else "float32"
            if weights_sha256(module, DTYPES[own]) != known[own]:
                changed.append(name)
        return changed


def checksums(blocks: Blocks) -> tuple[dict[str, str], ...]:
    """Sha256 of each block's weights in three number types, so that a copy in half precision fits."""
    return tuple(
        {name: weights_sha256(module, dtype) for name, dtype in DTYPES.items()}
        for module in blocks.modules
    )


class ControllerCard(BaseModel):
    """What the cards of all controllers hold."""

    origin: FitRecord
    tensors: TensorFile


@dataclass(frozen=True, eq=False)
class Eigenbases:
    """Spectra and eigenvectors of the uncentred second moments (Algorithm 1), by term P, I and D.

    `values` (T + 1, d) fall, per token, of the states x_t, their running sums and their differences
    (at t = 0 all three are x_0); `vectors` (T + 1, d, k) are the leading columns.
    """

    values: dict[str, Tensor]
    vectors: dict[str, Tensor]
    origin: FitRecord

    def __repr__(self) -> str:
        """Name and sizes on one line."""
        states, d, kept = next(iter(self.vectors.values())).shape
        terms = "".join(self.values)
        return f"<Eigenbases: terms {terms}, {states} states of width {d}, {kept} directions each>"

    def rank(self, term: str, t: int, variance: float) -> int:
        """Smallest rank whose eigenvalues hold the share `variance` (of Σσ², where the paper has Σσ)."""
        if term not in self.values:
            raise ValueError(
                f"the bases of {shorten(term)} were not learnt, those of {list(self.values)} were; fit "
                "again with terms='PID'"
            )
        return rank_for(self.values[term][t], variance)

    def basis(self, term: str, t: int, variance: float) -> Tensor:
        """Orthonormal columns V^i_t, (d, r) float64; refused where fewer were kept."""
        rank, most = self.rank(term, t, variance), self.vectors[term].shape[-1]
        if rank > most:
            raise ValueError(
                f"variance {variance} needs {rank} directions of {term} at state {t} and {most} "
                "were kept; fit again with a larger keep, or choose a smaller variance"
            )
        return self.vectors[term][t, :, :rank].double()

    def projection(self, term: str, t: int, variance: float) -> Tensor:
        """Q^i_t = I - V V^T, (d, d) float64."""
        basis = self.basis(term, t, variance)
        return torch.eye(len(basis), dtype=torch.float64) - basis @ basis.T

    def moment(self, t: int, term: str = "P") -> Tensor:
        """Second moment of a term at state t, of one token, (d, d) float64.

        Energy of directions that were not kept is spread evenly.
        """
        vectors, values = self.vectors[term][t].double(), self.values[term][t]
        d, k = vectors.shape
        rest = float(values[k:].sum()) / (d - k) if k < d else 0.0
        return vectors * (values[:k] - rest) @ vectors.T + rest * torch.eye(d, dtype=torch.float64)

    def tensors(self) -> dict[str, Tensor]:
        """All tensors, by the names that they have in a file."""
        kinds = {"values": self.values, "vectors": self.vectors}
        return {f"{i}.{kind}": of[i] for kind, of in kinds.items() for i in of}

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Tensor], terms: str, origin: FitRecord) -> Eigenbases:
        """Make them of what a file holds; refuse what no second moment has."""
        values, vectors = ({i: tensors[f"{i}.{k}"] for i in terms} for k in ("values", "vectors"))
        for term in terms:
            check_basis(term, values[term], vectors[term])
        return cls(values, vectors, origin)


def layout(terms: str, origin: FitRecord) -> Layout:
    """Number types and shapes of the tensors in a file; refuse terms that there are none of."""
    if "P" not in terms or len(set(terms)) != len(terms) or set(terms) - set(TERMS):
        raise ValueError(
            f"the terms are {shorten(terms)}; they have to be P, alone or with I and D, each once"
        )
    states, d = origin.depth + 1, origin.width
    values: Layout = {f"{i}.values": ("F64", (states, d)) for i in terms}
    return values | {f"{i}.vectors": ("F32", (states, d, None)) for i in terms}


def check_basis(term: str, values: Tensor, vectors: Tensor) -> None:
    """Refuse what no second moment has; orthonormal columns make I - V V^T a projection, K symmetric."""
    if not 1 <= vectors.shape[2] <= vectors.shape[1]:
        raise ValueError(
            f"term {term} has vectors of the shape {tuple(vectors.shape)}; it has to be "
            "(T + 1, d, k), k from 1 to d"
        )
    for t, (spectrum, frame) in enumerate(zip(values, vectors, strict=True)):
        place = f"of term {term} at state {t}"
        if not (spectrum.isfinite().all() and spectrum.sum().isfinite() and frame.isfinite().all()):
            raise ValueError(
                f"the basis {place} has NaN or infinite entries, or eigenvalues whose sum is "
                "infinite"
            )
        if bool((spectrum < 0).any()) or bool((spectrum.diff() > 0).any()):
            raise ValueError(f"the eigenvalues {place} are negative or not falling")
        eye = torch.eye(frame.shape[1], dtype=frame.dtype)
        distance = float(torch.linalg.matrix_norm(frame.T @ frame - eye))
        if not distance <= ORTHONORMAL:  # products of huge entries are infinite or NaN
            raise ValueError(
                f"the basis {place} is not orthonormal (V^T V is {distance:.3g} from I)"
            )
