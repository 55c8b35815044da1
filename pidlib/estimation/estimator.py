"""The control that estimates: each state becomes the best linear guess of its clean form."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import torch
from pydantic import BaseModel, Field
from torch import Tensor, nn

from pidlib.bases import Card, Origin, checksums
from pidlib.controller import Controller, free_blocks
from pidlib.data.batches import MAX_LENGTH
from pidlib.data.perturbations import Perturb, described
from pidlib.diagnosis import Records
from pidlib.estimation.layerwise import RULES, Estimate, Fit, closed_form, fit_estimates
from pidlib.estimation.terminal import EPOCHS, RATE, fit_terminal
from pidlib.gain import TOLERANCE, Gain
from pidlib.hooks import Blocks, Control, find_blocks
from pidlib.io.checkpoints import Checkpoint
from pidlib.io.pretrained import Layout
from pidlib.laws import Static

# Largest singular value that a map may have, about twice that of any honest fit: 1.24 in the
# control that ships (6,000 pairs), 1.85 from 1,200 pairs, 8.3 from 100 with five edits each.
EXPANSION = 16.0
TERMINAL = "terminal"
MEASURED = 600  # rows that tell how well the maps of the terminal cost estimate states


class _Settings(BaseModel, extra="forbid"):
    rho: Annotated[float, Field(ge=0)]
    rule: Literal[(*RULES, TERMINAL)]
    text: str


class _Card(Card):
    settings: _Settings
    fits: dict[str, Fit]


@dataclass(frozen=True, eq=False)
class Estimator(Controller):
    """A feedback that makes of each state the best linear estimate of its clean form.

    Made by `fit` or `from_pretrained`; attached like any controller. `fit` takes what
    `PIDController.fit` does, but no stream, and what changes a row (`RandomEdits`); by default
    rho is 1 for the rule "terminal", 0.5 for the others. `epochs`, `rate`, `report` (gets a line
    an epoch) and `checkpoint` (keeps an unfinished fit) are for that rule, whose `diagnose` reads
    600 rows.

    Attributes
    ----------
    estimates : dict of int to Estimate, by state; each was fitted with those before it in place
    origin : Origin, the model and the text of the fit
    rho : float, perturbed words for each clean one in the fit
    rule : "regression" or "wiener", closed forms, or "terminal", maps that keep the answer
    text : str, what changed the text

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

    estimates: Mapping[int, Estimate]
    origin: Origin
    rho: float
    rule: str
    text: str = ""

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
    ) -> Self:
        """Fit on clean text and random changes of it; labels are not used."""
        found = free_blocks(model, blocks)
        chosen = list(range(found.depth)) if layers is None else sorted(set(layers))
        _check(found, rows, chosen, rule)
        if rho is None:
            rho = 1.0 if rule == TERMINAL else 0.5
        settings = {"seed": seed, "max_length": max_length}
        if rule == TERMINAL:
            maps = fit_terminal(
                found, tokenizer, rows, perturbed, chosen, rho, epochs, rate, report=report,
                checkpoint=checkpoint, **settings,
            )  # fmt: skip
            text, fit = [rows[k] for k in range(min(len(rows), MEASURED))], lambda t, _: maps[t]
        else:
            text, fit = rows, closed_form(rule, rho)
            settings["batch_size"] = batch_size
        estimates = fit_estimates(found, tokenizer, text, perturbed, chosen, fit, **settings)
        first = estimates[chosen[0]]
        counts = {"rows": len(rows), "correct": len(rows), "truncated": 0}
        counts |= {"tokens": first.fit.words, "width": len(first.b)}
        origin = Origin.of(found, blocks is not None, blocks=checksums(found), **counts)
        return cls(estimates, origin, float(rho), rule, described(perturbed))

    def up_to(self, t: int) -> Estimator:
        """Correct the states up to x_t only, without a new fit; later maps know those before them."""
        if self.rule == TERMINAL and t < max(self.estimates):
            raise ValueError(
                "the rule 'terminal' fits all maps together, so none can go; fit again with "
                f"layers={[s for s in self.controlled if s <= t]}"
            )
        short = {s: estimate for s, estimate in self.estimates.items() if s <= t}
        if not short:
            raise ValueError(f"no state up to {t} is corrected; the first is {min(self.estimates)}")
        return replace(self, estimates=short)

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

    def cuts(self) -> Iterator[Estimator]:
        """All depths that need no new fit, from the shallowest to the whole."""
        whole = self.controlled[-1:] if self.rule == TERMINAL else self.controlled
        yield from map(self.up_to, whole)

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
        return Static({t: kinds["estimate"] for t, kinds in self.feedback.items()})

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
            name, words = "Terminal control", ""
        return (
            f"{name} of the states {states}, rho {self.rho:g}; fitted on {words}{self.origin.rows} "
            f"rows, {self.text}"
        )

    def _contents(self) -> dict[str, Any]:
        """A - I and b in single precision, in which models run, and the rest."""
        eye = torch.eye(self.origin.width, dtype=torch.float64)
        tensors = {f"{t}.step": (of.A - eye).float() for t, of in self.estimates.items()}
        tensors |= {f"{t}.b": of.b.float() for t, of in self.estimates.items()}
        fits = {str(t): of.fit._asdict() for t, of in self.estimates.items()}
        settings = {"rho": self.rho, "rule": self.rule, "text": self.text}
        return {"settings": settings, "tensors": tensors, "fits": fits}

    @classmethod
    def _layout(cls, record: _Card) -> Layout:
        if not record.fits:
            raise ValueError("the controller is incomplete: it has no maps; fit it again")
        states, d = {str(t) for t in range(record.origin.depth)}, record.origin.width
        if strange := [key for key in record.fits if key not in states]:
            raise ValueError(f"there is a map of the state {strange[0]!r} of {len(states)}")
        steps: Layout = {f"{key}.step": ("F32", (d, d)) for key in record.fits}
        return steps | {f"{key}.b": ("F32", (d,)) for key in record.fits}

    @classmethod
    def _built(cls, record: _Card, tensors: Mapping[str, Tensor], allow_expanding: bool) -> Self:
        eye = torch.eye(record.origin.width, dtype=torch.float64)
        estimates = {}
        for key, fit in record.fits.items():
            step, b = (tensors[f"{key}.{name}"].double() for name in ("step", "b"))
            check_map(eye + step, b, int(key), allow_expanding)
            estimates[int(key)] = Estimate(eye + step, b, fit)
        return cls(estimates, record.origin, **record.settings.model_dump())


def _check(blocks: Blocks, rows: Any, layers: Sequence[int], rule: str) -> None:
    if not isinstance(rows, Sized):
        raise ValueError(
            f"the rule {rule!r} reads its rows several times, and these are a stream; give a "
            "list, such as list(rows.take(2000))"
        )
    if rule not in (*RULES, TERMINAL):
        raise ValueError(f"unknown rule {rule!r}; choose one of {(*RULES, TERMINAL)}")
    if not layers:
        raise ValueError("there are no layers to correct: give at least one, such as [0]")
    if wrong := [t for t in layers if t not in range(blocks.depth)]:
        raise ValueError(f"no state {wrong[0]!r}; there are 0 to {blocks.depth - 1}")
    if len(rows) == 0:
        raise ValueError("there are no rows: give at least one text")
    if blocks.model.training:
        raise ValueError("the model is in training mode (dropout is on); call model.eval() first")


def check_map(A: Tensor, b: Tensor, t: int, allow_expanding: bool) -> None:
    """Refuse a map x -> A x + b that is not finite or that expands beyond `EXPANSION`."""
    if not (A.isfinite().all() and b.isfinite().all()):
        raise ValueError(f"the map of state {t} has NaN or infinite entries")
    if not allow_expanding and is_beyond(A, EXPANSION):
        norm = float(torch.linalg.matrix_norm(A.double(), 2))
        raise ValueError(
            f"the map of state {t} expands by {norm:.3g} (largest singular value; fitted ones "
            f"stay below {EXPANSION:g}); pass allow_expanding=True if that is wanted"
        )


def is_beyond(A: Tensor, most: float) -> bool:
    """Whether the largest singular value of a matrix exceeds a bound by more than rounding."""
    scaled = A.double() / (most * (1 + TOLERANCE))
    eye = torch.eye(len(scaled), dtype=torch.float64)
    return bool(torch.linalg.cholesky_ex(eye - scaled.T @ scaled).info)
