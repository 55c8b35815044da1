"""What a fit learns: the spectra and bases of the states' second moments, and its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pidlib.hooks import DTYPES
from pidlib.io.pretrained import Layout, read_bundle, refused, write_bundle
from pidlib.io.strict_json import (
    COUNT,
    HASH,
    NUMBER,
    SIZE,
    TEXT,
    Kind,
    _plain,
    _whole,
    check_fields,
    told,
)
from pidlib.laws import TERMS
from pidlib.theory.subspaces import rank_for

_SETTINGS: dict[str, Kind] = {
    "scheme": TEXT,
    "variance": NUMBER,
    "c": ("a number or 'inf'", lambda v: _plain(v) or v == "inf"),
    "law": TEXT,
    "gains": (
        "a name or a number for each term",
        lambda v: isinstance(v, str) or (isinstance(v, dict) and all(map(_plain, v.values()))),
    ),
    "layers": (
        "null, 'published' or a list of whole numbers",
        lambda v: v in (None, "published") or (isinstance(v, list) and all(map(_whole, v))),
    ),
}

ORTHONORMAL = 1e-4  # Frobenius norm of V^T V - I; single precision leaves about 1e-7 sqrt(k)
_ORIGIN: dict[str, Kind] = {
    "model_type": TEXT,
    "architecture": TEXT,
    "depth": SIZE,
    "width": SIZE,
    "block_list": ("a text or null", lambda v: v is None or isinstance(v, str)),
    "blocks": ("a list of objects", lambda v: isinstance(v, list)),
    "rows": COUNT,
    "correct": COUNT,
    "tokens": COUNT,
    "truncated": COUNT,
}

FORMAT = "pidlib-controller"


@dataclass(frozen=True)
class Origin:
    """The model and the text that bases were fitted on.

    Attributes
    ----------
    model_type, architecture : str
        From the configuration (for example "bert"), and the class.
    depth, width : int
        Number of blocks T and width d of a state.
    block_list : str or None
        Name of the block list where the user had to give it.
    blocks : tuple of dict
        For each block the sha256 of its weights, by number type.
    rows, correct, tokens, truncated : int
        Rows seen, rows used, real tokens used, rows cut at the maximum length.
    """

    model_type: str
    architecture: str
    depth: int
    width: int
    block_list: str | None
    blocks: tuple[dict[str, str], ...]
    rows: int
    correct: int
    tokens: int
    truncated: int

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Origin:
        """Read one that was written as JSON.

        Parameters
        ----------
        record : mapping
            As read from JSON.

        Returns
        -------
        Origin
        """
        return cls(**{**record, "blocks": tuple(record["blocks"])})


@dataclass(frozen=True, eq=False)
class Eigenbases:
    """Eigenvectors and eigenvalues of the uncentred second moments, state by state.

    They hold every variance threshold and scheme at once, so a controller is changed
    without another pass over the text.

    Attributes
    ----------
    values : dict of term to (T + 1, d) float64 tensor
        Eigenvalues per token, falling, of the states x_t (P), their running sums (I) and
        their differences x_t - x_{t-1} (D); at t = 0 all three are x_0.
    vectors : dict of term to (T + 1, d, k) float32 tensor
        Leading eigenvectors as columns; k = d unless fewer were kept.
    origin : Origin

    Source: Algorithm 1.
    """

    values: dict[str, Tensor]
    vectors: dict[str, Tensor]
    origin: Origin

    def rank(self, term: str, t: int, variance: float) -> int:
        """Smallest rank whose eigenvalues hold the share `variance`.

        Parameters
        ----------
        term : {"P", "I", "D"}
        t : int
            State, from 0.
        variance : float
            Share, above 0 and at most 1.

        Returns
        -------
        int

        Source: section 3.1. Departure: Σσ² in place of Σσ.
        """
        return rank_for(self.values[term][t], variance)

    def basis(self, term: str, t: int, variance: float) -> Tensor:
        """Orthonormal columns V^i_t, (d, r) float64.

        Parameters
        ----------
        term, t, variance
            As for `rank`.

        Returns
        -------
        (d, r) float64 tensor

        Raises
        ------
        ValueError
            More columns are asked for than were kept.
        """
        rank, kept = self.rank(term, t, variance), self.vectors[term].shape[-1]
        if rank > kept:
            raise ValueError(
                f"variance {variance} needs {rank} directions of {term} at state {t} and {kept} "
                "were kept; fit again with a larger keep"
            )
        return self.vectors[term][t, :, :rank].double()

    def projection(self, term: str, t: int, variance: float) -> Tensor:
        """Q^i_t = I - V V^T, (d, d) float64.

        Parameters
        ----------
        term, t, variance
            As for `rank`.

        Returns
        -------
        (d, d) float64 tensor
        """
        basis = self.basis(term, t, variance)
        return torch.eye(len(basis), dtype=torch.float64) - basis @ basis.T

    def moment(self, t: int) -> Tensor:
        """Second moment E[x_t x_t^T] of one token, (d, d) float64.

        Energy in directions that were not kept is spread evenly over them.

        Parameters
        ----------
        t : int
            State, from 0.

        Returns
        -------
        (d, d) float64 tensor
        """
        vectors, values = self.vectors["P"][t].double(), self.values["P"][t]
        d, k = vectors.shape
        rest = float(values[k:].sum()) / (d - k) if k < d else 0.0
        return vectors * (values[:k] - rest) @ vectors.T + rest * torch.eye(d, dtype=torch.float64)


def save(bases: Eigenbases, settings: Mapping[str, Any], folder: Path) -> None:
    """Write bases and settings: `controller.json` and one safetensors file.

    Parameters
    ----------
    bases : Eigenbases
    settings : mapping
        What JSON can hold.
    folder : Path
        Made when missing; an older controller in it is replaced.
    """
    tensors = {f"{i}.values": v for i, v in bases.values.items()}
    tensors |= {f"{i}.vectors": v for i, v in bases.vectors.items()}
    about = {"settings": dict(settings), "terms": "".join(bases.values)}
    write_bundle(Path(folder), tensors, FORMAT, about, asdict(bases.origin))


def load(folder: Path) -> tuple[Eigenbases, dict[str, Any]]:
    """Read what `save` wrote: bases and settings.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    (bases, settings) : Eigenbases and dict

    Raises
    ------
    FileNotFoundError
        No controller there, or its tensors are missing.
    ValueError
        A foreign, truncated or changed file, or bases that no second moment has.
    """
    bundle = read_bundle(Path(folder), FORMAT, _layout)
    terms, parts = bundle.about["terms"], ("values", "vectors")
    values, vectors = ({i: bundle.tensors[f"{i}.{part}"] for i in terms} for part in parts)
    with refused(folder):
        check_bases(values, vectors)
    return Eigenbases(values, vectors, Origin.of(bundle.origin)), dict(bundle.about["settings"])


def _layout(about: Mapping[str, Any], origin: Mapping[str, Any]) -> Layout:
    """Check the card and tell which tensors belong to it."""
    check_origin(origin)
    check_settings(about["settings"])
    check_terms(about["terms"])
    states, d = origin["depth"] + 1, origin["width"]
    layout: dict[str, tuple[str, tuple[int | None, ...]]] = {}
    for i in about["terms"]:
        layout |= {f"{i}.values": ("F64", (states, d)), f"{i}.vectors": ("F32", (states, d, None))}
    return layout


def check_origin(record: Any) -> None:
    """Refuse what is no record of a model and of the text of a fit.

    Parameters
    ----------
    record : object
        What JSON gives for `pidlib.bases.Origin`.

    Raises
    ------
    ValueError
    """
    check_fields(record, _ORIGIN, "origin")
    blocks, depth = record["blocks"], record["depth"]
    for t, sums in enumerate(blocks):
        check_fields(sums, dict.fromkeys(DTYPES, HASH), f"origin: block {t}")
    if len(blocks) != depth:
        raise ValueError(
            f"the controller is incomplete: checksums of {len(blocks)} blocks, depth {depth}; "
            "fit and save it again"
        )


def check_terms(terms: Any) -> None:
    """Refuse what are no terms of learnt bases: P, I and D, each at most once, P always.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> check_terms("PID")
    >>> check_terms("ID")
    Traceback (most recent call last):
    ...
    ValueError: the terms are 'ID'; they have to be P, alone or with I and D, each once
    """
    known = isinstance(terms, str) and len(set(terms)) == len(terms) and set(terms) <= set(TERMS)
    if not known or "P" not in terms:
        raise ValueError(
            f"the terms are {told(terms)}; they have to be P, alone or with I and D, each once"
        )


def check_bases(values: Mapping[str, Tensor], vectors: Mapping[str, Tensor]) -> None:
    """Refuse eigenvalues and eigenvectors that no second moment has.

    That the columns are orthonormal makes I - V V^T a projection, so that K is symmetric.

    Parameters
    ----------
    values : mapping of term to (T + 1, d) tensor
    vectors : mapping of term to (T + 1, d, k) tensor

    Raises
    ------
    ValueError
        Shapes that do not fit, entries that are not finite, eigenvalues that are negative or
        not falling or of an infinite sum, or columns that are not orthonormal.

    Examples
    --------
    >>> check_bases({"P": torch.tensor([[2.0, 1.0]])}, {"P": torch.eye(2)[None]})
    >>> check_bases({"P": torch.tensor([[2.0, 1.0]])}, {"P": 2 * torch.eye(2)[None]})
    Traceback (most recent call last):
    ...
    ValueError: the basis of term P at state 0 is not orthonormal (V^T V is 4.24 from I)

    Source: ours; Algorithm 1.
    """
    for term, sizes in values.items():
        frames = vectors[term]
        fit = sizes.ndim == 2 and frames.ndim == 3 and frames.shape[:2] == sizes.shape
        if not fit or not 1 <= frames.shape[2] <= frames.shape[1]:
            seen = tuple(sizes.shape), tuple(frames.shape)
            raise ValueError(
                f"term {term} has the shapes {seen}; they have to be (T + 1, d) and (T + 1, d, k), "
                "k from 1 to d"
            )
        for t, (one, frame) in enumerate(zip(sizes.double(), frames, strict=True)):
            place = f"of term {term} at state {t}"
            if not (one.isfinite().all() and one.sum().isfinite() and frame.isfinite().all()):
                raise ValueError(
                    f"the basis {place} has NaN or infinite entries, or eigenvalues whose sum is "
                    "infinite"
                )
            if bool((one < 0).any()) or bool((one.diff() > 0).any()):
                raise ValueError(f"the eigenvalues {place} are negative or not falling")
            eye = torch.eye(frame.shape[1], dtype=frame.dtype)
            away = float(torch.linalg.matrix_norm(frame.T @ frame - eye))
            if not away <= ORTHONORMAL:  # products of huge entries are infinite or NaN
                raise ValueError(
                    f"the basis {place} is not orthonormal (V^T V is {away:.3g} from I)"
                )


def check_settings(record: Any) -> None:
    """Refuse what are no settings of a control on subspaces.

    Ranges are checked by `pidlib.pid.PIDController` itself.

    Raises
    ------
    ValueError
    """
    check_fields(record, _SETTINGS, "settings")
