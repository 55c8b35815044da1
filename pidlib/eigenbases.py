"""What a fit learns: the spectra and bases of the states' second moments, and its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pidlib.accumulators import Accumulators, after
from pidlib.blocks import Blocks, read_states
from pidlib.bundles import Layout, read_bundle, refused, write_bundle
from pidlib.checkpoints import Checkpoint
from pidlib.fingerprints import fingerprint
from pidlib.labels import check_labels, label_order
from pidlib.soundness import check_bases, check_settings, check_terms
from pidlib.subspaces import Moments, rank_for

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

    Source: ours.
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


def learn(
    found: Blocks,
    batches: Iterable[Any],
    terms: Sequence[str] = "PID",
    keep: float = 1.0,
    correct_only: bool = True,
    block_list: str | None = None,
    checkpoint: Checkpoint | None = None,
    merge: Callable[[Accumulators], None] | None = None,
) -> Eigenbases:
    """Stream batches once through a model and learn the bases of its states.

    Memory does not grow with the number of batches: d^2 numbers for each state and term.

    Parameters
    ----------
    found : Blocks
        The model's blocks; the model is in evaluation mode.
    batches : iterable of pidlib.batches.Batch
        Anything with `inputs` (arguments of the forward) and `labels` (B,).
    terms : sequence of str
        Which of P, I, D to learn; P always is.
    keep : float
        Share of variance, above 0 and at most 1, up to which eigenvectors are kept. At 1 all
        are: 4 (T + 1) d^2 bytes for each term, 12 MB in all for MiniLM and 1.2 GB for
        OPT-1.3B; 0.999 saves much of it and bars only thresholds above it.
    correct_only : bool
        Leave out rows that the model classifies wrongly.
    block_list : str, optional
        Recorded as the name that the user gave.
    checkpoint : Checkpoint, optional
        Where sums are kept now and then; a fit that was broken off goes on from there, over
        the same batches, and ends with the same bits.
    merge : callable (sums), optional
        Called when all batches are in, before anything is decided: adds the sums of other
        processes, see `Accumulators.all_reduce`.

    Returns
    -------
    Eigenbases

    Raises
    ------
    ValueError
        A model in training mode, no labels, a label out of range, no row classified
        correctly, states with NaN, or a checkpoint of another fit.

    Source: section 3.1 (correctly predicted training text), Algorithm 1.
    """
    model, terms = found.model, "".join(sorted({"P", *terms}, key="PID".index))
    if model.training or any(module.training for module in found.modules):
        raise ValueError("the model is in training mode (dropout is on); call model.eval() first")
    order = label_order(model.config) if correct_only else None
    blocks = tuple(fingerprint(found))
    about = {"blocks": list(blocks), "terms": terms, "correct_only": correct_only}
    sums = Accumulators.begin(checkpoint, about, terms) if checkpoint else Accumulators(terms)
    for batch in after(batches, sums.batches):
        with torch.inference_mode():
            values, mask, logits = read_states(model, batch.inputs, found)
            sums.batches += 1
            sums.rows += len(mask)
            sums.truncated += getattr(batch, "truncated", 0)
            _check_finite(values, mask, found.names)
            if order is not None:
                mask = mask & _right(logits, batch.labels, order).to(mask.device)[:, None]
            sums.add(values, mask)
        if checkpoint:
            sums.keep(checkpoint)
    if checkpoint:
        sums.keep(checkpoint, last=True)
    if merge is not None:
        merge(sums)
    if sums.rows == 0:
        raise ValueError("there are no rows: give at least one example")
    if sums.correct == 0:
        raise ValueError(
            f"the model classifies none of the {sums.rows} rows correctly; check that its labels "
            "(model.config.id2label) and those of the rows mean the same"
        )
    moments = sums.moments
    spectra = {term: [_spectrum(m) for m in moments[term]] for term in terms}
    eigenvalues = {term: torch.stack([v for v, _ in pairs]) for term, pairs in spectra.items()}
    vectors = {}
    for term, pairs in spectra.items():
        kept = max(rank_for(v, keep) for v, _ in pairs) if keep != 1.0 else len(pairs[0][0])
        vectors[term] = torch.stack([w[:, :kept].float() for _, w in pairs])
    config = getattr(model, "config", None)
    origin = Origin(
        model_type=getattr(config, "model_type", None) or "",
        architecture=type(model).__name__,
        depth=found.depth,
        width=moments["P"][0].width,
        block_list=block_list,
        blocks=blocks,
        rows=sums.rows,
        correct=sums.correct,
        tokens=moments["P"][0].tokens,
        truncated=sums.truncated,
    )
    return Eigenbases(eigenvalues, vectors, origin)


def _right(logits: Tensor | None, labels: Tensor | None, order: list[int]) -> Tensor:
    if labels is None:
        raise ValueError(
            "the rows carry no label, which tells correctly classified rows from others; add "
            "labels, or pass correct_only=False to fit on all rows"
        )
    if logits is None or logits.dim() != 2:
        raise ValueError(
            "the model returns no logits (rows, labels): it is not a sequence classifier; use one, "
            "or pass correct_only=False to fit on all rows"
        )
    check_labels(labels.tolist(), len(order))
    return logits[:, order].argmax(-1).cpu() == labels.cpu()


def _check_finite(values: Sequence[Tensor], mask: Tensor, names: Sequence[str]) -> None:
    """Name the first state with a NaN; the last one shows whether there is any."""
    if bool((torch.isfinite(values[-1]).all(-1) | ~mask.to(values[-1].device)).all()):
        return
    for t, x in enumerate(values):
        if not bool((torch.isfinite(x).all(-1) | ~mask.to(x.device)).all()):
            place = f"the input of {names[t]}" if t < len(names) else "the last block's output"
            raise ValueError(
                f"state x_{t}, {place}, has NaN or infinite entries; check the weights and the "
                "number type (half precision may overflow), or the input"
            )


def _spectrum(moments: Moments) -> tuple[Tensor, Tensor]:
    matrix = moments.embedding.cpu() / moments.tokens
    values, vectors = torch.linalg.eigh((matrix + matrix.T) / 2)
    return values.flip(0).clamp(min=0.0), vectors.flip(1)


def save(bases: Eigenbases, settings: Mapping[str, Any], folder: Path) -> None:
    """Write bases and settings: `controller.json` and one safetensors file.

    Parameters
    ----------
    bases : Eigenbases
    settings : mapping
        What JSON can hold.
    folder : Path
        Made when missing; an older controller in it is replaced.

    Source: ours.
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

    Source: ours.
    """
    bundle = read_bundle(Path(folder), FORMAT, _layout)
    terms, parts = bundle.about["terms"], ("values", "vectors")
    values, vectors = ({i: bundle.tensors[f"{i}.{part}"] for i in terms} for part in parts)
    with refused(folder):
        check_bases(values, vectors)
    return Eigenbases(values, vectors, Origin.of(bundle.origin)), dict(bundle.about["settings"])


def _layout(about: Mapping[str, Any], origin: Mapping[str, Any]) -> Layout:
    """Check the card and tell which tensors belong to it."""
    check_settings(about["settings"])
    check_terms(about["terms"])
    states, d = origin["depth"] + 1, origin["width"]
    layout: dict[str, tuple[str, tuple[int | None, ...]]] = {}
    for i in about["terms"]:
        layout |= {f"{i}.values": ("F64", (states, d)), f"{i}.vectors": ("F32", (states, d, None))}
    return layout
