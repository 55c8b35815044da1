"""The control that estimates: each state becomes the best linear guess of its clean form."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import torch
from pydantic import BaseModel, Field
from torch import Tensor, nn

from pidlib.bases import ControllerCard, FitRecord, checksums
from pidlib.controller import Controller, free_blocks
from pidlib.data.batches import MAX_LENGTH, positions_of, token_lengths
from pidlib.data.perturbations import Perturb, described
from pidlib.data.rows import as_rows
from pidlib.diagnosis import Records
from pidlib.estimation.layerwise import (
    RULES,
    AffineEstimate,
    Fit,
    closed_form,
    fit_estimates,
    writes,
)
from pidlib.estimation.terminal import EPOCHS, RATE, fit_terminal
from pidlib.gain import TOLERANCE, Gain
from pidlib.hooks import Blocks, Control, find_blocks
from pidlib.io.checkpoints import Checkpoint
from pidlib.io.pretrained import Layout
from pidlib.laws import StaticLaw

# Largest singular value that a map may have, about twice that of any honest fit: 1.24 in the
# control that ships (6,000 pairs), 1.85 from 1,200 pairs, 8.3 from 100 with five edits each.
EXPANSION = 16.0
TERMINAL = "terminal"
_THIN = ("left", "right")  # names of the factors of a map with a rank
MEASURED, _FEWER = 600, 60  # rows that measure the maps of the terminal cost; of a language model


class _Settings(BaseModel, extra="forbid"):
    rho: Annotated[float, Field(ge=0)]
    rule: Literal[(*RULES, TERMINAL)]
    text: str
    skip_first: Annotated[int, Field(ge=0)] = 0  # cards of before have neither
    rank: Annotated[int, Field(ge=1)] | None = None


class _Card(ControllerCard):
    settings: _Settings
    fits: dict[str, Fit]


@dataclass(frozen=True, eq=False, repr=False)
class Estimator(Controller):
    """A feedback that makes of each state the best linear estimate of its clean form.

    Made by `fit` or `from_pretrained`; attached like any controller. `fit` takes what
    `PIDController.fit` does, but no stream, and what changes a row (`RandomEdits`); by default
    rho is 1 for the rule "terminal", 0.5 for the others. `epochs`, `rate`, `report` (gets a line
    an epoch), `checkpoint` (keeps an unfinished fit) and `rank` (of A - I: thin maps) are for that
    rule, whose `diagnose` reads 600 rows. A language model takes pairs too: a prompt (`premise`),
    which is changed, and its continuation (`hypothesis`), whose predictions are kept. The first
    `skip_first` positions of a text are neither fitted nor controlled.

    Attributes
    ----------
    estimates : dict of int to AffineEstimate, by state; each was fitted with those before it in place
    origin : FitRecord, the model and the text of the fit
    rho : float, perturbed words for each clean one in the fit
    rule : "regression" or "wiener", closed forms, or "terminal", maps that keep the answer
    text : str, what changed the text
    skip_first : int, first positions of each text, neither fitted nor controlled
    rank : int, of A - I in every map, or None where it is not limited

    Examples
    --------
    >>> from pidlib import RandomEdits, load_model, load_nli
    >>> rows = load_nli("captions", split="train", n=40)
    >>> Estimator.fit(*load_model("minilm-nli"), rows, RandomEdits("typos"), layers=[0]).controlled
    (0,)

    Source: Wiener 1949.
    """

    FORMAT = "pidlib-estimator"
    _CARD = _Card

    estimates: Mapping[int, AffineEstimate]
    origin: FitRecord
    rho: float
    rule: str
    text: str = ""
    skip_first: int = 0
    rank: int | None = None

    @classmethod
    def fit(
        cls,
        model: nn.Module,
        tokenizer: Any,
        rows: Sequence[Mapping[str, Any]],
        perturbed: Perturb,
        layers: Sequence[int] | None = None,
        rho: float | None = None,
        rule: str = "regression",
        *,
        seed: int = 0,
        batch_size: int = 64,
        max_length: int = MAX_LENGTH,
        blocks: str | nn.ModuleList | None = None,
        epochs: int = EPOCHS,
        rate: float = RATE,
        report: Callable[[str], None] = lambda _: None,
        checkpoint: Checkpoint | None = None,
        skip_first: int = 0,
        rank: int | None = None,
    ) -> Self:
        """Fit on clean text and random changes of it; labels are not used."""
        found, chosen = _checked(model, blocks, layers, rows, rule)
        rows = as_rows(rows)
        token_lengths(tokenizer, rows, max_length, positions_of(model))  # refuses what is too long
        if rho is None:
            rho = 1.0 if rule == TERMINAL else 0.5
        _check_thin(found, skip_first, rank, rule)
        settings = {"seed": seed, "max_length": max_length, "skip_first": skip_first, "rank": rank}
        if rule == TERMINAL:
            maps = fit_terminal(
                found, tokenizer, rows, perturbed, chosen, rho, epochs, rate, report=report,
                checkpoint=checkpoint, **settings,
            )  # fmt: skip
            most = min(len(rows), _FEWER if writes(model) else MEASURED)
            text, fit = [rows[k] for k in range(most)], lambda t, _: maps[t]
        else:
            text, fit = rows, closed_form(rule, rho)
            settings["batch_size"] = batch_size
        estimates = fit_estimates(found, tokenizer, text, perturbed, chosen, fit, **settings)
        origin = _origin(found, estimates, len(rows), blocks is not None)
        return cls(estimates, origin, float(rho), rule, described(perturbed), skip_first, rank)

    def of_rank(self, rank: int) -> Estimator:
        """Keep the strongest directions of each A - I; the file and the product shrink with them."""
        if type(rank) is not int or not 1 <= rank <= self.origin.width:
            raise ValueError(f"rank is {rank!r}; give a number from 1 to {self.origin.width}")
        estimates = {t: estimate.of_rank(rank) for t, estimate in self.estimates.items()}
        return replace(self, estimates=estimates, rank=rank)

    def carried_to(self, model: nn.Module) -> Estimator:
        """Return the same maps for another model of that shape, such as one trained with them in place."""
        blocks, origin = find_blocks(model, self.origin.block_list), self.origin
        if blocks.depth != origin.depth or blocks.width not in (None, origin.width):
            raise ValueError(
                f"the maps are of {origin.depth} states of width {origin.width}; the model has "
                f"{blocks.depth} of width {blocks.width}: fit on this model"
            )
        return replace(self, origin=replace(origin, blocks=checksums(blocks)))

    @property
    def sha256(self) -> str:
        """Hash of the maps, 64 hexadecimal digits."""
        digest = hashlib.sha256()
        for t in self.controlled:
            digest.update(f"{t}\n".encode())
            for part in (self.estimates[t].A, self.estimates[t].b):
                digest.update(part.detach().cpu().float().contiguous().numpy().data)
        return digest.hexdigest()

    @property
    def controlled(self) -> tuple[int, ...]:
        """Corrected states t, rising."""
        return tuple(sorted(self.estimates))

    @cached_property
    def feedback(self) -> dict[int, dict[str, Gain]]:
        """Gain by corrected state."""
        return {t: {"estimate": self.estimates[t].gain} for t in self.controlled}

    @property
    def hooked(self) -> list[int]:
        """Blocks to hook."""
        return list(self.controlled)

    def begin(self) -> Control:
        """Make the law, for one forward call of the model."""
        return StaticLaw({t: kinds["estimate"] for t, kinds in self.feedback.items()})

    def diagnose(self) -> Records:
        """How well each state is estimated: RMS of words' errors, over the spread of clean states."""
        rows = Records()
        for t in self.controlled:
            fit = self.estimates[t].fit
            shares = {"change": fit.before, "left": fit.after, "clean": fit.clean}
            size = fit.size or float("nan")
            rows.append({"t": t} | {k: (max(v, 0.0) / size) ** 0.5 for k, v in shares.items()})
        return rows

    def summary(self) -> str:
        """Return settings and fit on one line."""
        states = ", ".join(map(str, self.controlled))
        name, words = f"Wiener control ({self.rule})", f"{self.origin.tokens} words of "
        if self.rule == TERMINAL:
            name, words = "Terminal control" + (f" of rank {self.rank}" if self.rank else ""), ""
        skipped = f", without the first {self.skip_first} of each text" if self.skip_first else ""
        return (
            f"{name} of the states {states}, rho {self.rho:g}{skipped}; fitted on {words}{self.origin.rows} "
            f"rows, {self.text}"
        )

    def _contents(self) -> dict[str, Any]:
        """A - I and b in single precision, in which models run, and the rest."""
        tensors = {f"{t}.b": of.b.float() for t, of in self.estimates.items()}
        for t, of in self.estimates.items():
            parts = {"step": of.step} if of.thin is None else dict(zip(_THIN, of.thin, strict=True))
            tensors |= {f"{t}.{name}": part.float() for name, part in parts.items()}
        fits = {str(t): of.fit._asdict() for t, of in self.estimates.items()}
        settings = {"rho": self.rho, "rule": self.rule, "text": self.text}
        settings |= {"skip_first": self.skip_first} if self.skip_first else {}
        settings |= {} if self.rank is None else {"rank": self.rank}
        return {"settings": settings, "tensors": tensors, "fits": fits}

    @classmethod
    def _layout(cls, record: _Card) -> Layout:
        if not record.fits:
            raise ValueError("the controller is incomplete: it has no maps; fit it again")
        states, d = {str(t) for t in range(record.origin.depth)}, record.origin.width
        if strange := [key for key in record.fits if key not in states]:
            raise ValueError(f"there is a map of the state {strange[0]!r} of {len(states)}")
        r = record.settings.rank
        parts = {"step": (d, d)} if r is None else dict(zip(_THIN, ((d, r), (r, d)), strict=True))
        shapes = {"b": (d,)} | parts
        return {f"{key}.{k}": ("F32", shape) for key in record.fits for k, shape in shapes.items()}

    @classmethod
    def _built(cls, record: _Card, tensors: Mapping[str, Tensor], allow_expanding: bool) -> Self:
        eye = torch.eye(record.origin.width, dtype=torch.float64)
        estimates, names = {}, ("step",) if record.settings.rank is None else _THIN
        for key, fit in record.fits.items():
            *parts, b = (tensors[f"{key}.{name}"].double() for name in (*names, "b"))
            whole = AffineEstimate(eye + parts[0], b, fit) if len(parts) == 1 else None
            estimates[int(key)] = whole or AffineEstimate.of_factors(*parts, b, fit)
            check_map(estimates[int(key)].A, b, int(key), allow_expanding)
        return cls(estimates, record.origin, **record.settings.model_dump())


def _origin(
    found: Blocks, estimates: Mapping[int, AffineEstimate], rows: int, named: bool
) -> FitRecord:
    """The model and the rows of a fit, whose labels were not read."""
    first = estimates[min(estimates)]
    counts = {"rows": rows, "correct": rows, "truncated": 0}
    counts |= {"tokens": first.fit.words, "width": len(first.b)}
    return FitRecord.of(found, named, blocks=checksums(found), **counts)


def _checked(
    model: nn.Module, named: Any, layers: Sequence[int] | None, rows: Any, rule: str
) -> tuple[Blocks, list[int]]:
    """The blocks and the states of a fit; what is wrong is refused."""
    blocks = free_blocks(model, named)
    chosen = list(range(blocks.depth)) if layers is None else sorted(set(layers))
    if not isinstance(rows, Sized):
        raise ValueError(
            f"the rule {rule!r} reads its rows several times, and these are a stream; give a "
            "list, such as list(rows.take(2000))"
        )
    if rule not in (*RULES, TERMINAL):
        raise ValueError(f"unknown rule {rule!r}; choose one of {(*RULES, TERMINAL)}")
    if not chosen:
        raise ValueError("there are no layers to correct: give at least one, such as [0]")
    if wrong := [t for t in chosen if t not in range(blocks.depth)]:
        raise ValueError(f"no state {wrong[0]!r}; there are 0 to {blocks.depth - 1}")
    if len(rows) == 0:
        raise ValueError("there are no rows: give at least one text")
    if blocks.model.training:
        raise ValueError("the model is in training mode (dropout is on); call model.eval() first")
    return blocks, chosen


def _check_thin(blocks: Blocks, skip_first: int, rank: int | None, rule: str) -> None:
    if type(skip_first) is not int or skip_first < 0:
        raise ValueError(f"skip_first is {skip_first!r}; give a number of positions, such as 1")
    if rank is None:
        return
    if rule != TERMINAL:
        raise ValueError(f"rank={rank!r} is of the rule 'terminal'; {rule!r} has maps of full rank")
    if type(rank) is not int or not 1 <= rank <= (blocks.width or rank):
        raise ValueError(f"rank is {rank!r}; give a number from 1 to {blocks.width}, or None")


def check_map(A: Tensor, b: Tensor, t: int, allow_expanding: bool) -> None:
    """Refuse a map x -> A x + b that is not finite or that expands beyond `EXPANSION`."""
    if not (A.isfinite().all() and b.isfinite().all()):
        raise ValueError(f"the map of state {t} has NaN or infinite entries")
    if not allow_expanding and exceeds_norm(A, EXPANSION):
        norm = float(torch.linalg.matrix_norm(A.double(), 2))
        raise ValueError(
            f"the map of state {t} expands by {norm:.3g} (largest singular value; fitted ones "
            f"stay below {EXPANSION:g}); pass allow_expanding=True if that is wanted"
        )


def exceeds_norm(A: Tensor, most: float) -> bool:
    """Whether the largest singular value of a matrix exceeds a bound by more than rounding."""
    scaled = A.double() / (most * (1 + TOLERANCE))
    eye = torch.eye(len(scaled), dtype=torch.float64)
    return bool(torch.linalg.cholesky_ex(eye - scaled.T @ scaled).info)
